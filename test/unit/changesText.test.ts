import assert from "node:assert/strict";
import { changesText } from "../../src/cli/changesText.ts";
import type { ChangesView } from "../../src/protocol/control.ts";

type ListedFile = ChangesView["files"][number];

const file = (path: string, section: ListedFile["section"], rest: Partial<ListedFile> = {}) =>
  ({ path, kind: "modified", binary: false, section, hunks: [], ...rest }) satisfies ListedFile;

const hunk = { id: "h1", oldStart: 1, oldLines: 1, newStart: 1, newLines: 1 };

describe("what the command tells of the changes", () => {
  const check = (name: string, files: readonly ListedFile[], expected: readonly string[]): void => {
    it(name, () => {
      assert.deepEqual(changesText(files).split("\n").slice(0, -1), expected);
    });
  };

  check("nothing", [], []);

  check(
    "is by section, conflicts last and counted",
    [
      file("build/out.js", "ignored", { kind: "added" }),
      file("src/a.ts", "conflict"),
      file("src/b.ts", "change", { hunks: [hunk] }),
      file(".envrc", "runsLater", { why: "direnv runs it" }),
      file("src/c.ts", "change", { kind: "renamed", from: "src/old.ts" }),
    ],
    [
      "change    modified src/b.ts  1 hunk",
      "change    renamed  src/old.ts → src/c.ts",
      "runsLater modified .envrc  (direnv runs it)",
      "ignored   added    build/out.js",
      "conflict  modified src/a.ts",
      "1 CONFLICT: changed here as well as by the agent",
    ],
  );

  it("spells out what a name would do to the terminal", () => {
    const text = changesText([file("a\u001b]0;x\u0007\nb.txt", "change")]);
    assert.doesNotMatch(text, /[\u001b\u0007]/);
    assert.equal(text.split("\n").length, 2);
  });
});
