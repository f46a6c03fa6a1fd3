import type { JsonValue } from "../../journal/entry.ts";
import type { GraphqlOperation } from "../judge.ts";

type Found = readonly GraphqlOperation[] | "malformed" | undefined;

/** Whether servers speak GraphQL there by custom. */
export function isGraphqlEndpoint(path: string): boolean {
  return /(?:^|\/)graphql\/?$/i.test(path);
}

/**
 * The operations of a request at a path: those of its body, and those of its address, because some servers read both and
 * take either. `value` is `undefined` for a request without a body.
 */
export function graphqlOf(
  path: string,
  query: readonly (readonly [string, string])[],
  value: JsonValue | undefined,
): Found {
  const named = query.some(([name]) => name === "operationName");
  const documents = isGraphqlEndpoint(path) ? query.filter(([name]) => name === "query") : [];
  const inBody = value === undefined ? undefined : operationsOf(path, value, named);
  if (documents.length === 0 || inBody === "malformed") return inBody;
  const inAddress = operationsOf(
    path,
    documents.map(([, document]) => ({ query: document })),
    named,
  );
  return inAddress === "malformed" ? inAddress : [...(inBody ?? []), ...(inAddress ?? [])];
}

/** The operations of a GraphQL request (one, or a batch); `undefined` when the value is no such request, `"malformed"`
 * when its document cannot be read. `namedElsewhere`: which operation of a document runs is not said here. */
function operationsOf(path: string, value: JsonValue, namedElsewhere: boolean): Found {
  const requests = Array.isArray(value) ? (value as JsonValue[]) : [value];
  const atEndpoint = isGraphqlEndpoint(path);
  if (requests.length === 0) return undefined;
  const operations: GraphqlOperation[] = [];
  for (const request of requests) {
    if (!isRecord(request)) return undefined;
    const { query, operationName, variables } = request;
    if (typeof query !== "string") {
      if (!atEndpoint) return undefined;
      // A persisted query: only its hash travels.
      operations.push({ operation: "unknown", fields: [], variables: variables ?? null });
      continue;
    }
    if (!atEndpoint && !looksLikeDocument(query)) return undefined;
    const name = typeof operationName === "string" && !namedElsewhere ? operationName : undefined;
    const found = readDocument(query, name, variables ?? null);
    if (found === undefined) return atEndpoint ? "malformed" : undefined;
    operations.push(found);
  }
  return operations;
}

function isRecord(value: JsonValue | undefined): value is { readonly [key: string]: JsonValue } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function looksLikeDocument(text: string): boolean {
  return /^\s*(?:#[^\n]*\n\s*)*(?:\{|(?:query|mutation|subscription|fragment)\b)/.test(text);
}

interface Definition {
  readonly operation: GraphqlOperation["operation"];
  readonly name: string | undefined;
  readonly selections: readonly Selection[];
}

type Selection =
  | { readonly field: string }
  | { readonly spread: string }
  | { readonly inline: readonly Selection[] };

const tokenPattern =
  /"""(?:\\"""|(?!""")[\s\S])*"""|"(?:\\.|[^"\\\n])*"|\.\.\.|[_A-Za-z]\w*|-?\d[\d.eE+-]*|[{}()[\]:=!|@$&]|#[^\n]*|[\s,\uFEFF]+/y;

function tokensOf(text: string): string[] | undefined {
  const tokens: string[] = [];
  const pattern = new RegExp(tokenPattern.source, "y");
  while (pattern.lastIndex < text.length) {
    const token = pattern.exec(text)?.[0];
    if (token === undefined) return undefined;
    if (!/^[#\s,\uFEFF]/.test(token)) tokens.push(token);
  }
  return tokens;
}

function readDocument(
  text: string,
  operationName: string | undefined,
  variables: JsonValue,
): GraphqlOperation | undefined {
  const tokens = tokensOf(text);
  const document = tokens === undefined ? undefined : new DocumentReader(tokens).read();
  if (document === undefined || document.operations.length === 0) return undefined;
  const { operations, fragments } = document;
  // Without a name the server runs the only operation; with several and no name it refuses: take the strictest.
  const named = operations.filter(
    (one) => operationName === undefined || one.name === operationName,
  );
  const chosen = named.find((one) => one.operation === "mutation") ?? named[0];
  if (chosen === undefined) return undefined;
  const name = chosen.name;
  return {
    operation: chosen.operation,
    ...(name === undefined ? {} : { name }),
    fields: [...new Set(expand(chosen.selections, fragments, new Set()))],
    variables,
  };
}

/** Root fields; every fragment counts once, because only the set of names matters. */
function expand(
  selections: readonly Selection[],
  fragments: ReadonlyMap<string, readonly Selection[]>,
  seen: Set<string>,
): string[] {
  return selections.flatMap((selection) => {
    if ("field" in selection) return [selection.field];
    if ("inline" in selection) return expand(selection.inline, fragments, seen);
    if (seen.has(selection.spread)) return [];
    seen.add(selection.spread);
    return expand(fragments.get(selection.spread) ?? [], fragments, seen);
  });
}

/** Nobody writes this deep; a document that is deeper is taken for malformed. */
const deepestNesting = 64;

/** Reads as much grammar as is needed to know the operations and their root fields; everything below the root is only
 * balanced. */
class DocumentReader {
  readonly #tokens: readonly string[];
  #at = 0;
  #depth = 0;

  constructor(tokens: readonly string[]) {
    this.#tokens = tokens;
  }

  read(): { operations: Definition[]; fragments: Map<string, readonly Selection[]> } | undefined {
    const operations: Definition[] = [];
    const fragments = new Map<string, readonly Selection[]>();
    while (this.#at < this.#tokens.length) {
      const word = this.#peek();
      const operation = word === "{" ? "query" : word;
      if (operation === "fragment") {
        this.#at += 1;
        const name = this.#take();
        this.#skipToBrace();
        const selections = this.#selections();
        if (name === undefined || selections === undefined) return undefined;
        fragments.set(name, selections);
        continue;
      }
      if (operation !== "query" && operation !== "mutation" && operation !== "subscription") {
        return undefined;
      }
      if (word !== "{") this.#at += 1;
      const next = this.#peek();
      const name = next !== undefined && /^[_A-Za-z]/.test(next) ? this.#take() : undefined;
      this.#skipToBrace();
      const selections = this.#selections();
      if (selections === undefined) return undefined;
      operations.push({ operation, name, selections });
    }
    return { operations, fragments };
  }

  #peek(): string | undefined {
    return this.#tokens[this.#at];
  }

  #take(): string | undefined {
    return this.#tokens[this.#at++];
  }

  /** Past variable definitions and directives; braces inside parentheses are default values. */
  #skipToBrace(): void {
    while (this.#at < this.#tokens.length && this.#peek() !== "{") {
      if (this.#peek() === "(") this.#skipBalanced();
      else this.#at += 1;
    }
  }

  #skipBalanced(): boolean {
    let depth = 0;
    do {
      const token = this.#take();
      if (token === undefined) return false;
      if (token === "(" || token === "{" || token === "[") depth += 1;
      if (token === ")" || token === "}" || token === "]") depth -= 1;
    } while (depth > 0);
    return true;
  }

  #selections(): readonly Selection[] | undefined {
    if (this.#take() !== "{") return undefined;
    const selections: Selection[] = [];
    for (;;) {
      const token = this.#take();
      if (token === "}") return selections;
      const selection = token === "..." ? this.#spread() : this.#field(token);
      if (selection === undefined) return undefined;
      selections.push(selection);
    }
  }

  #field(token: string | undefined): Selection | undefined {
    if (token === undefined || !/^[_A-Za-z]/.test(token)) return undefined;
    let field: string | undefined = token;
    if (this.#peek() === ":") {
      this.#at += 1;
      field = this.#take();
    }
    if (field === undefined || !this.#skipArguments()) return undefined;
    if (this.#peek() === "{" && !this.#skipBalanced()) return undefined;
    return { field };
  }

  #skipArguments(): boolean {
    if (this.#peek() === "(" && !this.#skipBalanced()) return false;
    while (this.#peek() === "@") {
      this.#at += 2;
      if (this.#peek() === "(" && !this.#skipBalanced()) return false;
    }
    return true;
  }

  #spread(): Selection | undefined {
    const next = this.#peek();
    if (next !== undefined && next !== "on" && /^[_A-Za-z]/.test(next)) {
      this.#at += 1;
      return this.#skipArguments() ? { spread: next } : undefined;
    }
    if (next === "on") this.#at += 2;
    if (!this.#skipArguments()) return undefined;
    this.#depth += 1;
    const inline = this.#depth > deepestNesting ? undefined : this.#selections();
    this.#depth -= 1;
    return inline === undefined ? undefined : { inline };
  }
}
