import assert from "node:assert/strict";
import { parseBody } from "../../src/core/policy/body/parseBody.ts";

/** JSON that two parsers take for two things is not read as either. */
const cases: readonly (readonly [text: string, repeats: boolean])[] = [
  [String.raw`{"a":{"b":1,"c":"\"b\":","\u0062" : 2}}`, true],
  ['{"a":1}\n{"b":2,"b":3}\n', true],
  ['{"query":"mutation { drop }","query":"{ a }"}', true],
  [String.raw`[{"a":"a","b":["a",{"a":"\\"}]},{"a":{}}]`, false],
  ['{"a":1}\n{"a":2}\n', false],
  [String.raw`{"a":"b","b":"a","\"":1,"":{"":[]}}`, false],
];

describe("policy: a key that stands twice in JSON", () => {
  for (const [text, repeats] of cases)
    it(`${repeats ? "makes unreadable" : "is not in"} ${JSON.stringify(text)}`, () => {
      const { bodyType, bodyProblem } = parseBody({
        method: "POST",
        host: "x.test",
        path: "/graphql",
        query: [],
        headers: [["content-type", "application/json"]],
        bytes: Buffer.from(text),
        text,
        complete: true,
      });
      const problem = repeats ? "a key stands twice in one JSON object" : undefined;
      assert.deepEqual([bodyType === "opaque", bodyProblem], [repeats, problem]);
    });
});
