import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import path from "node:path";
import { Failure } from "../../src/base/errors.ts";
import { commitTransaction } from "../../src/runtime/commit/commitTransaction.ts";
import { prepareCommit } from "../../src/runtime/commit/prepareCommit.ts";
import { ConflictFailure } from "../../src/runtime/commit/conflictFailure.ts";
import { CommitJournal } from "../support/commitJournal.ts";
import { interceptFiles, systemError } from "../support/failingFiles.ts";
import { plant, PublishFixture, quickFolder, type Planted } from "../support/publishFixture.ts";
import { snapshotTree } from "../support/treeSnapshot.ts";

async function failureOf(work: Promise<unknown>): Promise<Failure> {
  const failure: unknown = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  assert(failure instanceof Failure, `no failure but ${String(failure)}`);
  return failure;
}

/** A journal that lets something happen when an intent is written: after the merge, before the first write. */
class InterruptingJournal extends CommitJournal {
  readonly #happen: (time: number) => void;
  #times = 0;

  constructor(happen: (time: number) => void) {
    super();
    this.#happen = happen;
  }

  override append(
    draft: Parameters<CommitJournal["append"]>[0],
  ): ReturnType<CommitJournal["append"]> {
    const appended = super.append(draft);
    if (draft.kind === "commit.intended") this.#happen(++this.#times);
    return appended;
  }
}

const lines = Array.from({ length: 12 }, (_, at) => `line ${at}\n`);
const text = (changes: Readonly<Record<number, string>> = {}): string =>
  lines.map((line, at) => changes[at] ?? line).join("");

describe("publish, when something comes in between", () => {
  const rows: readonly {
    readonly name: string;
    readonly person: Readonly<Record<string, Planted | null>>;
    readonly then: "merged" | "conflict";
  }[] = [
    { name: "another line is edited", person: { "d/a": text({ 9: "mine\n" }) }, then: "merged" },
    { name: "the same line is edited", person: { "d/a": text({ 1: "mine\n" }) }, then: "conflict" },
    {
      name: "the file is replaced by one that looks the same",
      person: { "d/a": text() },
      then: "merged",
    },
    { name: "the file is deleted", person: { "d/a": null }, then: "conflict" },
    {
      name: "the file becomes a directory",
      person: { "d/a": null, "d/a/b": "x\n" },
      then: "conflict",
    },
    {
      name: "the file becomes a link",
      person: { "d/a": { linkTo: "../outside" } },
      then: "conflict",
    },
    {
      name: "its directory becomes a link",
      person: { d: { linkTo: "../outside" } },
      then: "conflict",
    },
    { name: "its directory becomes a file", person: { d: "x\n" }, then: "conflict" },
    { name: "a new file's name is taken", person: { "d/new": "mine\n" }, then: "conflict" },
    {
      name: "a new file's directory is a link",
      person: { n: { linkTo: "../outside" } },
      then: "conflict",
    },
    { name: "a deleted file is edited", person: { "d/gone": "mine\n" }, then: "conflict" },
    {
      name: "the permissions change",
      person: { "d/a": { content: text(), mode: 0o600 } },
      then: "merged",
    },
  ];
  for (const { name, person, then } of rows) {
    it(`${name}: ${then}`, async () => {
      using fixture = new PublishFixture({ "d/a": text(), "d/gone": "1\n", other: "1\n" });
      fixture.agent({
        "d/a": text({ 1: "agent\n" }),
        "d/new": "n\n",
        "n/e/w": "n\n",
        "d/gone": null,
        other: "2\n",
      });
      const outside = path.join(fixture.root, "outside");
      plant(outside, { a: "outside\n", new: "outside\n" });
      let expected: readonly string[] = [];
      const journal = new InterruptingJournal((time) => {
        if (time > 1) return;
        fixture.person(person);
        expected = snapshotTree(fixture.workspace, true);
      });
      Object.assign(fixture, { journal });
      const untouched = snapshotTree(outside, true);
      if (then === "conflict") {
        const failure = await failureOf(fixture.commit());
        assert(failure instanceof ConflictFailure, failure.line);
        const files = (snapshot: readonly string[]): readonly string[] =>
          snapshot.filter((line) => !/^\S+\/ /.test(line));
        assert.deepEqual(files(snapshotTree(fixture.workspace, true)), files(expected));
        assert.deepEqual(journal.kinds, ["intended", "abandoned"]);
      } else {
        await fixture.commit();
        assert.deepEqual(journal.kinds, ["intended", "abandoned", "intended", "published"]);
        assert.equal(fixture.read("other"), "2\n");
        assert.match(fixture.read("d/a") ?? "", /agent/);
        const mine = person["d/a"];
        if (typeof mine === "string" && mine.includes("mine"))
          assert.match(fixture.read("d/a") ?? "", /mine/);
      }
      assert.deepEqual(snapshotTree(outside, true), untouched);
    });
  }

  it("writes nothing into a directory that was put in the place of the one it had looked into", async () => {
    using fixture = new PublishFixture({ "d/a": "1\n" });
    fixture.agent({ "d/new": "n\n" });
    const [at, elsewhere] = ["d", "elsewhere"].map((name) => path.join(fixture.workspace, name));
    assert(at !== undefined && elsewhere !== undefined);
    const request = {
      transaction: "t1",
      target: fixture.target,
      reader: fixture.reader,
      changeSet: await fixture.changeSet(),
      selection: {},
      now: "2026-11-29T12:00:00.000Z",
    };
    const prepared = await prepareCommit(request);
    renameSync(at, elsewhere);
    fixture.person({ "d/other": "o\n" });
    const swapped = snapshotTree(fixture.workspace, true);
    const outcome = await prepared.publish();
    assert.deepEqual(
      [outcome.outcome, "path" in outcome ? outcome.path : ""],
      ["changed", "d/new"],
    );
    assert.deepEqual(snapshotTree(fixture.workspace, true), swapped);
    assert.deepEqual(readdirSync(path.join(fixture.state, "commits")), []);
    await commitTransaction(request, fixture.journal);
    assert.equal(fixture.read("d/new"), "n\n", "what stands there by now is looked into anew");
    assert.equal(fixture.read("elsewhere/new"), undefined);
  });

  it("compares with the directory of the merge, not of a later moment", async () => {
    using fixture = new PublishFixture({ "d/a": "1\n" });
    fixture.agent({ "d/new": "n\n" });
    const { target } = fixture;
    const look = target.look.bind(target);
    let times = 0;
    target.look = async (at) => {
      const found = await look(at);
      if (at === "d/new") {
        renameSync(
          path.join(fixture.workspace, "d"),
          path.join(fixture.workspace, `was${++times}`),
        );
        fixture.person({ "d/other": "o\n" });
      }
      return found;
    };
    assert((await failureOf(fixture.commit())) instanceof ConflictFailure);
    assert.equal(times, 3);
    for (const name of ["d", "was1", "was2", "was3"]) {
      assert.equal(fixture.read(`${name}/new`), undefined);
    }
  });

  it("gives up, with nothing written, on a file that never rests", async () => {
    using fixture = new PublishFixture({ a: text() });
    fixture.agent({ a: text({ 1: "agent\n" }) });
    let time = 0;
    const journal = new InterruptingJournal(() =>
      fixture.person({ a: text({ 9: `mine ${++time}\n` }) }),
    );
    Object.assign(fixture, { journal });
    assert((await failureOf(fixture.commit())) instanceof ConflictFailure);
    assert.equal(fixture.read("a"), text({ 9: `mine ${time}\n` }));
  });
});

/** Runs as a user who is not root; a process that is one already runs as itself. */
async function asUser(fixture: PublishFixture, work: () => Promise<void>): Promise<void> {
  if (process.getuid?.() !== 0) {
    await work();
    return;
  }
  execFileSync("chown", ["-R", "65534:65534", fixture.root]);
  process.setegid?.(65534);
  process.seteuid?.(65534);
  try {
    await work();
  } finally {
    process.seteuid?.(0);
    process.setegid?.(0);
  }
}

describe("publish, when it may not or cannot", () => {
  for (const [name, locked] of [
    ["the directory of a file that changes", "d"],
    ["the workspace itself", "."],
  ] as const) {
    it(`refuses and writes nothing where ${name} is read-only`, async () => {
      using fixture = new PublishFixture({ a: "1\n", "d/a": "1\n" });
      fixture.agent({ a: "2\n", "d/a": "2\n", z: "new\n" });
      await asUser(fixture, async () => {
        chmodSync(path.join(fixture.workspace, locked), 0o555);
        const before = snapshotTree(fixture.workspace, true);
        const failure = await failureOf(fixture.commit());
        assert.deepEqual([failure.kind, failure.code], ["refused", "workspace-not-writable"]);
        assert.match(failure.line, /"(d\/)?a".*Permission denied/);
        const times = (snapshot: readonly string[]): readonly string[] =>
          snapshot.filter((line) => !/^\S+\/ /.test(line));
        assert.deepEqual(times(snapshotTree(fixture.workspace, true)), times(before));
        assert.deepEqual(readdirSync(path.join(fixture.state, "commits")), []);
        chmodSync(path.join(fixture.workspace, locked), 0o755);
        await fixture.commit();
        assert.equal(fixture.read("d/a"), "2\n");
      });
    });
  }

  it("replaces a read-only file, which keeps its permissions", async () => {
    using fixture = new PublishFixture({ a: { content: "1\n", mode: 0o444 } });
    fixture.agent({ a: { content: "2\n", mode: 0o444 } });
    await asUser(fixture, async () => {
      await fixture.commit();
      assert.deepEqual(snapshotTree(fixture.workspace), snapshotTree(fixture.shadow));
    });
  });

  // Only root may mount a small filesystem.
  if (process.getuid?.() === 0) {
    it("says that the disk is full, and writes nothing", async function () {
      const small = mkdtempSync(path.join(quickFolder(), "holdfast-small-"));
      try {
        execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", small], { stdio: "pipe" });
      } catch {
        rmSync(small, { recursive: true });
        this.skip();
      }
      try {
        mkdirSync(path.join(small, "parent"));
        using fixture = new PublishFixture(
          { a: "1\n" },
          { workspaceParent: path.join(small, "parent") },
        );
        fixture.agent({ a: "2\n", big: Buffer.alloc(2 << 20, "x") });
        const before = snapshotTree(small, true);
        const failure = await failureOf(fixture.commit());
        assert.deepEqual([failure.kind, failure.code], ["failed", "disk-full"]);
        assert.deepEqual(
          snapshotTree(path.join(small, "parent"), true),
          before.flatMap((line) =>
            line.startsWith("parent/ ") ? [] : [line.replace("parent/", "")],
          ),
        );
        assert.deepEqual(readdirSync(path.join(fixture.state, "commits")), []);
        await fixture.commit({ paths: ["a"] });
        assert.equal(fixture.read("a"), "2\n");
      } finally {
        execFileSync("umount", [small]);
        rmSync(small, { recursive: true });
      }
    });
  }

  for (const code of ["EIO", "ENOSPC", "EMFILE"]) {
    it(`leaves nothing behind whichever of its own file calls gives ${code}`, async () => {
      for (let call = 1, met = true; met; call++) {
        using fixture = new PublishFixture({ a: "1\n", "d/b": "1\n" });
        fixture.agent({ a: "2\n", "d/b": null, "e/c": "1\n" });
        const changeSet = await fixture.changeSet();
        fixture.changeSet = () => Promise.resolve(changeSet);
        const [before, after] = [snapshotTree(fixture.workspace), snapshotTree(fixture.shadow)];
        met = false;
        let calls = 0;
        const undo = interceptFiles("all", () => {
          if (++calls !== call) return;
          met = true;
          throw systemError(code);
        });
        const failure: unknown = await fixture
          .commit()
          .then(
            () => undefined,
            (error: unknown) => error,
          )
          .finally(undo);
        const label = `call ${call}: ${String(failure)}`;
        const recovered = await fixture.recover();
        const whole = (await fixture.target.records()).length > 0;
        assert.deepEqual(snapshotTree(fixture.workspace), whole ? after : before, label);
        assert.equal(
          whole,
          failure === undefined || recovered.some(({ outcome }) => outcome === "journaled"),
          label,
        );
        assert.equal(
          readdirSync(fixture.state).flatMap(() => readdirSync(path.join(fixture.state, "commits")))
            .length,
          whole ? 1 : 0,
          label,
        );
      }
    });
  }
});
