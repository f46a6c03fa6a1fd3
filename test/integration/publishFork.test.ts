import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, readFileSync, renameSync, statSync, truncateSync } from "node:fs";
import path from "node:path";
import { WorkspaceTarget } from "../../src/node/publish/publishTarget.ts";
import { commitTransaction } from "../../src/runtime/commit/commitTransaction.ts";
import { buildChangeSet } from "../../src/runtime/commit/seal.ts";
import { undoCommit } from "../../src/runtime/commit/undoCommit.ts";
import { CommitJournal } from "../support/commitJournal.ts";
import { ForkFixture, git } from "../support/forkFixture.ts";
import { plant } from "../support/publishFixture.ts";
import { snapshotTree } from "../support/treeSnapshot.ts";

const now = "2026-11-29T12:00:00.000Z";

function project(): ForkFixture {
  const fixture = new ForkFixture();
  plant(fixture.workspace, {
    "src/a.ts": "export const a = 1;\n".repeat(20),
    "src/old.ts": Array.from({ length: 30 }, (_, at) => `line ${at}\n`).join(""),
    "src/gone.ts": "x\n",
    "run.sh": "#!/bin/sh\n",
    ".gitignore": "out/\n.env\n",
    "out/built": "o\n",
    ".env": "API_KEY=sk_test_4eC39HqLyjWDarjtT1zdp7dc\nNAME=shop\n",
  });
  git(fixture.workspace, "init", "-q");
  git(fixture.workspace, "add", ".");
  git(fixture.workspace, "commit", "-qm", "one");
  return fixture;
}

describe("a real fork", () => {
  it("is published as the agent left it, and undone", async () => {
    using fixture = project();
    const forked = await fixture.fork();
    plant(forked.fork.shadow, {
      "src/a.ts": "export const a = 2;\n".repeat(20),
      "src/gone.ts": null,
      "new/deep/er.ts": "n\n",
      "a link": { linkTo: "src/a.ts" },
    });
    renameSync(forked.at("src/old.ts"), forked.at("src/new.ts"));
    chmodSync(forked.at("run.sh"), 0o755);
    git(forked.fork.shadow, "add", ".");
    git(forked.fork.shadow, "commit", "-qm", "agent");
    const before = snapshotTree(fixture.workspace);
    const gitBefore = snapshotTree(path.join(fixture.workspace, ".git"), true);
    const changeSet = await buildChangeSet(forked.reader, await forked.changes());
    assert.deepEqual(
      changeSet.files.map(({ path: at, kind, section }) => `${kind} ${at} ${section}`),
      [
        "added a link runsLater",
        "added new/deep/er.ts change",
        "mode run.sh runsLater",
        "modified src/a.ts change",
        "deleted src/gone.ts change",
        "renamed src/new.ts change",
      ],
    );
    const target = new WorkspaceTarget({
      workspace: fixture.workspace,
      state: forked.paths.state,
      program: { path: fixture.nativePath },
    });
    const { reader } = forked;
    const journal = new CommitJournal();
    const selection = { includeRunsLater: true };
    await commitTransaction(
      { transaction: "t1", target, reader, changeSet, selection, now },
      journal,
    );
    const files = (root: string): readonly string[] =>
      snapshotTree(root).filter((line) => !/^(\.git\/|\.env|\.git )/.test(line));
    assert.deepEqual(files(fixture.workspace), files(forked.fork.shadow));
    assert.deepEqual(snapshotTree(path.join(fixture.workspace, ".git"), true), gitBefore);
    await undoCommit({ transaction: "t1", target, now }, journal);
    assert.deepEqual(snapshotTree(fixture.workspace), before);
    await forked.remove();
  });

  it("publishes an edited secret file with its real values", async () => {
    using fixture = project();
    const forked = await fixture.fork();
    const masked = Buffer.from((await forked.reader.read("shadow", ".env")) ?? []).toString("utf8");
    assert(!masked.includes("sk_test"), masked);
    plant(forked.fork.shadow, { ".env": `${masked}ADDED=1\n` });
    const changeSet = await buildChangeSet(forked.reader, await forked.changes());
    assert.deepEqual(
      changeSet.files.map(({ path: at, section }) => [at, section]),
      [[".env", "ignored"]],
    );
    const target = new WorkspaceTarget({
      workspace: fixture.workspace,
      state: forked.paths.state,
      program: { path: fixture.nativePath },
    });
    const { reader } = forked;
    const selection = { includeIgnored: true };
    await commitTransaction(
      { transaction: "t1", target, reader, changeSet, selection, now },
      new CommitJournal(),
    );
    const real = (await target.look(".env"))?.bytes ?? new Uint8Array();
    assert.equal(
      Buffer.from(real).toString("utf8"),
      "API_KEY=sk_test_4eC39HqLyjWDarjtT1zdp7dc\nNAME=shop\nADDED=1\n",
    );
  });

  it("publishes a file of holes as one, which takes no room", async () => {
    using fixture = project();
    const forked = await fixture.fork();
    plant(forked.fork.shadow, { image: "start" });
    truncateSync(forked.at("image"), 64 << 20);
    const { reader } = forked;
    const changeSet = await buildChangeSet(reader, await forked.changes());
    const state = forked.paths.state;
    const program = { path: fixture.nativePath };
    const target = new WorkspaceTarget({ workspace: fixture.workspace, state, program });
    await commitTransaction(
      { transaction: "t1", target, reader, changeSet, selection: {}, now },
      new CommitJournal(),
    );
    const published = path.join(fixture.workspace, "image");
    assert.ok(readFileSync(published).equals(readFileSync(forked.at("image"))));
    assert.ok(statSync(published).blocks * 512 <= 1 << 20);
  });

  it("leaves no trace when it is discarded, times and all", async () => {
    using fixture = project();
    const before = snapshotTree(fixture.workspace, true);
    const forked = await fixture.fork();
    plant(forked.fork.shadow, { "src/a.ts": "2\n", "src/gone.ts": null, new: "n\n" });
    await buildChangeSet(forked.reader, await forked.changes());
    await forked.remove();
    assert.deepEqual(snapshotTree(fixture.workspace, true), before);
  });
});

describe("a file too large for memory", function () {
  this.timeout(300_000);

  it("is sealed, shown, published and undone in bounded memory", () => {
    const child = path.resolve(import.meta.dirname, "../support/publishLargeChild.ts");
    const run = spawnSync(process.execPath, ["--import", "tsx", child, "256"], {
      encoding: "utf8",
    });
    assert.equal(run.status, 0, run.stderr);
    assert(Number(run.stdout) < 128, `${run.stdout.trim()} MiB more for a file of 256 MiB`);
  });
});
