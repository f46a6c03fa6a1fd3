import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import fc from "fast-check";
import { ForkFixture, git } from "../support/forkFixture.ts";
import { HeldOverlays } from "../support/heldOverlays.ts";
import { Points } from "../support/savePoints.ts";
import { actOn, randomRuns, type Seen, someEdit, someTree } from "../support/treeOracle.ts";

describe("fork: savepoints", () => {
  it("keep what was installed, however deep, and what a process has died over", async () => {
    using fixture = new ForkFixture();
    fixture.write("a.txt", "one\n");
    const forked = await fixture.fork("clone");
    const points = new Points(fixture, forked);
    const deep = `n/${"d/".repeat(30)}`;
    const files = ["n/a/1", "n/a/2", "n/b/1", "o/a/1", `${deep}1`, `${deep}e/2`, `${deep}3`].map(
      (one) => [one, `${one}\n`] as const,
    );
    for (const [one, text] of files) {
      mkdirSync(path.dirname(forked.at(one)), { recursive: true });
      writeFileSync(forked.at(one), text);
    }
    const blobs = path.join(forked.paths.state, "savepoints/blobs");
    mkdirSync(blobs, { recursive: true });
    const hash = createHash("sha256").update("n/a/2\n").digest("hex");
    writeFileSync(path.join(blobs, hash), "n/a");
    const saved = await points.take();
    assert.equal(saved?.files, files.length);
    execFileSync("rm", ["-r", forked.at("n"), forked.at("o")]);
    await points.restore("s1");
    for (const [one, text] of files) assert.equal(readFileSync(forked.at(one), "utf8"), text);
  });

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
    await fc.assert(property, { numRuns: randomRuns(4) });
  });

  it("any state of an overlay comes back exactly, under a mount that lives and without one", async () => {
    using fixture = new ForkFixture();
    const edits = fc.array(someEdit, { maxLength: 12 });
    const property = fc.asyncProperty(someTree, edits, edits, async (tree, first, second) => {
      execFileSync(fixture.nativePath, ["remove", fixture.workspace]);
      execFileSync("mkdir", [fixture.workspace]);
      const base = actOn(fixture.workspace, tree);
      const forked = await fixture.fork("overlay");
      const points = new Points(fixture, forked);
      await using held = await HeldOverlays.mount(fixture.nativePath, forked.fork);
      const states: Seen[] = [];
      const lines: (readonly string[])[] = [];
      for (const some of [[], first, second]) {
        states.push(actOn(held.root, some));
        await points.take("point");
        lines.push(await forked.changeLines());
      }
      for (const index of [0, 2, 1]) {
        await points.restore(`s${index + 1}`, held.hostView);
        assert.deepEqual(actOn(held.root, []), states[index]);
        assert.deepEqual(await forked.changeLines(), lines[index]);
      }
      await held[Symbol.asyncDispose]();
      const { shadow, overlays } = forked.fork;
      for (const index of [1, 0, 2]) {
        await points.restore(`s${index + 1}`);
        assert.deepEqual(actOn(shadow, [], overlays), states[index]);
      }
      assert.deepEqual(actOn(fixture.workspace, []), base);
    });
    await fc.assert(property, { numRuns: randomRuns(3) });
  });

  it("bring back what lies in overlaid directories, while the agent has them mounted", async () => {
    using fixture = new ForkFixture();
    const token = "npm_0123456789abcdefghijklmnopqrstuvwxyz";
    git(fixture.workspace, "init", "-q");
    fixture.write(".gitignore", "node_modules/\n");
    fixture.write("a.txt", "one\n");
    for (let i = 0; i < 420; i++) fixture.write(`node_modules/p${i % 20}/f${i}.js`, `${i}\n`);
    fixture.write("node_modules/.npmrc", `//registry.example.com/:_authToken=${token}\n`, 0o600);
    execFileSync("chmod", ["700", path.join(fixture.workspace, "node_modules/p3")]);
    const forked = await fixture.fork("clone");
    const { shadow, overlays } = forked.fork;
    assert.deepEqual(
      overlays.map(({ at }) => at),
      ["node_modules"],
    );
    const points = new Points(fixture, forked);
    await using held = await HeldOverlays.mount(fixture.nativePath, forked.fork);
    const look = (): Seen => actOn(held.root, []);
    const inside = (script: string): void =>
      void execFileSync("sh", ["-ec", script], { cwd: held.root });

    assert.equal(await points.take(), undefined); // the hidden token is no change of the agent's
    const base = look();
    inside(`
      echo edited > node_modules/p0/f0.js
      echo added > node_modules/p1/new.js
      rm node_modules/p2/f2.js
      rm -r node_modules/p3
      rm -r node_modules/p4; mkdir -m 750 node_modules/p4; echo alone > node_modules/p4/only.js
      chmod 600 node_modules/p5/f5.js
      ln -s p0/f0.js node_modules/link
      echo two > a.txt`);
    assert.equal((await points.take())?.files, 49);
    const first = look();
    inside(
      "rm -r node_modules/* node_modules/.npmrc; mkdir node_modules/p3; echo x > node_modules/p3/f3.js",
    );
    await points.take();
    const second = look();
    const open = openSync(path.join(held.root, "node_modules/p3/f3.js"), "r");

    await points.restore("s1", held.hostView);
    assert.deepEqual(look(), first);
    assert.doesNotMatch(readFileSync(path.join(held.root, "node_modules/.npmrc"), "utf8"), /npm_/);
    assert.equal(readFileSync(open, "utf8"), "x\n"); // who has a file open keeps it
    closeSync(open);
    await points.restore("s2", held.hostView);
    assert.deepEqual(look(), second);
    inside("echo again > node_modules/p3/later.js"); // the mount goes on as it was
    await held[Symbol.asyncDispose]();

    await points.restore("s1");
    assert.deepEqual(actOn(shadow, [], overlays), first);
    await points.take("named");
    assert.equal((await points.take("again"))?.files, 0);
    const blobs = path.join(forked.paths.state, "savepoints/blobs");
    for (const blob of readdirSync(blobs))
      assert.equal(readFileSync(path.join(blobs, blob)).includes(token), false);
    assert.equal(base.size, actOn(fixture.workspace, []).size);
  });

  it("a view that has no overlay is refused: nothing is written under a mount", async () => {
    using fixture = new ForkFixture();
    fixture.write("a.txt", "one\n");
    const forked = await fixture.fork("overlay");
    const points = new Points(fixture, forked);
    await points.take("before");
    const upper = forked.fork.overlays[0]?.upper ?? "";
    writeFileSync(path.join(upper, "new"), "new");
    await assert.rejects(points.restore("s1", "/proc/self/root"), {
      code: "shadow-not-mounted",
      message: /cannot be reached: no overlay is mounted/,
    });
    assert.deepEqual(await forked.changeLines(), ["added new"]);
    assert.deepEqual(readdirSync(forked.fork.shadow), []);
  });
});
