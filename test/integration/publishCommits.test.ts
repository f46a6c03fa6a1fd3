import assert from "node:assert/strict";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Failure } from "../../src/base/errors.ts";
import { bringCommits, listCommits } from "../../src/node/publish/bringCommits.ts";
import { git } from "../support/forkFixture.ts";
import { copyTree } from "../support/publishFixture.ts";
import { snapshotTree } from "../support/treeSnapshot.ts";

describe("the agent's own commits", () => {
  let root: string;
  let workspace: string;
  let shadow: string;

  beforeEach(() => {
    root = mkdtempSync(path.join(tmpdir(), "holdfast-commits-"));
    [workspace, shadow] = [path.join(root, "work"), path.join(root, "shadow")];
    mkdirSync(workspace);
    git(workspace, "init", "-q");
    writeFileSync(path.join(workspace, "a"), "1\n");
    git(workspace, "add", ".");
    git(workspace, "commit", "-qm", "one");
    copyTree(workspace, shadow);
  });

  afterEach(() => {
    rmSync(root, { recursive: true, force: true });
  });

  const bring = async (): ReturnType<typeof listCommits> => {
    const request = {
      workspace,
      fork: { shadow, overlays: [] },
      transaction: "t1",
      scratch: root,
    };
    const found = await listCommits(request);
    await bringCommits(request, found.head);
    return found;
  };

  function commitInShadow(): string {
    writeFileSync(path.join(shadow, "a"), "2\n");
    git(shadow, "commit", "-qam", "two");
    return git(shadow, "rev-parse", "HEAD").trim();
  }

  /** Everything of `.git` but where fetched objects and our own references lie. */
  const rest = (): readonly string[] =>
    snapshotTree(path.join(workspace, ".git")).filter(
      (line) => !/^(objects\/|refs\/holdfast)/.test(line),
    );

  it("come over as objects under a reference of ours, and nothing else does", async () => {
    const commit = commitInShadow();
    const trap = path.join(root, "trap");
    for (const at of ["hooks/post-checkout", "hooks/reference-transaction", "hooks/pre-auto-gc"]) {
      for (const repository of [shadow, workspace]) {
        writeFileSync(path.join(repository, ".git", at), `#!/bin/sh\ntouch ${trap}\n`);
        chmodSync(path.join(repository, ".git", at), 0o755);
      }
    }
    git(shadow, "config", "core.fsmonitor", `touch ${trap}`);
    git(shadow, "config", "uploadpack.packObjectsHook", `touch ${trap}`);
    const before = rest();
    const { commits, ...rest_ } = await bring();
    assert.deepEqual(rest_, {
      ref: "refs/holdfast/t1",
      brought: false,
      head: commit,
      placeholders: [],
    });
    assert.deepEqual(
      commits.map((one) => [one.commit, one.subject]),
      [[commit, "two"]],
    );
    assert.equal(git(workspace, "show", "refs/holdfast/t1:a"), "2\n");
    assert.deepEqual(rest(), before);
    assert.equal(existsSync(trap), false);
    assert.equal(git(workspace, "status", "--porcelain"), "");
  });

  it("come over from packed references too, and again", async () => {
    const commit = commitInShadow();
    git(shadow, "pack-refs", "--all");
    git(shadow, "gc", "-q");
    assert.equal((await bring()).head, commit);
    const again = await bring();
    assert.deepEqual([again.head, again.brought, again.commits.length], [commit, true, 1]);
  });

  it("are refused when git's check finds something wrong with them", async () => {
    const tree = git(shadow, "rev-parse", "HEAD^{tree}").trim();
    const file = path.join(root, "bad");
    writeFileSync(
      file,
      `tree ${tree}\nauthor A <a@example.com 0 +0000\ncommitter A <a@example.com> 0 +0000\n\nbad\n`,
    );
    const bad = git(shadow, "hash-object", "-t", "commit", "-w", "--literally", file).trim();
    git(shadow, "update-ref", "refs/heads/main", bad);
    await assert.rejects(
      bring(),
      (error) => error instanceof Failure && error.code === "commits-not-brought",
    );
    assert.equal(git(workspace, "for-each-ref", "refs/holdfast"), "");
  });

  it("are those that no branch of the workspace leads to, whatever was committed there since", async () => {
    writeFileSync(path.join(workspace, "b"), "mine\n");
    git(workspace, "add", ".");
    git(workspace, "commit", "-qm", "mine since the fork");
    commitInShadow();
    writeFileSync(path.join(shadow, "a"), "3\n");
    git(shadow, "commit", "-qam", "three\u200b");
    const { commits } = await bring();
    assert.deepEqual(
      commits.map(({ subject }) => subject),
      ["three\u200b", "two"],
    );
  });

  it("are told as none where the agent made none, or there is no repository", async () => {
    const code = async (): Promise<string> =>
      bring().then(
        () => "brought",
        (error: unknown) => (error instanceof Failure ? error.code : String(error)),
      );
    assert.equal(await code(), "no-commits");
    rmSync(path.join(workspace, ".git"), { recursive: true });
    assert.equal(await code(), "no-repository");
  });

  it("are not looked for through links", async () => {
    commitInShadow();
    rmSync(path.join(shadow, ".git/HEAD"));
    symlinkSync(path.join(workspace, ".git/HEAD"), path.join(shadow, ".git/HEAD"));
    await assert.rejects(
      bring(),
      (error) => error instanceof Failure && error.code === "no-commits",
    );
  });
});
