import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { patchOf } from "../../src/node/publish/patchStream.ts";
import { copyTree, PublishFixture, type Planted } from "../support/publishFixture.ts";
import { snapshotTree } from "../support/treeSnapshot.ts";

type Tree = Readonly<Record<string, Planted | null>>;

const bytes = (count: number, seed: number): Buffer => {
  const buffer = Buffer.alloc(count);
  let state = seed;
  for (let at = 0; at < count; at++) {
    state = (state * 1103515245 + 12345) & 0x7fffffff;
    buffer[at] = state >> 16;
  }
  return buffer;
};
const many = (count: number, mark: string): string =>
  Array.from({ length: count }, (_, at) => `${mark} ${at}\n`).join("");

const cases: readonly {
  readonly name: string;
  readonly base: Readonly<Record<string, Planted>>;
  readonly agent: Tree;
  readonly renames?: Readonly<Record<string, string>>;
}[] = [
  {
    name: "edits",
    base: { a: many(50, "x") },
    agent: { a: many(50, "x").replace("x 3\n", "y\n").replace("x 40\n", "") },
  },
  { name: "adds and deletes", base: { gone: "1\n2\n" }, agent: { gone: null, "new/one": "1\n" } },
  { name: "empty files", base: { a: "", b: "1\n" }, agent: { a: null, b: "", c: "" } },
  {
    name: "missing last newlines",
    base: { a: "1\n2", b: "1\n2\n", c: "x" },
    agent: { a: "1\n2\n", b: "1\n2", c: "y" },
  },
  { name: "line ends", base: { a: "1\r\n2\r\n3\r\n" }, agent: { a: "1\r\n2\n3\r\n" } },
  {
    name: "permissions",
    base: { a: "1\n", b: { content: "1\n", mode: 0o755 } },
    agent: { a: { content: "1\n", mode: 0o755 }, b: { content: "2\n", mode: 0o644 } },
  },
  {
    name: "renames",
    base: { a: many(30, "x"), b: "b\n" },
    agent: { a: null, "sub/c": many(30, "x").replace("x 9\n", "z\n"), b: null, d: "b\n" },
    renames: { "sub/c": "a", d: "b" },
  },
  {
    name: "symbolic links",
    base: { a: { linkTo: "x" }, b: { linkTo: "x" } },
    agent: { a: { linkTo: "y/z" }, b: null, c: { linkTo: "../up" } },
  },
  {
    name: "a file for a link and a link for a file",
    base: { a: { linkTo: "x" }, b: "1\n2\n" },
    agent: { a: "text\n", b: { linkTo: "x" } },
  },
  {
    name: "binary files",
    base: { a: bytes(500, 1), b: bytes(7, 2), c: bytes(3000, 5) },
    agent: {
      a: bytes(90_000, 3),
      b: null,
      c: { content: bytes(3000, 6), mode: 0o755 },
      d: bytes(1, 4),
      e: Buffer.from([0]),
    },
  },
  { name: "a binary file for a text", base: { a: "text\n" }, agent: { a: bytes(100, 9) } },
  {
    name: "odd names",
    base: { "a b": "1\n", 'quo"te': "1\n", ümlaut: "1\n", "-dash": "1\n", "tab\there": "1\n" },
    agent: {
      "a b": "2\n",
      'quo"te': "2\n",
      ümlaut: "2\n",
      "-dash": "2\n",
      "tab\there": "2\n",
      "new\nline": "3\n",
      " lead": "4\n",
      "back\\slash": "5\n",
      "trail ": "",
    },
  },
];

describe("diff", () => {
  for (const one of cases) {
    it(`is taken by git apply: ${one.name}`, async () => {
      using fixture = new PublishFixture(one.base);
      fixture.agent(one.agent);
      fixture.renames = one.renames ?? {};
      const pieces: Uint8Array[] = [];
      for await (const piece of patchOf(fixture.reader, await fixture.changeSet()))
        pieces.push(piece);
      const patch = path.join(fixture.root, "patch");
      writeFileSync(patch, Buffer.concat(pieces));
      const applied = path.join(fixture.root, "applied");
      copyTree(fixture.base, applied);
      const run = (...args: string[]): void =>
        void execFileSync("git", ["apply", ...args, patch], {
          cwd: applied,
          env: {
            PATH: process.env["PATH"],
            GIT_CEILING_DIRECTORIES: fixture.root,
            GIT_CONFIG_NOSYSTEM: "1",
            HOME: fixture.root,
          },
        });
      run();
      assert.deepEqual(snapshotTree(applied), snapshotTree(fixture.shadow));
      run("--reverse");
      assert.deepEqual(snapshotTree(applied), snapshotTree(fixture.base));
    });
  }

  it("tells only the paths that were asked for", async () => {
    using fixture = new PublishFixture({ a: "1\n", "d/b": "1\n", "d/c": "1\n", da: "1\n" });
    fixture.agent({ a: "2\n", "d/b": "2\n", "d/c": "2\n", da: "2\n" });
    let text = "";
    for await (const piece of patchOf(fixture.reader, await fixture.changeSet(), ["d/"])) {
      text += Buffer.from(piece).toString("latin1");
    }
    assert.deepEqual(
      [...text.matchAll(/^\+\+\+ b\/(.*)$/gm)].map(([, name]) => name),
      ["d/b", "d/c"],
    );
  });

  it("shows each hunk's name, the one of the listing", async () => {
    using fixture = new PublishFixture({ a: many(50, "x") });
    fixture.agent({ a: many(50, "x").replace("x 3\n", "y\n").replace("x 40\n", "z\n") });
    const changeSet = await fixture.changeSet();
    let text = "";
    for await (const piece of patchOf(fixture.reader, changeSet))
      text += Buffer.from(piece).toString("latin1");
    const told = [...text.matchAll(/^@@ -(\d+),(\d+) \+(\d+),(\d+) @@ (.*)$/gm)].map((match) =>
      match.slice(1),
    );
    assert.deepEqual(
      told,
      changeSet.files[0]?.hunks.map((hunk) =>
        [hunk.oldStart, hunk.oldLines, hunk.newStart, hunk.newLines, hunk.id].map(String),
      ),
    );
  });
});
