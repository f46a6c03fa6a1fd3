import assert from "node:assert/strict";
import fc from "fast-check";
import { applyHunks, hunksOf, hunkText } from "../../src/core/change/hunks.ts";
import { splitLines } from "../../src/core/change/lines.ts";
import { mergeTexts } from "../../src/core/change/mergeText.ts";
import { mergeStates } from "../../src/core/change/mergeStates.ts";
import type { FileState } from "../../src/core/change/changeSet.ts";
import { diffLineLists } from "../../src/core/change/textDiff.ts";

/** Texts of few different lines, so that they often share some; any byte may occur. */
const line = fc.oneof(
  fc.constantFrom("a", "b", "c", "", "\r", "x\u00ff"),
  fc.string({ unit: "binary-ascii", maxLength: 3 }),
);
const text = fc
  .tuple(fc.array(line, { maxLength: 25 }), fc.boolean())
  .map(
    ([lines, ends]) => lines.map((one) => one.replaceAll("\n", "")).join("\n") + (ends ? "\n" : ""),
  );

const digest = (content: string): string => {
  let hash = 0n;
  for (const character of content)
    hash = (hash * 131n + BigInt(character.charCodeAt(0))) % (1n << 64n);
  return hash.toString(16).padStart(16, "0");
};

function hunks(before: string, after: string): ReturnType<typeof hunksOf> {
  const [old, fresh] = [splitLines(before), splitLines(after)];
  return hunksOf("p", old, fresh, diffLineLists(old, fresh), digest);
}

describe("hunks", () => {
  it("turn the old text into the new one when all are taken, and into itself when none is", () => {
    fc.assert(
      fc.property(text, text, (before, after) => {
        const [old, fresh] = [splitLines(before), splitLines(after)];
        const all = hunks(before, after);
        assert.equal(applyHunks(old, fresh, all).join(""), after);
        assert.equal(applyHunks(old, fresh, []).join(""), before);
        assert.equal(new Set(all.map(({ id }) => id)).size, all.length);
      }),
    );
  });

  it("can be taken one by one in any order with the same end", () => {
    fc.assert(
      fc.property(text, text, fc.infiniteStream(fc.boolean()), (before, after, coin) => {
        const [old, fresh] = [splitLines(before), splitLines(after)];
        const all = hunks(before, after);
        const some = all.filter(() => coin.next().value === true);
        const half = applyHunks(old, fresh, some);
        // What is left over turns the half-way text into the new one: three-way, as a second commit does it.
        assert.deepEqual(mergeTexts(before, half.join(""), after), { clean: true, text: after });
      }),
    );
  });

  it("count the lines that they show", () => {
    fc.assert(
      fc.property(text, text, (before, after) => {
        for (const hunk of hunks(before, after)) {
          const shown = hunkText(hunk, splitLines(before), splitLines(after)).split("\n").slice(1);
          const count = (marks: string): number =>
            shown.filter((one) => one !== "" && marks.includes(one.charAt(0))).length;
          assert.deepEqual([count(" -"), count(" +")], [hunk.oldLines, hunk.newLines]);
        }
      }),
    );
  });
});

describe("mergeTexts", () => {
  it("takes the only side that changed, or the same change once", () => {
    fc.assert(
      fc.property(text, text, (base, other) => {
        for (const [mine, theirs] of [
          [base, other],
          [other, base],
          [other, other],
        ] as const) {
          assert.deepEqual(mergeTexts(base, mine, theirs), { clean: true, text: other });
        }
      }),
    );
  });

  it("gives the same text, or conflicts at the same places, whichever side is called mine", () => {
    fc.assert(
      fc.property(text, text, text, (base, mine, theirs) => {
        const [one, two] = [mergeTexts(base, mine, theirs), mergeTexts(base, theirs, mine)];
        assert.equal(one.clean, two.clean);
        if (one.clean && two.clean) assert.equal(one.text, two.text);
      }),
    );
  });

  it("stays quick and right on a large file changed at both ends", () => {
    const lines = Array.from({ length: 60_000 }, (_, at) => `line ${at}\n`);
    const merged = mergeTexts(
      lines.join(""),
      ["top\n", ...lines].join(""),
      [...lines, "end\n"].join(""),
    );
    assert.deepEqual(merged, { clean: true, text: ["top\n", ...lines, "end\n"].join("") });
  });
});

describe("mergeStates", () => {
  const file = (content: string, mode = 0o644): FileState => ({
    type: "file",
    mode,
    size: 1,
    sha256: content,
  });
  const toX: FileState = { type: "symlink", target: "x" };
  const toY: FileState = { type: "symlink", target: "y" };
  const folder: FileState = { type: "directory", mode: 0o755 };
  type Side = FileState | undefined;
  const rows: readonly (readonly [string, Side, Side, Side, string])[] = [
    ["nothing happened", file("1"), file("1"), file("1"), "keep"],
    ["theirs changed", file("1"), file("1"), file("2"), "take"],
    ["mine changed", file("1"), file("2"), file("1"), "keep"],
    ["both the same", file("1"), file("2"), file("2"), "keep"],
    ["both differently", file("1"), file("2"), file("3"), "mergeText"],
    ["content here, mode there", file("1"), file("2"), file("1", 0o755), "mode"],
    ["mode here, content there", file("1"), file("1", 0o755), file("2"), "take"],
    ["modes differ", file("1"), file("1", 0o600), file("1", 0o755), "conflict"],
    ["only the mode", file("1"), file("1"), file("1", 0o755), "mode"],
    ["deleted there", file("1"), file("1"), undefined, "remove"],
    ["deleted on both sides", file("1"), undefined, undefined, "keep"],
    ["deleted here, changed there", file("1"), undefined, file("2"), "conflict"],
    ["changed here, deleted there", file("1"), file("2"), undefined, "conflict"],
    ["deleted here only", file("1"), undefined, file("1"), "keep"],
    ["added there", undefined, undefined, file("1"), "take"],
    ["added the same", undefined, file("1"), file("1"), "keep"],
    ["added differently", undefined, file("1"), file("2"), "conflict"],
    ["added with other modes", undefined, file("1"), file("1", 0o755), "conflict"],
    ["file to link", file("1"), file("1"), toX, "take"],
    ["file to link, edited here", file("1"), file("2"), toX, "conflict"],
    ["link to file here, edited there", toX, file("1"), toY, "conflict"],
    ["link led elsewhere", toX, toX, toY, "take"],
    ["links lead to two places", toX, toY, { type: "symlink", target: "z" }, "conflict"],
    ["new directory on both sides", undefined, folder, { type: "directory", mode: 0o700 }, "keep"],
    ["directory for a file", undefined, folder, file("1"), "conflict"],
    [
      "emptied directory that is used here",
      folder,
      { type: "directory", mode: 0o700 },
      undefined,
      "keep",
    ],
  ];
  for (const [name, base, mine, theirs, action] of rows) {
    it(`${name}: ${action}`, () => assert.equal(mergeStates(base, mine, theirs).action, action));
  }
});
