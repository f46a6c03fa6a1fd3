import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { parsePolicy } from "../../src/core/policy/parsePolicy.ts";
import { policyJsonSchema } from "../../src/core/policy/policyFile.ts";

function problems(title: string, text: string, expected: readonly string[], owner?: "workspace") {
  it(title, () => {
    const parsed = parsePolicy(text, "p.json", owner ?? "user");
    const lines = parsed.problems.map((one) => `${one.line}:${one.column} ${one.message}`);
    assert.deepEqual(lines, expected);
    assert.equal(parsed.policy === undefined, expected.length > 0);
  });
}

const rule = (when: string, verdict = "hold") =>
  `{ "version": 1,\n  "rules": [{ "id": "a", "when": ${when}, "verdict": "${verdict}" }] }`;

describe("policy: files", () => {
  problems("comments and trailing commas", '// hi\n{ "version": 1, /* x */ "rules": [], }', []);
  problems("a byte order mark", '\uFEFF{ "version": 1, "rules": [] }', []);
  problems("an empty file", "", ["1:1 not valid JSON: value expected"]);
  problems("broken JSON", '{ "version": 1,\r\n  "rules": [}', [
    "2:13 not valid JSON: value expected",
    "2:14 not valid JSON: close bracket expected",
    "2:14 not valid JSON: close brace expected",
  ]);
  problems("another version", '{ "version": 2, "rules": [] }', [
    "1:14 version: Invalid input: expected 1",
  ]);
  problems("a missing key", '{ "version": 1 }', [
    "1:1 rules: Invalid input: expected array, received undefined",
  ]);
  problems("an unknown key", rule('{ "hots": "x" }'), ['2:36 rules[0].when: unknown key "hots"']);
  problems("a key that stands twice", '{ "version": 1,\n"rules": [],\n"rules": [] }', [
    '3:1 the key "rules" stands twice',
  ]);
  problems("an unknown verdict", rule("{}", "alow"), [
    '2:49 rules[0].verdict: Invalid option: expected one of "allow"|"hold"|"deny"',
  ]);
  problems("a host in capitals", rule('{ "host": ["x", "Example.org"] }'), [
    "2:50 rules[0].when.host[1]: a host is written in lower case and ASCII: example.com, or *.example.com for every name below it",
  ]);
  problems("a path without its slash", rule('{ "path": "a" }'), [
    "2:44 rules[0].when.path: a path starts with a slash",
  ]);
  problems(
    "an id that stands twice",
    '{ "version": 1, "rules": [\n{ "id": "a", "when": {}, "verdict": "hold" },\n{ "id": "a", "when": {}, "verdict": "hold" }] }',
    ["3:9 the id a is used twice"],
  );
  problems("an allow that names nothing", rule('{ "method": "GET" }', "allow"), [
    "2:34 a rule that allows must name a host, a server or a tool",
  ]);
  problems("a condition that does not parse", rule('{ "if": "method ==" }'), [
    '2:52 in "if": Unexpected token: EOF',
  ]);
  problems(
    "a condition with an unknown name, behind an escape",
    rule('{ "if": "\\"a\\" == nope" }'),
    ['2:52 in "if": Unknown variable: nope'],
  );
  problems("a condition that gives no boolean", rule('{ "if": "size(body)" }'), [
    '2:43 in "if": the condition gives int, not true or false',
  ]);
  problems(
    "regular expressions are not for workspaces, however they are written",
    rule('{ "if": "path.matches // x\\n (\'a\')" }'),
    ['2:43 in "if": matches() is for the user\'s own policy only'],
    "workspace",
  );
  problems("a pattern that the call chooses", rule('{ "if": "path.matches(body.p)" }'), [
    '2:43 in "if": matches() takes a pattern that is written down',
  ]);
  for (const pattern of ["(a+)+$", "(a|aa)*b", "((a?))+", "(?:x[^)]*){2,}"]) {
    problems(
      `a pattern that can run for hours: ${pattern}`,
      rule(`{ "if": "path.matches('${pattern}')" }`),
      ['2:43 in "if": this pattern repeats a repetition: it can run for hours'],
    );
  }
  for (const pattern of ["^/a/[0-9]+/b$", "(a|b)c*", "(?i)x(yz)+", "[(+]+"]) {
    problems(
      `a pattern that cannot: ${pattern}`,
      rule(`{ "if": "path.matches('${pattern}')" }`),
      [],
    );
  }
  problems(
    "presets are not for workspaces",
    '{ "version": 1, "presets": [], "rules": [] }',
    ["1:28 presets are for the user's own policy: a workspace can only narrow"],
    "workspace",
  );
  problems("a member called __proto__", '{ "version": 1, "rules": [], "__proto__": {} }', [
    '1:30 unknown key "__proto__"',
  ]);
});

describe("policy: schema", () => {
  it("media/policy.schema.json is what the code says (npm run schema)", () => {
    const file = new URL("../../media/policy.schema.json", import.meta.url);
    assert.deepEqual(JSON.parse(readFileSync(file, "utf8")), policyJsonSchema());
  });
});
