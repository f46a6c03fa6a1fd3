import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import fc from "fast-check";
import { savepoints } from "../../src/node/fork/savepoints.ts";
import type { Savepoint } from "../../src/runtime/ports.ts";
import { ForkFixture, git, type ForkedFixture } from "../support/forkFixture.ts";
import { actOn, someEdit, someTree, type Seen } from "../support/treeOracle.ts";

class Points {
  readonly #fixture: ForkFixture;
  readonly #forked: ForkedFixture;
  readonly #port: ReturnType<typeof savepoints>;

  constructor(fixture: ForkFixture, forked: ForkedFixture) {
    this.#fixture = fixture;
    this.#forked = forked;
    this.#port = savepoints({ nativePath: fixture.nativePath });
  }

  take(name?: string): Promise<Savepoint | undefined> {
    const { fork, paths } = this.#forked;
    return this.#port.take(fork, this.#fixture.workspace, paths, {
      at: "2026-01-01T00:00:00.000Z",
      name,
    });
  }

  restore(to: string): Promise<Savepoint> {
    const { fork, paths } = this.#forked;
    const options = { at: "2026-01-02T00:00:00.000Z", to };
    return this.#port.restore(fork, this.#fixture.workspace, paths, options);
  }

  list(): readonly string[] {
    return this.#port
      .list(this.#forked.paths)
      .map((one) => `${one.savepoint} ${one.files} ${one.name ?? "-"}`);
  }
}

describe("fork: savepoints", () => {
  it("take what changed, go back, and can be taken back themselves", async () => {
    using fixture = new ForkFixture();
    const at = (name: string): string => path.join(fixture.workspace, name);
    git(fixture.workspace, "init", "-q");
    fixture.write(".gitignore", "out/\n");
    fixture.write("a.txt", "one\n");
    fixture.write("gone.txt", "here\n");
    fixture.write("out/big", "ignored\n");
    fixture.write("untracked", "mine\n");
    git(fixture.workspace, "add", "a.txt", "gone.txt", ".gitignore");
    git(fixture.workspace, "commit", "-qm", "one");
    const forked = await fixture.fork("clone");
    const points = new Points(fixture, forked);
    const untouched = statSync(forked.at("out/big"), { bigint: true });
    const head = git(forked.fork.shadow, "rev-parse", "HEAD");

    assert.equal(await points.take(), undefined);
    writeFileSync(forked.at("a.txt"), "two\n");
    assert.equal((await points.take())?.savepoint, "s1");
    assert.equal(await points.take(), undefined);
    execFileSync("rm", ["-rf", forked.at("gone.txt"), forked.at("untracked")]);
    fixture.write("a.txt", "the person's own edit\n");
    execFileSync("mkdir", ["-p", forked.at("new/deep")]);
    writeFileSync(forked.at("new/deep/file"), "n");
    git(forked.fork.shadow, "commit", "-qam", "agent");
    assert.equal((await points.take("named"))?.savepoint, "s2");
    const later = actOn(forked.fork.shadow, []);

    const before = await points.restore("s1");
    assert.equal(before.savepoint, "s3");
    assert.equal(readFileSync(forked.at("a.txt"), "utf8"), "two\n");
    assert.deepEqual(await forked.changeLines(), ["modified a.txt"]);
    assert.equal(git(forked.fork.shadow, "rev-parse", "HEAD"), head);
    assert.equal(git(forked.fork.shadow, "status", "--porcelain"), " M a.txt\n?? untracked\n");
    const after = statSync(forked.at("out/big"), { bigint: true });
    assert.deepEqual([after.ino, after.ctimeNs], [untouched.ino, untouched.ctimeNs]);
    assert.equal(readFileSync(at("a.txt"), "utf8"), "the person's own edit\n");

    await points.restore(before.savepoint);
    assert.deepEqual(actOn(forked.fork.shadow, []), later);
    assert.deepEqual(points.list(), [
      "s1 1 -",
      "s2 3 named",
      "s3 0 before going back to s1",
      "s4 3 before going back to s3",
    ]);
    await assert.rejects(points.restore("s9"), /there is no savepoint s9/);
  });

  it("any state of any tree comes back exactly", async () => {
    using fixture = new ForkFixture();
    const edits = fc.array(someEdit, { maxLength: 12 });
    const property = fc.asyncProperty(someTree, edits, edits, async (tree, first, second) => {
      execFileSync(fixture.nativePath, ["remove", fixture.workspace]);
      execFileSync("mkdir", [fixture.workspace]);
      actOn(fixture.workspace, tree);
      const forked = await fixture.fork("clone");
      const points = new Points(fixture, forked);
      const states: Seen[] = [];
      for (const some of [[], first, second]) {
        states.push(actOn(forked.fork.shadow, some));
        await points.take("point");
      }
      for (const index of [0, 2, 1]) {
        await points.restore(`s${index + 1}`);
        assert.deepEqual(actOn(forked.fork.shadow, []), states[index]);
      }
    });
    await fc.assert(property, { numRuns: 4 });
  });
});
