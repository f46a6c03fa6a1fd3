import assert from "node:assert/strict";
import { factsOf, judged } from "../support/judged.ts";
import { deepestNesting, isNestedDeeper, withoutDeep } from "../../src/base/nesting.ts";

/** JSON of so many levels, of which each holds the next. */
const nested = (levels: number, before = '{"a":', after = "}"): unknown =>
  JSON.parse(`${before.repeat(levels)}1${after.repeat(levels)}`);

describe("nesting", () => {
  it("is counted in arrays and objects, and any depth can be looked at", () => {
    for (const [before, after] of [
      ['{"a":', "}"],
      ["[", "]"],
      ['[7,{"x":2,"a":', "}]"],
    ] as const) {
      const each = before.includes("{") && before.includes("[") ? 2 : 1;
      const most = deepestNesting / each;
      assert.ok(!isNestedDeeper(nested(most, before, after)), before);
      assert.ok(isNestedDeeper(nested(most + 1, before, after)), before);
      assert.ok(isNestedDeeper(nested(100_000, before, after)), before);
    }
    for (const flat of [null, 1, "x", undefined, {}, []]) assert.ok(!isNestedDeeper(flat));
    assert.ok(isNestedDeeper({}, 0));
  });

  it("is cut where it goes too deep, and all else stays as it is", () => {
    const fine = nested(deepestNesting);
    assert.equal(withoutDeep(fine), fine);
    const value = { call: "1", __proto__: null, list: [nested(10_000), "after"], last: true };
    const text = JSON.stringify(withoutDeep(value));
    assert.match(text, /^\{"call":"1","list":\[\{"a":/);
    assert.match(text, /:"nested more than 500 levels deep: left out"\}+,"after"\],"last":true\}$/);
    const own = withoutDeep(
      JSON.parse(`{"__proto__":{"x":1},"deep":${"[".repeat(600)}${"]".repeat(600)}}`),
    );
    assert.match(JSON.stringify(own), /^\{"__proto__":\{"x":1\}/);
  });
});

describe("policy: a body that is nested without end", () => {
  const variables = `${"[".repeat(10_000)}${"]".repeat(10_000)}`;
  const deep = `{"query":"{ viewer { login } }","variables":${variables}}`;
  for (const [name, type, text] of [
    ["as JSON", "application/json", deep],
    ["as JSON that says that it is text", "text/plain", deep],
    ["as one of several lines", "application/x-ndjson", `{"a":1}\n${deep}`],
  ] as const) {
    it(`is not looked into: ${name}`, () => {
      const line = "POST https://api.github.com/graphql";
      const facts = factsOf(line, undefined, {}, [["content-type", type]], text);
      assert.equal(facts.bodyType, "opaque");
      assert.equal(facts.bodyProblem, "JSON nested more than 500 levels deep");
      assert.equal(judged(facts).verdict, "hold");
    });
  }
});
