import assert from "node:assert/strict";
import { linkSync, lstatSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { ConflictFailure } from "../../src/runtime/commit/conflictFailure.ts";
import { nativeBuild } from "../support/nativeBuild.ts";
import { PublishFixture, type Planted } from "../support/publishFixture.ts";
import { snapshotTree } from "../support/treeSnapshot.ts";

type Tree = Readonly<Record<string, Planted | null>>;

interface Case {
  readonly name: string;
  readonly base: Readonly<Record<string, Planted>>;
  readonly agent: Tree;
  readonly person?: Tree;
  readonly renames?: Readonly<Record<string, string>>;
  /** Content of paths afterwards, undefined for gone; or the conflicts' paths. */
  readonly then:
    Readonly<Record<string, string | undefined>> | { readonly conflicts: readonly string[] };
  readonly merged?: number;
}

const lines = (...texts: readonly string[]): string => texts.map((text) => `${text}\n`).join("");
const ten = Array.from({ length: 10 }, (_, index) => `line ${index}`);
const withLine = (at: number, text: string): string =>
  lines(...ten.map((line, index) => (index === at ? text : line)));

const cases: readonly Case[] = [
  {
    name: "adds, edits and deletes",
    base: { a: "1\n", b: "2\n", "d/c": "3\n" },
    agent: { a: "one\n", b: null, "x/y/z": "new\n", "d/c": null },
    then: { a: "one\n", b: undefined, "x/y/z": "new\n", "d/c": undefined },
  },
  {
    name: "merges edits of different lines",
    base: { a: lines(...ten) },
    agent: { a: withLine(1, "agent") },
    person: { a: withLine(8, "person") },
    then: { a: withLine(1, "agent").replace("line 8", "person") },
    merged: 1,
  },
  {
    name: "tells a conflict where both edited a line",
    base: { a: lines(...ten), b: "1\n" },
    agent: { a: withLine(4, "agent"), b: "2\n" },
    person: { a: withLine(4, "person") },
    then: { conflicts: ["a"] },
  },
  {
    name: "takes the same change on both sides for granted",
    base: { a: "1\n" },
    agent: { a: "2\n", n: "n\n" },
    person: { a: "2\n", n: "n\n" },
    then: { a: "2\n", n: "n\n" },
  },
  {
    name: "keeps a file that the person deleted only when the agent left it alone",
    base: { a: "1\n", b: "1\n" },
    agent: { a: "2\n" },
    person: { a: null, b: null },
    then: { conflicts: ["a"] },
  },
  {
    name: "does not delete what the person edited",
    base: { a: "1\n" },
    agent: { a: null },
    person: { a: "1\nmore\n" },
    then: { conflicts: ["a"] },
  },
  {
    name: "does not overwrite what the person added",
    base: {},
    agent: { a: "agent\n" },
    person: { a: "person\n" },
    then: { conflicts: ["a"] },
  },
  {
    name: "carries the person's edit to the new name of a renamed file",
    base: { a: lines(...ten) },
    agent: { a: null, "sub/b": withLine(0, "agent") },
    renames: { "sub/b": "a" },
    person: { a: withLine(9, "person") },
    then: { a: undefined, "sub/b": withLine(0, "agent").replace("line 9", "person") },
    merged: 1,
  },
  {
    name: "carries the person's edit along with a rename that changed nothing",
    base: { a: lines(...ten) },
    agent: { a: null, b: lines(...ten) },
    renames: { b: "a" },
    person: { a: withLine(9, "person") },
    then: { a: undefined, b: withLine(9, "person") },
    merged: 1,
  },
  {
    name: "swaps two files",
    base: { a: "1\n", b: "2\n" },
    agent: { a: "2\n", b: "1\n" },
    renames: { a: "b", b: "a" },
    then: { a: "2\n", b: "1\n" },
  },
  {
    name: "tells a conflict when the new name is taken",
    base: { a: "1\n" },
    agent: { a: null, b: "1\n" },
    renames: { b: "a" },
    person: { b: "mine\n" },
    then: { conflicts: ["b"] },
  },
  {
    name: "turns a file into a directory and a directory into a file",
    base: { a: "1\n", "d/x": "1\n", "d/y/z": "2\n" },
    agent: { a: null, "a/b": "in\n", d: "file\n" },
    then: { "a/b": "in\n", d: "file\n" },
  },
  {
    name: "keeps a directory in which the person has something",
    base: { "d/x": "1\n" },
    agent: { d: null },
    person: { "d/mine": "m\n" },
    then: { "d/x": undefined, "d/mine": "m\n" },
  },
  {
    name: "does not put a file where a directory still holds something of the person",
    base: { "d/x": "1\n" },
    agent: { d: "file\n" },
    person: { "d/mine": "m\n" },
    then: { conflicts: ["d"] },
  },
  {
    name: "tells a conflict when a parent has become a file",
    base: { "d/x": "1\n" },
    agent: { "d/new/y": "1\n" },
    person: { "d/new": "file\n" },
    then: { conflicts: ["d/new"] },
  },
  {
    name: "tells a conflict when a parent has become a symbolic link",
    base: { "d/x": "1\n" },
    agent: { "d/y": "1\n" },
    person: { d: { linkTo: "/tmp" } },
    then: { conflicts: ["d"] },
  },
  {
    name: "tells a conflict for a binary file changed on both sides",
    base: { a: "a\0b\n" },
    agent: { a: "a\0c\n" },
    person: { a: "a\0d\n" },
    then: { conflicts: ["a"] },
  },
  {
    name: "keeps line ends, marks and encodings byte for byte",
    base: { a: "\u00ef\u00bb\u00bfone\r\ntwo\r\nthree\n\u00e4\u00f6" },
    agent: { a: "\u00ef\u00bb\u00bfONE\r\ntwo\r\nthree\n\u00e4\u00f6" },
    person: { a: "\u00ef\u00bb\u00bfone\r\ntwo\r\nthree\n\u00e4\u00f6\u00fc" },
    then: { a: "\u00ef\u00bb\u00bfONE\r\ntwo\r\nthree\n\u00e4\u00f6\u00fc" },
    merged: 1,
  },
];

describe("commit", () => {
  for (const one of cases) {
    it(one.name, async () => {
      const latin1 = (tree: Tree): Tree =>
        Object.fromEntries(
          Object.entries(tree).map(([at, planted]) => [
            at,
            typeof planted === "string" ? Buffer.from(planted, "latin1") : planted,
          ]),
        );
      using fixture = new PublishFixture(latin1(one.base) as Record<string, Planted>, {
        parent: tmpdir(),
      });
      fixture.agent(latin1(one.agent)).person(latin1(one.person ?? {}));
      fixture.renames = one.renames ?? {};
      const before = snapshotTree(fixture.workspace, true);
      if ("conflicts" in one.then) {
        const failure = await fixture.commit().then(
          () => undefined,
          (error: unknown) => error,
        );
        assert(failure instanceof ConflictFailure, String(failure));
        assert.deepEqual(
          failure.conflicts.map(({ path: at }) => at),
          one.then.conflicts,
        );
        assert.deepEqual(snapshotTree(fixture.workspace, true), before);
        assert.deepEqual(fixture.journal.kinds, []);
        return;
      }
      const result = await fixture.commit();
      for (const [at, content] of Object.entries(one.then))
        assert.equal(fixture.read(at), content, at);
      assert.equal(result.merged, one.merged ?? 0);
      assert.equal(result.complete, true);
      assert.deepEqual(fixture.journal.kinds, ["intended", "published"]);
      await fixture.undo();
      assert.deepEqual(
        snapshotTree(fixture.workspace),
        before.map((line) => line.replace(/ \d{10,}$/, "")),
      );
      await fixture.undo();
      for (const [at, content] of Object.entries(one.then))
        assert.equal(fixture.read(at), content, at);
    });
  }

  for (const exchange of ["with", "without"])
    it(`several names of one file change together, ${exchange} exchange of names`, async () => {
      const names = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
      const base = Object.fromEntries(names.map((name) => [name, "1\n"]));
      const without = {
        native: nativeBuild("faults"),
        env: { HOLDFAST_FAULT_NO_EXCHANGE: "1" },
      };
      using fixture = new PublishFixture(base, {
        parent: tmpdir(),
        ...(exchange === "without" && without),
      });
      const link = (...group: readonly string[]): void => {
        for (const name of group.slice(1)) {
          rmSync(path.join(fixture.workspace, name));
          linkSync(
            path.join(fixture.workspace, group[0] ?? ""),
            path.join(fixture.workspace, name),
          );
        }
      };
      link("a", "b");
      link("c", "d");
      link("e", "f");
      link("g", "h", "i");
      fixture.agent({ a: null, b: null, c: "2\n", d: "2\n" });
      fixture.agent({ e: { content: "1\n", mode: 0o755 }, f: null });
      fixture.agent({ g: "2\n", h: null, i: { content: "1\n", mode: 0o755 } });
      const before = snapshotTree(fixture.workspace);
      assert.equal((await fixture.commit()).complete, true);
      assert.deepEqual(readdirSync(fixture.workspace).join(""), "cdegi");
      assert.equal(
        ["c", "d", "e", "g", "i"].map((name) => fixture.read(name)).join(""),
        "2\n2\n1\n2\n1\n",
      );
      await fixture.undo();
      assert.deepEqual(snapshotTree(fixture.workspace), before);
    });

  it("leaves files that are not chosen alone, times and all", async () => {
    using fixture = new PublishFixture({ a: "1\n", b: "1\n", "d/c": "1\n" });
    fixture.agent({ a: "2\n", b: "2\n" });
    const stamp = (at: string): bigint =>
      lstatSync(path.join(fixture.workspace, at), { bigint: true }).mtimeNs;
    const before = [stamp("b"), stamp("d"), stamp("d/c")];
    const result = await fixture.commit({ paths: ["a"] });
    assert.deepEqual([stamp("b"), stamp("d"), stamp("d/c")], before);
    assert.equal(result.complete, false);
    assert.equal(fixture.read("b"), "1\n");
    assert.equal((await fixture.commit()).complete, true);
    assert.equal(fixture.read("b"), "2\n");
  });
});
