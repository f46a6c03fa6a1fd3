import assert from "node:assert/strict";
import fc from "fast-check";
import { deltaOf } from "../../src/core/check/delta.ts";
import { hunksBetween, lineMapOf } from "../../src/core/check/lineMap.ts";
import { renamePairs } from "../../src/core/check/renamePairs.ts";
import { stepDelta } from "../../src/core/check/stepDelta.ts";
import type { Diagnostic } from "../../src/core/journal/entry.ts";

/** Writes a diagnostic as `path:line code message`. */
function parse(text: string): Diagnostic {
  const match = /^(\S+):(\d+) (\S+) (.*)$/.exec(text);
  assert(match, text);
  const [, path = "", line = "", code = "", message = ""] = match;
  return { path, line: Number(line), column: 1, code, message, severity: "error" };
}

function print(diagnostic: Diagnostic): string {
  return `${diagnostic.path}:${diagnostic.line} ${diagnostic.code} ${diagnostic.message}`;
}

interface Case {
  readonly base: readonly string[];
  readonly shadow: readonly string[];
  readonly renames?: readonly (readonly [string, string])[];
  /** Base and shadow text by base path. */
  readonly texts?: Readonly<Record<string, readonly [string, string]>>;
  readonly introduced: readonly string[];
  readonly resolved: readonly string[];
  readonly unchanged: number;
}

function check(name: string, expected: Case): void {
  it(name, () => {
    const delta = deltaOf({
      base: expected.base.map(parse),
      shadow: expected.shadow.map(parse),
      renames: new Map(expected.renames ?? []),
      lines: (path) => {
        const texts = expected.texts?.[path];
        return texts === undefined ? undefined : lineMapOf(hunksBetween(texts[0], texts[1]));
      },
    });
    assert.deepEqual(
      {
        introduced: delta.introduced.map(print),
        resolved: delta.resolved.map(print),
        unchanged: delta.unchanged,
      },
      {
        introduced: expected.introduced,
        resolved: expected.resolved,
        unchanged: expected.unchanged,
      },
    );
  });
}

describe("check delta", () => {
  check("nothing on either side is nothing", {
    base: [],
    shadow: [],
    introduced: [],
    resolved: [],
    unchanged: 0,
  });
  check("tells introduced, resolved and unchanged apart", {
    base: ["a.ts:1 TS1 one", "a.ts:2 TS2 two"],
    shadow: ["a.ts:2 TS2 two", "b.ts:9 TS3 three"],
    introduced: ["b.ts:9 TS3 three"],
    resolved: ["a.ts:1 TS1 one"],
    unchanged: 1,
  });
  check("survives a line shift", {
    base: ["a.ts:1 TS1 one"],
    shadow: ["a.ts:40 TS1 one"],
    introduced: [],
    resolved: [],
    unchanged: 1,
  });
  check("survives a rename, also inside messages", {
    base: ['src/a.ts:1 TS1 import("src/a").X in data/src/a.ts is bad'],
    shadow: ['lib/b.ts:1 TS1 import("lib/b").X in data/src/a.ts is bad'],
    renames: [["src/a.ts", "lib/b.ts"]],
    introduced: [],
    resolved: [],
    unchanged: 1,
  });
  check("survives line numbers and white space in messages", {
    base: ['a.py:9 no-redef Name "x" already defined on line 3'],
    shadow: ['a.py:12 no-redef Name "x"  already defined on line 6'],
    introduced: [],
    resolved: [],
    unchanged: 1,
  });
  check("a severity that changes is another diagnostic", {
    base: ["a.ts:1 TS1 one"],
    shadow: ["a.ts:1 TS2 one"],
    introduced: ["a.ts:1 TS2 one"],
    resolved: ["a.ts:1 TS1 one"],
    unchanged: 0,
  });
  check("of equal ones the added line is the introduced one", {
    base: ["a.ts:1 TS1 same", "a.ts:3 TS1 same"],
    shadow: ["a.ts:1 TS1 same", "a.ts:2 TS1 same", "a.ts:4 TS1 same"],
    texts: { "a.ts": ["bad1\nmid\nbad2", "bad1\nbad-new\nmid\nbad2"] },
    introduced: ["a.ts:2 TS1 same"],
    resolved: [],
    unchanged: 2,
  });
  check("of equal ones the removed line is the resolved one", {
    base: ["a.ts:1 TS1 same", "a.ts:2 TS1 same", "a.ts:3 TS1 same"],
    shadow: ["a.ts:1 TS1 same", "a.ts:2 TS1 same"],
    texts: { "a.ts": ["p\nq\nr", "q\nr"] },
    introduced: [],
    resolved: ["a.ts:1 TS1 same"],
    unchanged: 2,
  });
});

describe("check delta properties", () => {
  const diagnostic = fc.record({
    path: fc.constantFrom("a.ts", "b.ts"),
    line: fc.integer({ min: 1, max: 9 }),
    column: fc.constant(1),
    code: fc.constantFrom("TS1", "TS2"),
    message: fc.constantFrom("m", "n"),
    severity: fc.constant("error" as const),
  });
  const many = fc.array(diagnostic, { maxLength: 12 });
  const none = { renames: new Map<string, string>(), lines: () => undefined };

  it("base − resolved + introduced has as many as the shadow, and swapping sides swaps results", () => {
    fc.assert(
      fc.property(many, many, (base, shadow) => {
        const there = deltaOf({ base, shadow, ...none });
        const back = deltaOf({ base: shadow, shadow: base, ...none });
        assert.equal(there.unchanged + there.introduced.length, shadow.length);
        assert.equal(there.unchanged + there.resolved.length, base.length);
        assert.equal(there.introduced.length, back.resolved.length);
        assert.equal(there.unchanged, back.unchanged);
      }),
    );
  });

  it("a step's delta is the difference of the two states", () => {
    fc.assert(
      fc.property(many, many, many, (base, first, second) => {
        const step = stepDelta(
          deltaOf({ base, shadow: first, ...none }),
          deltaOf({ base, shadow: second, ...none }),
        );
        const direct = deltaOf({ base: first, shadow: second, ...none });
        assert.equal(step.introduced.length, direct.introduced.length);
        assert.equal(step.resolved.length, direct.resolved.length);
      }),
    );
  });

  it("hunks map every kept line to the same text", () => {
    const text = fc.array(fc.constantFrom("a", "b", "c", "d", "e"), { maxLength: 15 });
    fc.assert(
      fc.property(text, text, (old, now) => {
        const lines = lineMapOf(hunksBetween(old.join("\n"), now.join("\n")));
        const oldLines = old.join("\n").split("\n");
        const newLines = now.join("\n").split("\n");
        oldLines.forEach((content, index) => {
          const place = lines(index + 1);
          if (place.exact) assert.equal(newLines[place.line - 1], content);
        });
      }),
    );
  });
});

describe("check renames", () => {
  it("pairs the deleted file with the added one that holds most of its lines", () => {
    const pairs = renamePairs(
      [
        { path: "a.ts", text: "1\n2\n3\n4" },
        { path: "z.ts", text: "x\ny" },
      ],
      [
        { path: "b.ts", text: "1\n2\n3\n5" },
        { path: "c.ts", text: "q\nr\ns" },
      ],
    );
    assert.deepEqual([...pairs], [["a.ts", "b.ts"]]);
  });
});
