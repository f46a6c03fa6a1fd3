import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { PathChoice } from "../../src/runtime/commit/chosenChange.ts";
import { ConflictFailure } from "../../src/runtime/commit/conflictFailure.ts";
import { historyOf } from "../../src/runtime/commit/history.ts";
import { reviewNow } from "../../src/runtime/commit/reviewNow.ts";
import { git } from "../support/forkFixture.ts";
import { PublishFixture, quickFolder } from "../support/publishFixture.ts";
import { snapshotTree } from "../support/treeSnapshot.ts";

const thirty = Array.from({ length: 30 }, (_, at) => `line ${at}\n`);
/** Thirty lines, some of them replaced. */
const text = (changes: Readonly<Record<number, string>> = {}): string =>
  thirty.map((line, at) => changes[at] ?? line).join("");

function threeHunks(): PublishFixture {
  return new PublishFixture({ a: text(), b: "1\n" }).agent({
    a: text({ 2: "two\n", 15: "mid\n", 27: "end\n" }),
    b: "2\n",
  });
}

async function hunkIds(fixture: PublishFixture): Promise<readonly string[]> {
  return (await fixture.changeSet()).files[0]?.hunks.map(({ id }) => id) ?? [];
}

describe("review", () => {
  it("publishes hunk by hunk, in any order, around the person's edits", async () => {
    using fixture = threeHunks();
    const [first = "", second = "", third = ""] = await hunkIds(fixture);
    assert.equal((await fixture.commit({ hunks: [second] })).complete, false);
    assert.equal(fixture.read("a"), text({ 15: "mid\n" }));
    fixture.person({ a: text({ 9: "mine\n", 15: "mid\n" }) });
    await fixture.commit({ hunks: [third, first] });
    assert.equal(fixture.read("a"), text({ 2: "two\n", 9: "mine\n", 15: "mid\n", 27: "end\n" }));
    assert.equal((await fixture.commit()).complete, true);
    assert.equal(fixture.read("b"), "2\n");
    await fixture.undo();
    await fixture.undo();
    assert.equal(fixture.read("a"), text({ 9: "mine\n", 15: "mid\n" }));
    assert.equal(fixture.read("b"), "1\n");
  });

  it("keeps what an earlier commit left, and lists it with the same names", async () => {
    using fixture = threeHunks();
    const [first = "", second = "", third = ""] = await hunkIds(fixture);
    await fixture.commit({ hunks: [second] });
    const { files } = await reviewNow(fixture.target, fixture.reader, await fixture.changeSet());
    assert.deepEqual(
      files.map(({ path: at, hunks }) => [at, hunks.map(({ id }) => id)]),
      [
        ["a", [first, third]],
        ["b", files[1]?.hunks.map(({ id }) => id)],
      ],
    );
  });

  it("says what still needs a tick, and publishes it once ticked", async () => {
    using fixture = new PublishFixture({ a: "1\n", Makefile: "all:\n" });
    fixture.agent({ a: "2\n", Makefile: "all: x\n" });
    assert.equal((await fixture.commit({})).complete, true);
    await assert.rejects(fixture.commit({}), /nothing is left.*"Makefile"/);
    await assert.rejects(fixture.commit({ paths: ["Makefile"] }), /runs later/);
    await fixture.commit({ paths: ["Makefile"], includeRunsLater: true });
    assert.equal(fixture.read("Makefile"), "all: x\n");
    await assert.rejects(fixture.commit({}), /everything is committed already/);
    assert.deepEqual(fixture.journal.kinds, ["intended", "published", "intended", "published"]);
  });

  it("shows conflicts with the workspace as it is now", async () => {
    using fixture = threeHunks();
    fixture.person({ a: text({ 15: "mine\n" }) });
    const { files } = await reviewNow(fixture.target, fixture.reader, await fixture.changeSet());
    assert.deepEqual(
      files.map(({ path: at, section, why }) => [at, section, why]),
      [
        ["a", "conflict", "both sides changed the same lines (near line 16 of the base)"],
        ["b", "change", undefined],
      ],
    );
  });

  const choices: readonly (readonly [string, PathChoice, string])[] = [
    ["mine", { take: "mine" }, text({ 15: "mine\n" })],
    ["theirs", { take: "theirs" }, text({ 2: "two\n", 15: "mid\n", 27: "end\n" })],
    [
      "an edited text over it",
      { take: "edited", bytes: Buffer.from("both\n"), over: true },
      "both\n",
    ],
    [
      "an edited text merged",
      { take: "edited", bytes: Buffer.from(text({ 2: "II\n" })) },
      text({ 2: "II\n", 15: "mine\n" }),
    ],
  ];
  for (const [name, choice, expected] of choices) {
    it(`lets the person take ${name}`, async () => {
      using fixture = threeHunks();
      fixture.person({ a: text({ 15: "mine\n" }) });
      await assert.rejects(fixture.commit(), (error) => error instanceof ConflictFailure);
      const result = await fixture.commit({}, new Map([["a", choice]]));
      assert.equal(result.complete, true);
      assert.equal(fixture.read("a"), expected);
      assert.equal(fixture.read("b"), "2\n");
      const edited = (await fixture.target.records())[0]?.edited;
      assert.deepEqual(edited, choice.take === "edited" ? ["a"] : []);
      await fixture.undo();
      assert.equal(fixture.read("a"), text({ 15: "mine\n" }));
    });
  }

  it("undoes the newest commit in force, and undoes the undo when none is", async () => {
    using fixture = new PublishFixture({ a: "1\n", b: "1\n" }).agent({ a: "2\n", b: "2\n" });
    const states = async (): Promise<string> => {
      const history = historyOf(await fixture.target.records());
      return `${fixture.read("a") ?? ""}${fixture.read("b") ?? ""}${history.map(({ state }) => state).join(" ")}`;
    };
    await fixture.commit({ paths: ["a"] });
    await fixture.commit({ paths: ["b"] });
    assert.equal(await states(), "2\n2\ninForce inForce");
    await fixture.undo();
    assert.equal(await states(), "2\n1\ninForce undone");
    await fixture.undo();
    assert.equal(await states(), "1\n1\nundone undone");
    await fixture.undo();
    assert.equal(await states(), "2\n1\ninForce undone");
    await fixture.commit();
    assert.equal(await states(), "2\n2\ninForce undone inForce");
    await assert.rejects(fixture.undo("c9"), /no commit c9/);
  });

  it("refuses an undo of lines that the person changed since, and keeps them", async () => {
    using fixture = threeHunks();
    await fixture.commit();
    fixture.person({ a: text({ 2: "two\n", 15: "mine\n", 27: "end\n" }), b: "2\n" });
    const before = snapshotTree(fixture.workspace, true);
    await assert.rejects(fixture.undo(), (error) => error instanceof ConflictFailure);
    assert.deepEqual(snapshotTree(fixture.workspace, true), before);
  });

  it("publishes an edited masked file with its real values", async () => {
    using fixture = new PublishFixture({ ".env": "KEY=$MASK1\nNAME=x\n" }).agent({
      ".env": "KEY=$MASK1\nNAME=y\nNEW=1\n",
    });
    fixture.reader.secrets.set("$MASK1", "s3cr3t");
    fixture.person({ ".env": "KEY=s3cr3t\nNAME=x\n" });
    await fixture.commit();
    assert.equal(fixture.read(".env"), "KEY=s3cr3t\nNAME=y\nNEW=1\n");
    await fixture.undo();
    assert.equal(fixture.read(".env"), "KEY=s3cr3t\nNAME=x\n");
  });

  it("leaves all of .git alone, whatever the agent did there", async () => {
    using fixture = new PublishFixture({ a: "1\n", "sub/b": "1\n" });
    for (const root of [fixture.base, fixture.shadow, fixture.workspace]) {
      git(root, "init", "-q");
      git(root, "add", ".");
      git(root, "commit", "-qm", "one");
    }
    fixture.person({ a: "mine\n" });
    git(fixture.workspace, "stash", "-q");
    fixture.agent({
      a: "2\n",
      ".git/hooks/post-checkout": "#!/bin/sh\n",
      ".git/config": "[core]\n fsmonitor = x\n",
      "sub/.git/config": "x",
    });
    git(fixture.shadow, "init", "-q", "nested");
    fixture.agent({ "nested/file": "n\n" });
    const whole = (): readonly string[] => snapshotTree(path.join(fixture.workspace, ".git"), true);
    const before = whole();
    await fixture.commit();
    assert.deepEqual([fixture.read("a"), fixture.read("nested/file")], ["2\n", "n\n"]);
    assert.equal(existsSync(path.join(fixture.workspace, "nested/.git")), false);
    assert.equal(existsSync(path.join(fixture.workspace, "sub/.git")), false);
    assert.deepEqual(whole(), before);
    await fixture.undo();
    assert.deepEqual(whole(), before);
  });

  it("works where the workspace is on another filesystem than the state", async () => {
    using fixture = new PublishFixture(
      { a: "1\n", "d/b": "1\n" },
      { workspaceParent: quickFolder(), parent: tmpdir() },
    );
    const beside = (): readonly string[] =>
      readdirSync(path.dirname(fixture.workspace)).filter((name) => name.startsWith(".holdfast"));
    const before = snapshotTree(fixture.workspace);
    const others = beside();
    fixture.agent({ a: "2\n", d: null, "e/f": "new\n" });
    await fixture.commit();
    assert.deepEqual(
      [fixture.read("a"), fixture.read("d/b"), fixture.read("e/f")],
      ["2\n", undefined, "new\n"],
    );
    await fixture.undo();
    assert.deepEqual(snapshotTree(fixture.workspace), before);
    assert.deepEqual(beside(), others);
  });
});
