import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { execa } from "execa";
import { PolicyBook } from "../../src/core/policy/policyBook.ts";
import { brokerWorld, type BrokerWorld } from "../support/brokerWorld.ts";
import { gitBackend } from "../support/gitBackend.ts";
import { policyOf } from "../support/judged.ts";

describe("policy: pushes of the real git client", function () {
  this.timeout(60_000);
  let world: BrokerWorld;
  let root: string;
  let work: string;

  const identity = { NAME: "A", EMAIL: "a@example.com" };
  const git = async (...args: string[]) =>
    await execa("git", ["-C", work, ...args], {
      reject: false,
      env: {
        ...world.env,
        HOME: root,
        GIT_CONFIG_NOSYSTEM: "1",
        GIT_TERMINAL_PROMPT: "0",
        ...Object.fromEntries(
          Object.entries(identity).flatMap(([name, value]) => [
            [`GIT_AUTHOR_${name}`, value],
            [`GIT_COMMITTER_${name}`, value],
          ]),
        ),
      },
    });
  const commit = async (name: string) => {
    await writeFile(path.join(work, name), name);
    await git("add", name);
    await git("commit", "-qm", name);
  };

  before(async () => {
    root = await mkdtemp(path.join(tmpdir(), "holdfast-policy-git-"));
    work = path.join(root, "work");
    await execa("git", ["init", "-q", "--bare", "-b", "main", path.join(root, "repo.git")]);
    await execa("git", ["init", "-q", "-b", "main", work]);
    const rules = [{ id: "own", when: { host: "git.test" }, verdict: "allow" as const }];
    const book = new PolicyBook({ user: policyOf({ version: 1, rules }), task: {} });
    world = await brokerWorld({ handler: gitBackend(root), judge: book.judge });
    await git("remote", "add", "origin", "https://git.test/repo.git");
    await commit("one");
  });
  after(async () => {
    await world[Symbol.asyncDispose]();
    await rm(root, { recursive: true });
  });

  /** Pushes; a hold is decided as told. Gives the verdict, its rule and whether the push came through. */
  async function push(decision: "approve" | "deny", ...args: string[]) {
    world.host.drafts.length = 0;
    world.host.holds.length = 0;
    let ended = false;
    const pushed = git("push", ...args).finally(() => {
      ended = true;
      void world.host.record({ kind: "alert", source: "holdfast", code: "test", message: "ended" });
    });
    await world.host.until(() => ended || world.host.holds.length > 0);
    const reversibility = world.host.holds[0]?.request.reversibility;
    world.host.holds[0]?.decide({ decision, scope: "call" });
    const { exitCode } = await pushed;
    const verdict = world.host.of("verdict").at(-1);
    return [verdict?.verdict, verdict?.rule, reversibility, exitCode === 0];
  }

  it("a rule opens new branches and fast-forwards", async () => {
    await git("checkout", "-qb", "fix");
    assert.deepEqual(await push("deny", "origin", "fix"), ["allow", "user:own", undefined, true]);
    await commit("two");
    assert.deepEqual(await push("deny", "origin", "fix"), ["allow", "user:own", undefined, true]);
  });

  it("no rule opens the default branch, a forced update, a deletion or a tag", async () => {
    const held = (floor: string, through: boolean) => [
      "hold",
      `floor.${floor}`,
      "irreversible",
      through,
    ];
    assert.deepEqual(await push("deny", "origin", "HEAD:main"), held("default-branch", false));
    await git("commit", "-q", "--amend", "-m", "another");
    assert.deepEqual(await push("deny", "-f", "origin", "fix"), held("force-push", false));
    assert.deepEqual(await push("deny", "origin", ":fix"), held("delete-branch", false));
    await git("tag", "v1");
    assert.deepEqual(await push("approve", "origin", "v1"), held("tag", true));
  });
});
