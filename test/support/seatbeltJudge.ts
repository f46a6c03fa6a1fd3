import { parseExpressions, type Expression } from "./sexpression.ts";
import type { SeatbeltProfile } from "../../src/node/sandbox/seatbelt/seatbeltProfile.ts";

/** What a program asks for: a path, or where it connects to. */
export interface Asked {
  readonly path?: string;
  readonly remote?: string;
  readonly local?: string;
  /** A value of the kernel's, by name. */
  readonly sysctl?: string;
  /** A terminal that it has opened itself. */
  readonly ownTerminal?: true;
}

const isList = (one: Expression | undefined): one is readonly Expression[] => Array.isArray(one);

const wordOf = (one: Expression | undefined): string =>
  one !== undefined && "word" in one ? one.word : "";

function valueOf(one: Expression | undefined, parameters: ReadonlyMap<string, string>): string {
  if (one !== undefined && "string" in one) return one.string;
  if (isList(one) && wordOf(one[0]) === "param") {
    const value = parameters.get(valueOf(one[1], parameters));
    if (value !== undefined) return value;
  }
  throw new Error(`no value: ${JSON.stringify(one)}`);
}

function matches(
  filter: Expression,
  asked: Asked,
  parameters: SeatbeltProfile["parameters"],
): boolean {
  if (!isList(filter)) throw new Error(`no filter: ${JSON.stringify(filter)}`);
  const [name, ...words] = filter;
  const { path } = asked;
  switch (wordOf(name)) {
    case "literal":
      return path === valueOf(words[0], parameters);
    case "subpath": {
      const top = valueOf(words[0], parameters);
      return path !== undefined && (path === top || path.startsWith(`${top}/`));
    }
    case "regex": {
      const [pattern] = words;
      if (pattern === undefined || !("regex" in pattern)) throw new Error("no pattern");
      return path !== undefined && new RegExp(pattern.regex).test(path);
    }
    case "require-all":
      return words.every((one) => matches(one, asked, parameters));
    case "extension":
      return asked.ownTerminal === true;
    case "remote":
    case "local":
      return (wordOf(name) === "remote" ? asked.remote : asked.local)?.split(":")[0] === "localhost"
        ? ["*", asked.remote?.split(":")[1]].includes(valueOf(words[1], parameters).split(":")[1])
        : false;
    case "sysctl-name":
      return asked.sysctl === valueOf(words[0], parameters);
    case "sysctl-name-prefix":
      return asked.sysctl?.startsWith(valueOf(words[0], parameters)) === true;
    case "target":
    case "global-name":
      return false;
    default:
      throw new Error(`no filter of ours: ${wordOf(name)}`);
  }
}

/** Whether a profile lets an operation through, by Seatbelt's rules: the last rule that matches counts. */
export function judge(
  { text, parameters }: SeatbeltProfile,
  operation: string,
  asked: Asked,
): boolean {
  let allowed: boolean | undefined;
  for (const rule of parseExpressions(text)) {
    if (!isList(rule)) throw new Error("a profile is made of lists");
    const verdict = wordOf(rule[0]);
    if (verdict === "version") continue;
    if (verdict !== "allow" && verdict !== "deny") throw new Error(`no rule: ${verdict}`);
    const filters = rule.slice(1).filter(isList);
    const operations = rule
      .slice(1)
      .filter((one) => !isList(one))
      .map(wordOf);
    const named = operations.some(
      (one) =>
        one === "default" ||
        one === operation ||
        (one.endsWith("*") && operation.startsWith(one.slice(0, -1))),
    );
    if (named && (filters.length === 0 || filters.some((one) => matches(one, asked, parameters))))
      allowed = verdict === "allow";
  }
  if (allowed === undefined) throw new Error("nothing is said by default");
  return allowed;
}
