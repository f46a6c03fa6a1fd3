import type { JsonValue } from "../journal/entry.ts";
import type { CallFacts } from "./judge.ts";

/** What frameworks take for a method in a parameter: other words there mean something else. */
const known: ReadonlySet<string> = new Set(
  (
    "GET HEAD OPTIONS TRACE POST PUT PATCH DELETE PURGE COPY MOVE MKCOL LINK UNLINK LOCK UNLOCK " +
    "MERGE PROPFIND PROPPATCH REPORT SEARCH QUERY"
  ).split(" "),
);

const overrides: ReadonlySet<string> = new Set([
  "httpmethod",
  "methodoverride",
  "xhttpmethod",
  "xhttpmethodoverride",
  "xmethodoverride",
]);

/**
 * The methods that a call may have, upper case: the one of the request line first, then those that a header, a parameter
 * of the address or a field of the body puts in its place where the origin lets it (Rails, Symfony, Laravel, Express,
 * OData, Google and Facebook APIs do). Which counts is the origin's to say, so a call is as strict as the strictest.
 */
export function methodsOf(facts: CallFacts): readonly string[] {
  const found = [facts.method];
  const add = (method: string): void => {
    if (!found.includes(method)) found.push(method);
  };
  for (const [name, value] of facts.headers) {
    if (name.length > 10 && overrides.has(bare(name))) add(value.trim().toUpperCase());
  }
  for (const [name, value] of facts.query) {
    if (isOverride(name, true)) addKnown(value, add);
  }
  const { body, bodyType } = facts;
  if (typeof body !== "object" || body === null || Array.isArray(body)) return found;
  for (const [name, value] of Object.entries(body as Readonly<Record<string, JsonValue>>)) {
    if (!isOverride(name, bodyType !== "json" && bodyType !== "graphql")) continue;
    const values = (Array.isArray(value) ? value : [value]) as readonly JsonValue[];
    for (const one of values) addKnown(one, add);
  }
  return found;
}

function addKnown(value: JsonValue, add: (method: string) => void): void {
  const method = typeof value === "string" ? value.trim().toUpperCase() : "";
  if (known.has(method)) add(method);
}

/** `method` alone is an override in a form or an address; in JSON it is a word like any other. */
function isOverride(name: string, isForm: boolean): boolean {
  if (!/method/i.test(name)) return false;
  const letters = bare(name);
  return overrides.has(letters) || (letters === "method" && (isForm || !/^method$/i.test(name)));
}

/** Without what servers take for one another: PHP reads `.method` and `+method` as `_method`, WSGI `_` as `-`. */
function bare(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z]/g, "");
}
