import assert from "node:assert/strict";
import { genesis, parseEntry } from "../../src/core/journal/chain.ts";
import { writeAheadKinds } from "../../src/core/journal/entry.ts";

const bare = (kind: string, more: object = {}): Record<string, unknown> => ({
  seq: 1,
  at: "2026-01-01T00:00:00.000Z",
  kind,
  source: "holdfast",
  prev: genesis,
  ...more,
});

describe("journal chain", () => {
  for (const kind of writeAheadKinds)
    it(`an intent without its members is no entry: ${kind}`, () => {
      const found = parseEntry(bare(kind), 1, genesis);
      assert.ok(typeof found === "string" && found.startsWith(`${kind}: `), JSON.stringify(found));
    });

  it("names what is wrong", () => {
    const rows: readonly (readonly [unknown, RegExp])[] = [
      [[], /not a JSON object/],
      [bare("alert", { seq: 2 }), /seq is 2, expected 1/],
      [bare("alert", { prev: "f".repeat(64) }), /prev does not match/],
      [bare("alert", { source: "elsewhere" }), /unknown source/],
      [bare("toString"), /unknown kind/],
      [bare("alert", { parent: 1 }), /parent is not an earlier entry/],
    ];
    for (const [value, reason] of rows)
      assert.match(JSON.stringify(parseEntry(value, 1, genesis)), reason);
  });
});
