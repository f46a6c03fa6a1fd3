import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { appendFileSync, mkdirSync, readdirSync, statSync } from "node:fs";
import path from "node:path";
import { makeSpare } from "../../src/node/fork/spare.ts";
import { ForkFixture, git } from "../support/forkFixture.ts";
import { LoopFilesystem } from "../support/loopFilesystem.ts";
import { temporaryFolders } from "../support/temporaryFolder.ts";

const places = [
  { name: "xfs", filesystem: "xfs", backend: "clone" },
  { name: "btrfs, in a plain folder", filesystem: "btrfs", backend: "clone" },
  { name: "btrfs, in a subvolume", filesystem: "btrfs", backend: "snapshot" },
] as const;

/** As of a large clone, so that a spare pays. */
const last = { backend: "clone", files: 100_000, bytes: 1 } as const;

describe("fork: the best backend turns out not to be there", () => {
  if (!LoopFilesystem.possible("btrfs")) return;

  it("what the next one needs is left to it: the ignore rules, and a spare", async () => {
    using loop = new LoopFilesystem("btrfs");
    const fixture = new ForkFixture(loop.point); // a plain folder: subvolumes could be made, but it is none
    const { nativePath, workspace } = fixture;
    fixture.write(".gitignore", "out\n");
    fixture.write("a.txt", "a\n");
    git(workspace, "init", "-q");
    for (let round = 0; round < 5; round++) {
      const signal = new AbortController().signal;
      await makeSpare({ nativePath, workspace, paths: fixture.paths(), last, signal });
      const { fork, paths } = await fixture.fork();
      assert.deepEqual([fork.backend, fork.spare], ["clone", true]);
      mkdirSync(path.join(fork.shadow, "out"));
      appendFileSync(path.join(fork.shadow, "out/made"), "x");
      appendFileSync(path.join(fork.shadow, "a.txt"), "x");
      const changes = await fixture.port.changes(fork, workspace, paths);
      assert.deepEqual(
        changes.map((one) => [one.path, one.ignored]),
        [
          ["a.txt", false],
          ["out/made", true],
        ],
      );
    }
  });
});

describe("fork: the state is on another filesystem than the workspace", () => {
  const folder = temporaryFolders();

  for (const { name, filesystem, backend } of places.filter((one) =>
    LoopFilesystem.possible(one.filesystem),
  ))
    it(`${name}: the best backend is taken, beside the workspace, and leaves nothing`, async () => {
      using loop = new LoopFilesystem(filesystem);
      const fixture = new ForkFixture(loop.point, "plain", path.join(folder(), "home"));
      if (backend === "snapshot") {
        execFileSync("rmdir", [fixture.workspace]);
        execFileSync(fixture.nativePath, ["subvolume", "create", fixture.workspace]);
      }
      fixture.write("a.txt", "a\n");
      fixture.write("big", "x".repeat(1 << 18));
      for (let round = 0; round < 2; round++) {
        const forked = await fixture.fork();
        assert.equal(forked.fork.backend, backend);
        const own = path.join(loop.point, `.holdfast-${process.getuid?.() ?? 0}`);
        assert.ok(forked.fork.shadow.startsWith(`${own}/`), forked.fork.shadow);
        assert.equal(statSync(own).mode & 0o777, 0o700);
        assert.deepEqual(await forked.changeLines(), []);
        appendFileSync(forked.at("a.txt"), "b\n");
        assert.deepEqual(await forked.changeLines(), ["modified a.txt"]);
        await forked.remove();
        assert.deepEqual(readdirSync(loop.point), [path.basename(fixture.root)]);
      }
    });
});
