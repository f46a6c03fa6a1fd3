import assert from "node:assert/strict";
import { Failure } from "../../src/base/errors.ts";
import type { ChangedFile, ChangeSet } from "../../src/core/change/changeSet.ts";
import {
  chooseFiles,
  isComplete,
  type Published,
  type Selection,
} from "../../src/core/change/selection.ts";

const state = { type: "file", mode: 0o644, size: 1, sha256: "0" } as const;

function changed(path: string, more: Partial<ChangedFile> = {}): ChangedFile {
  const hunk = (id: string): ChangedFile["hunks"][number] => ({
    id,
    oldStart: 1,
    oldLines: 1,
    newStart: 1,
    newLines: 1,
    edits: [],
  });
  return {
    path,
    kind: "modified",
    before: state,
    after: state,
    binary: false,
    section: "change",
    ignored: false,
    hunks: [hunk(`${path}#1`), hunk(`${path}#2`)],
    ...more,
  };
}

const changeSet: ChangeSet = {
  version: 1,
  files: [
    changed("a"),
    changed("d/b", { kind: "renamed", from: "old" }),
    changed("d/c"),
    changed("Makefile", { section: "runsLater", runsLater: "build" }),
    changed("out/x", { section: "ignored", ignored: true }),
    changed("out/Makefile", { section: "ignored", ignored: true, runsLater: "build" }),
    changed("bad\nname", { section: "runsLater", refused: "control characters" }),
  ],
};

const later = { includeRunsLater: true };
const ignored = { includeIgnored: true };

describe("selection", () => {
  const rows: readonly (readonly [string, Selection, readonly string[] | string])[] = [
    ["everything that is ticked", {}, ["a 1,2", "d/b 1,2", "d/c 1,2"]],
    ["what runs later too", later, ["a 1,2", "d/b 1,2", "d/c 1,2", "Makefile 1,2"]],
    ["ignored output too", ignored, ["a 1,2", "d/b 1,2", "d/c 1,2", "out/x 1,2"]],
    [
      "both are needed for both",
      { ...later, ...ignored },
      ["a 1,2", "d/b 1,2", "d/c 1,2", "Makefile 1,2", "out/x 1,2", "out/Makefile 1,2"],
    ],
    ["a path", { paths: ["a"] }, ["a 1,2"]],
    ["a path written otherwise", { paths: ["./d/c"] }, ["d/c 1,2"]],
    ["the old name of a rename", { paths: ["old"] }, ["d/b 1,2"]],
    ["a folder", { paths: ["d/"] }, ["d/b 1,2", "d/c 1,2"]],
    ["a folder with ignored output", { paths: ["out"] }, []],
    ["everything as a path", { paths: ["."] }, ["a 1,2", "d/b 1,2", "d/c 1,2"]],
    ["a hunk", { hunks: ["a#2"] }, ["a 2"]],
    ["a hunk and a path", { hunks: ["a#2"], paths: ["d/c"] }, ["a 2", "d/c 1,2"]],
    ["a hunk of a file that is chosen anyway", { hunks: ["a#2"], paths: ["a"] }, ["a 1,2"]],
    ["an unknown path", { paths: ["nope"] }, "unknown-path"],
    ["the start of a name is no folder", { paths: ["d/"], hunks: ["nope"] }, "unknown-hunk"],
    ["what runs later, unticked", { paths: ["Makefile"] }, "runs-later"],
    ["its hunk, unticked", { hunks: ["Makefile#1"] }, "runs-later"],
    ["what runs later, ticked", { paths: ["Makefile"], ...later }, ["Makefile 1,2"]],
    ["ignored output, not asked for", { paths: ["out/x"] }, "ignored-output"],
    ["what is never published", { paths: ["bad\nname"], ...later, ...ignored }, "never-published"],
  ];
  for (const [name, selection, expected] of rows) {
    it(name, () => {
      const choose = (): readonly string[] =>
        chooseFiles(changeSet, new Map(), selection).map(
          ({ file, now }) => `${file.path} ${now.map(({ id }) => id.slice(-1)).join(",")}`,
        );
      if (typeof expected !== "string") assert.deepEqual(choose(), expected);
      else assert.throws(choose, (error) => error instanceof Failure && error.code === expected);
    });
  }

  it("leaves out what is published, and keeps what remains of a file", () => {
    const published: Published = new Map([
      ["a", { whole: false, hunks: new Set(["a#1"]) }],
      ["d/b", { whole: true, hunks: new Set<string>() }],
    ]);
    const chosen = chooseFiles(changeSet, published, {});
    assert.deepEqual(
      chosen.map(({ file, earlier, now, whole }) => [
        file.path,
        earlier.length,
        now.map(({ id }) => id),
        whole,
      ]),
      [
        ["a", 1, ["a#2"], true],
        ["d/c", 0, ["d/c#1", "d/c#2"], true],
      ],
    );
    assert.equal(isComplete(changeSet, published), false);
  });

  it("is complete when only what needs a tick remains", () => {
    const published = new Map(
      ["a", "d/b", "d/c"].map((path) => [path, { whole: true, hunks: new Set<string>() }]),
    );
    assert.equal(isComplete(changeSet, published), true);
  });
});
