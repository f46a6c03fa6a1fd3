import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { execa } from "execa";
import type { CallFacts, GitFacts } from "../../src/core/policy/judge.ts";
import { brokerWorld, readsPass, type BrokerWorld } from "../support/brokerWorld.ts";
import { gitBackend } from "../support/gitBackend.ts";

describe("broker: git over HTTP, with the real client", function () {
  this.timeout(30_000);
  let world: BrokerWorld;
  let root: string;
  let work: string;
  let pushes: GitFacts[];
  let holds: boolean;

  const git = async (...args: string[]) =>
    await execa("git", ["-C", work, ...args], {
      reject: false,
      env: {
        ...world.env,
        HOME: root,
        GIT_CONFIG_NOSYSTEM: "1",
        GIT_TERMINAL_PROMPT: "0",
        GIT_AUTHOR_NAME: "A",
        GIT_AUTHOR_EMAIL: "a@example.com",
        GIT_COMMITTER_NAME: "A",
        GIT_COMMITTER_EMAIL: "a@example.com",
      },
    });
  const commit = async (name: string, content: string | Buffer = name): Promise<void> => {
    await writeFile(path.join(work, name), content);
    await git("add", name);
    await git("commit", "-qm", name);
  };

  before(async () => {
    root = await mkdtemp(path.join(tmpdir(), "holdfast-git-"));
    work = path.join(root, "work");
    await execa("git", ["init", "-q", "--bare", "-b", "main", path.join(root, "repo.git")]);
    await execa("git", ["init", "-q", "-b", "main", work]);
    world = await brokerWorld({
      handler: gitBackend(root),
      judge: (facts: CallFacts) => {
        if (facts.git?.action === "push") pushes.push(facts.git);
        const judgement = readsPass(facts);
        return judgement.verdict === "hold" && !holds
          ? { ...judgement, verdict: "allow" }
          : judgement;
      },
    });
    await git("remote", "add", "origin", "https://git.test/repo.git");
  });
  after(async () => {
    await world[Symbol.asyncDispose]();
    await rm(root, { recursive: true });
  });
  beforeEach(() => {
    pushes = [];
    holds = false;
    world.host.drafts.length = 0;
    world.host.holds.length = 0;
  });

  /** What the broker saw of one push. */
  async function refsOf(...args: string[]): Promise<unknown> {
    const { exitCode, stderr } = await git("push", ...args);
    assert.equal(exitCode, 0, stderr);
    assert.equal(pushes.length, 1);
    assert.equal(pushes[0]?.repository, "repo");
    return pushes[0].refs.map(({ ref, change, ancestry }) => [ref, change, ancestry]);
  }

  it("sees a new branch", async () => {
    await commit("one");
    assert.deepEqual(await refsOf("origin", "main"), [["refs/heads/main", "create", "unknown"]]);
    const { request, protocol } = world.host.of("request.started").at(-1)!;
    // Debian's git hangs at the end of some large pushes over HTTP/2.
    assert.equal(protocol, "HTTP/1.1");
    assert.ok(world.host.of("verdict").some((verdict) => verdict.request === request));
  });

  it("sees that an update is a fast-forward", async () => {
    await commit("two");
    await commit("three");
    assert.deepEqual(await refsOf("origin", "main"), [
      ["refs/heads/main", "update", "fastForward"],
    ]);
  });

  it("sees that an update through a merge is a fast-forward", async () => {
    await git("checkout", "-qb", "side", "HEAD~1");
    await commit("aside");
    await git("checkout", "-q", "main");
    await git("merge", "-q", "--no-ff", "-m", "merge", "side");
    assert.deepEqual(await refsOf("origin", "main"), [
      ["refs/heads/main", "update", "fastForward"],
    ]);
  });

  it("sees a forced update", async () => {
    await git("commit", "-q", "--amend", "-m", "another");
    assert.deepEqual(await refsOf("-f", "origin", "main"), [
      ["refs/heads/main", "update", "forced"],
    ]);
  });

  it("does not take a branch moved back for a fast-forward", async () => {
    await git("reset", "-q", "--hard", "HEAD~1");
    assert.deepEqual(await refsOf("-f", "origin", "main"), [
      ["refs/heads/main", "update", "unknown"],
    ]);
  });

  it("sees several refs and tags in one push", async () => {
    await git("tag", "-a", "v1", "-m", "v1");
    assert.deepEqual(await refsOf("origin", "HEAD:refs/heads/x", "v1", "HEAD:refs/heads/y"), [
      ["refs/heads/x", "create", "unknown"],
      ["refs/tags/v1", "create", "unknown"],
      ["refs/heads/y", "create", "unknown"],
    ]);
  });

  it("sees a deleted branch", async () => {
    assert.deepEqual(await refsOf("origin", ":x"), [["refs/heads/x", "delete", "unknown"]]);
  });

  it("sees the refs of a push too large for one request", async () => {
    await commit("large", randomBytes(3 * 1024 * 1024));
    assert.deepEqual(await refsOf("origin", "main"), [
      ["refs/heads/main", "update", "fastForward"],
    ]);
  });

  it("holds a push, with the pack in a private file, and lets it through once approved", async () => {
    holds = true;
    await commit("held", randomBytes(2 * 1024 * 1024));
    const pushed = git("push", "origin", "main");
    await world.host.until(() => world.host.holds.length === 1);
    const before = await git("ls-remote", "origin", "main");
    world.host.holds[0]!.decide({ decision: "approve", scope: "call" });
    const { exitCode, stderr } = await pushed;
    assert.equal(exitCode, 0, stderr);
    assert.notEqual((await git("ls-remote", "origin", "main")).stdout, before.stdout);
  });

  it("tells the client why a push was denied", async () => {
    holds = true;
    await commit("denied");
    const pushed = git("push", "origin", "main");
    await world.host.until(() => world.host.holds.length === 1);
    world.host.holds[0]!.decide({ decision: "deny", scope: "call", reason: "not on a Sunday" });
    const { exitCode, stderr } = await pushed;
    assert.notEqual(exitCode, 0);
    assert.match(stderr, /! \[remote rejected\] main -> main \(.*not on a Sunday/);
  });

  it("takes clone, fetch and ls-remote for reads", async () => {
    const clone = path.join(root, "clone");
    const { exitCode, stderr } = await git("clone", "-q", "https://git.test/repo.git", clone);
    assert.equal(exitCode, 0, stderr);
    assert.equal(world.host.holds.length, 0);
    assert.ok(world.host.of("request.started").every((entry) => entry.traffic === "disclosure"));
  });
});
