import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import path from "node:path";
import { PolicyBook } from "../../src/core/policy/policyBook.ts";
import { gitBackend } from "../support/gitBackend.ts";
import { insideWorld } from "../support/insideWorld.ts";
import { policyOf } from "../support/judged.ts";
import { temporaryFolders } from "../support/temporaryFolder.ts";

/** What a person is asked about one push, and how the remote stands before the answer. */
interface Asked {
  readonly rule: string;
  readonly summary: string;
  readonly reversibility: string;
  readonly before: string;
}

describe("broker: git push from the whole sandbox", function () {
  this.timeout(90_000);
  const folder = temporaryFolders();
  let root = "";

  beforeEach(() => {
    root = folder();
    execFileSync("git", ["init", "-q", "--bare", "-b", "main", path.join(root, "repo.git")]);
  });

  /** The branches of the remote, each with the message of its commit. */
  const branches = (): string =>
    execFileSync(
      "git",
      [
        ...["-C", path.join(root, "repo.git"), "-c", "safe.directory=*", "for-each-ref"],
        "--format=%(refname:short) %(contents:subject)",
      ],
      { encoding: "utf8" },
    );

  it("is held with its refs by the policy, and changes the remote once it is approved", async () => {
    const rules = [
      { id: "reads", when: { host: "git.test", method: "GET" }, verdict: "allow" as const },
    ];
    const book = new PolicyBook({ user: policyOf({ version: 1, rules }), task: {} });
    await using inside = await insideWorld({
      handler: gitBackend(root),
      judge: book.judge,
    });
    const { host } = inside.world;
    const pushes = [
      "git commit -q --allow-empty -m one && git push -q origin work",
      "git commit -q --allow-empty -m two && git push -q origin work",
      "git commit -q --allow-empty --amend -m three && git push -q -f origin work",
      "git push -q origin :work",
      "git push -q origin HEAD:main",
    ];
    const prepare = [
      "set -e",
      "export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@b",
      "git init -q -b work r",
      "cd r",
      "git remote add origin https://git.test/repo.git",
    ];
    const ran = inside.run([...prepare, ...pushes].join("\n"));
    const asked: Asked[] = [];
    for (const words of pushes) {
      await Promise.race([
        host.until(() => host.holds.length > asked.length),
        ran.then(({ stderr }) => assert.fail(`${words} was not held: ${stderr}`)),
      ]);
      const hold = host.holds[asked.length];
      assert.ok(hold !== undefined);
      const { rule, summary, reversibility } = hold.request;
      asked.push({ rule, summary, reversibility, before: branches() });
      // The last one is not wanted.
      const decision = asked.length < pushes.length ? "approve" : "deny";
      hold.decide({ decision, scope: "call", reason: "not the default branch" });
    }
    const { exitCode, stderr } = await ran;
    assert.equal(exitCode, 1);
    assert.match(stderr, /! \[remote rejected\] HEAD -> main \(.*not the default branch/);
    assert.equal(branches(), "");
    const push = (rule: string, reversibility: string, summary: string, before: string): Asked => ({
      rule,
      summary: `${summary} in repo`,
      reversibility,
      before,
    });
    const gone = "irreversible";
    const expected = [
      push("default.recoverable", "recoverable", "Pushes the new branch work", ""),
      push("default.recoverable", "recoverable", "Adds commits to the branch work", "work one\n"),
      push("floor.force-push", gone, "Force-pushes the branch work", "work two\n"),
      push("floor.delete-branch", gone, "Deletes the branch work", "work three\n"),
      push("floor.default-branch", gone, "Pushes to main", ""),
    ];
    assert.deepEqual(asked, expected);
    const opened = host.of("hold.opened");
    assert.deepEqual(
      opened.map(({ summary }) => summary),
      expected.map(({ summary }) => summary),
    );
    assert.equal(host.of("hold.spent").length, pushes.length - 1);
  });
});
