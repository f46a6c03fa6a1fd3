import { Environment, EvaluationError, ParseError, TypeError } from "@marcbachmann/cel-js";
import type { JsonValue } from "../journal/entry.ts";
import type { CallFacts } from "./judge.ts";
import { type ConditionProblem, patternProblem } from "./patternSafety.ts";
import type { TaskScope } from "./taskScope.ts";

/** The outcome of a condition; `failed` when it could not be evaluated: then the call holds. */
export type ConditionResult =
  | { readonly kind: "is"; readonly value: boolean }
  | { readonly kind: "failed"; readonly message: string };

/** A compiled `if`. */
export type Condition = (variables: ConditionVariables) => ConditionResult;

/** What CEL sees. Whole numbers are its integers; names that repeat in query or headers are lists. */
export type ConditionVariables = Readonly<Record<string, unknown>>;

const environment = new Environment({
  homogeneousAggregateLiterals: false,
  limits: {
    maxAstNodes: 2_000,
    maxDepth: 50,
    maxListElements: 500,
    maxMapEntries: 500,
    maxCallArguments: 16,
  },
})
  .registerVariable("kind", "string")
  .registerVariable("scheme", "string")
  .registerVariable("method", "string")
  .registerVariable("host", "string")
  .registerVariable("port", "int")
  .registerVariable("path", "string")
  .registerVariable("query", "map")
  .registerVariable("headers", "map")
  .registerVariable("body", "dyn")
  .registerVariable("bodyBytes", "dyn")
  .registerVariable("bodyType", "string")
  .registerVariable("multipart", "list")
  .registerVariable("git", "dyn")
  .registerVariable("refs", "list")
  .registerVariable("graphql", "list")
  .registerVariable("mcp", "list")
  .registerVariable("npm", "dyn")
  .registerVariable("aws", "dyn")
  .registerVariable("secrets", "list")
  .registerVariable("count", "int")
  .registerVariable("task", "map");

/** Compiles a CEL expression that must yield a boolean; `trusted` is false for a policy that came with a workspace. */
export function compileCondition(
  expression: string,
  trusted: boolean,
): Condition | ConditionProblem {
  try {
    const checked = environment.check(expression);
    if (!checked.valid) return problemOf(checked.error);
    if (checked.type !== "bool" && checked.type !== "dyn") {
      return {
        message: `the condition gives ${String(checked.type)}, not true or false`,
        offset: 0,
      };
    }
    const run = environment.parse(expression);
    const problem = patternProblem(run.ast, trusted);
    if (problem !== undefined) return problem;
    return (variables) => evaluate(run, variables);
  } catch (error) {
    return problemOf(error);
  }
}

function evaluate(
  run: (context: Record<string, unknown>) => unknown,
  variables: ConditionVariables,
): ConditionResult {
  try {
    const value = run({ ...variables });
    if (typeof value === "boolean") return { kind: "is", value };
    return { kind: "failed", message: "it gives neither true nor false" };
  } catch (error) {
    if (
      error instanceof EvaluationError ||
      error instanceof TypeError ||
      error instanceof RangeError
    ) {
      return { kind: "failed", message: firstLine(error) };
    }
    return { kind: "failed", message: error instanceof Error ? firstLine(error) : String(error) };
  }
}

function problemOf(error: unknown): ConditionProblem {
  if (
    error instanceof ParseError ||
    error instanceof EvaluationError ||
    error instanceof TypeError
  ) {
    return { message: firstLine(error), offset: error.range?.start ?? 0 };
  }
  return { message: error instanceof Error ? firstLine(error) : String(error), offset: 0 };
}

function firstLine(error: Error): string {
  return error.message.split("\n")[0] ?? error.message;
}

/** The variables of one call. */
export function conditionVariables(
  facts: CallFacts,
  task: TaskScope,
  count: number,
): ConditionVariables {
  return {
    kind: facts.kind,
    scheme: facts.scheme,
    method: facts.method,
    host: facts.host,
    port: BigInt(facts.port),
    path: facts.path,
    query: collected(facts.query),
    headers: collected(facts.headers),
    body: celValue(facts.body ?? null),
    bodyBytes: celValue(facts.bodyBytes ?? null),
    bodyType: facts.bodyType,
    multipart: celValue(plain(facts.multipart ?? [])),
    git: celValue(plain(facts.git ?? null)),
    refs: celValue(plain(facts.git?.refs ?? [])),
    graphql: celValue(plain(facts.graphql ?? [])),
    mcp: celValue(plain(facts.mcp ?? [])),
    npm: celValue(plain(facts.npm ?? null)),
    aws: celValue(plain(facts.aws ?? null)),
    secrets: [...facts.secrets],
    count: BigInt(count),
    task: { text: task.text, limits: celValue(plain(task.limits)) },
  };
}

function collected(pairs: CallFacts["query"]): Readonly<Record<string, unknown>> {
  const all = new Map<string, string[]>();
  for (const [name, value] of pairs) all.set(name, [...(all.get(name) ?? []), value]);
  return record([...all].map(([name, values]) => [name, values.length === 1 ? values[0] : values]));
}

/** Facts are JSON by construction; members that are `undefined` are left out. */
function plain(value: unknown): JsonValue {
  return JSON.parse(JSON.stringify(value)) as JsonValue;
}

/** CEL's integers are bigints here; a JSON number without a fraction is one. */
function celValue(value: JsonValue): unknown {
  if (typeof value === "number") return Number.isSafeInteger(value) ? BigInt(value) : value;
  if (Array.isArray(value)) return value.map(celValue);
  if (typeof value === "object" && value !== null) {
    return record(Object.entries(value).map(([name, one]) => [name, celValue(one)]));
  }
  return value;
}

/** An object that has nothing but what is put in, whatever the names are. */
function record(
  entries: readonly (readonly [string, unknown])[],
): Readonly<Record<string, unknown>> {
  const made: Record<string, unknown> = {};
  for (const [name, value] of entries) {
    Object.defineProperty(made, name, {
      value,
      enumerable: true,
      writable: true,
      configurable: true,
    });
  }
  return made;
}
