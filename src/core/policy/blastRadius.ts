import type { BlastRadius, JsonValue } from "../journal/entry.ts";
import type { CallFacts } from "./judge.ts";
import type { Count } from "./knowledge/service.ts";

/**
 * How many things a call touches where its knowledge names the place, else the longest list that its body carries;
 * `undefined` when it carries none. For a git push the refs, for a GraphQL request the longest list in its variables or
 * the number of its mutations.
 */
export function blastRadius(facts: CallFacts, count?: Count): BlastRadius | undefined {
  if (facts.git?.action === "push") return { count: facts.git.refs.length, unit: "refs" };
  const known = count === undefined ? undefined : countAt(facts, count);
  if (known !== undefined) return known;
  const lists = bodiesOf(facts).map((body) => longestList(body, 0));
  const mutations = (facts.graphql ?? []).filter((one) => one.operation === "mutation");
  const fields = mutations.reduce((sum, one) => sum + one.fields.length, 0);
  const most = Math.max(0, fields > 1 ? fields : 0, ...lists, repeatedQuery(facts.query));
  return most > 1 ? { count: most, unit: "records" } : undefined;
}

/** The bodies in which lists count: the parsed body, GraphQL variables, arguments of MCP tools. */
function bodiesOf(facts: CallFacts): readonly JsonValue[] {
  if (facts.graphql !== undefined) return facts.graphql.map((one) => one.variables);
  if (facts.mcp !== undefined) return facts.mcp.map((one) => one.arguments ?? null);
  return facts.body === undefined ? [] : [facts.body];
}

function countAt(facts: CallFacts, count: Count): BlastRadius | undefined {
  const found = count.at.startsWith("?")
    ? facts.query.filter(([name]) => name === count.at.slice(1)).map(([, value]) => value)
    : bodiesOf(facts).flatMap((body) =>
        valuesAt(body, count.at.replace(/^variables\.?/, "").split(".")),
      );
  if (found.length === 0) return undefined;
  return { count: found.reduce<number>((sum, one) => sum + sizeOf(one), 0), unit: count.unit };
}

function valuesAt(value: JsonValue, path: readonly string[]): readonly JsonValue[] {
  const [first, ...rest] = path;
  if (first === undefined || first === "") return [value];
  if (first === "*") return elementsOf(value).flatMap((one) => valuesAt(one, rest));
  const next = isRecord(value) && Object.hasOwn(value, first) ? value[first] : undefined;
  return next === undefined ? [] : valuesAt(next, rest);
}

/** A list counts its elements, text its parts between commas, anything else is one. */
function sizeOf(value: JsonValue): number {
  if (Array.isArray(value)) return value.length;
  if (typeof value === "string") return value.split(",").filter((one) => one.trim() !== "").length;
  return value === null ? 0 : 1;
}

function elementsOf(value: JsonValue): readonly JsonValue[] {
  if (Array.isArray(value)) return value as readonly JsonValue[];
  return isRecord(value) ? Object.values(value) : [];
}

/** Lists deeper than this are details of one record, not many records. */
const deepest = 4;

function longestList(value: JsonValue, depth: number): number {
  if (depth > deepest) return 0;
  const own = Array.isArray(value) ? value.length : 0;
  let most = own;
  for (const element of elementsOf(value)) most = Math.max(most, longestList(element, depth + 1));
  return most;
}

function repeatedQuery(query: CallFacts["query"]): number {
  const counts = new Map<string, number>();
  for (const [name, value] of query) {
    const isList = /^ids?(\[\])?$/i.test(name) && value.includes(",");
    counts.set(name, (counts.get(name) ?? 0) + (isList ? sizeOf(value) : 1));
  }
  return Math.max(0, ...counts.values());
}

function isRecord(value: JsonValue): value is { readonly [key: string]: JsonValue } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
