import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { ForkFixture, git } from "../support/forkFixture.ts";

describe("fork: repositories of every shape", () => {
  it("LFS: pointers stay pointers, their objects come along, and no filter runs on the host", async () => {
    using fixture = new ForkFixture();
    const { workspace } = fixture;
    const ran = path.join(fixture.root, "ran");
    const oid = "4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393";
    const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${oid}\nsize 5\n`;
    const object = `.git/lfs/objects/4d/7a/${oid}`;
    git(workspace, "init", "-q");
    fixture.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n");
    fixture.write("large.bin", pointer);
    git(workspace, "add", ".");
    git(workspace, "commit", "-qm", "one");
    fixture.write(object, "12345");
    for (const way of ["clean", "smudge"])
      git(workspace, "config", `filter.lfs.${way}`, `touch '${ran}'; cat`);
    const forked = await fixture.fork();
    assert.equal(readFileSync(forked.at("large.bin"), "utf8"), pointer);
    assert.equal(readFileSync(forked.at(object), "utf8"), "12345");
    writeFileSync(forked.at("large.bin"), `${pointer.slice(0, -2)}6\n`);
    assert.deepEqual(await forked.changeLines(), ["modified large.bin"]);
    assert.equal(existsSync(ran), false);
  });

  it("a sparse checkout stays sparse, and widening it in the shadow leaves the host's alone", async () => {
    using fixture = new ForkFixture();
    const { workspace } = fixture;
    git(workspace, "init", "-q");
    for (const name of ["in/a", "out/b"]) fixture.write(name, name);
    git(workspace, "add", ".");
    git(workspace, "commit", "-qm", "one");
    git(workspace, "sparse-checkout", "set", "in");
    assert.equal(existsSync(path.join(workspace, "out")), false);
    const forked = await fixture.fork();
    assert.equal(git(forked.fork.shadow, "status", "--porcelain"), "");
    assert.deepEqual(await forked.changeLines(), []);
    git(forked.fork.shadow, "sparse-checkout", "disable");
    assert.deepEqual(await forked.changeLines(), ["added out/b"]);
    assert.equal(existsSync(path.join(workspace, "out")), false);
    assert.match(git(workspace, "sparse-checkout", "list"), /^in$/m);
  });

  if (process.getuid?.() === 0) {
    it("a filesystem mounted inside is cloned with the rest; an overlay over it is refused", async () => {
      using fixture = new ForkFixture();
      const inside = path.join(fixture.workspace, "data/mounted");
      mkdirSync(inside, { recursive: true });
      execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m,mode=0755", "tmpfs", inside]);
      try {
        fixture.write("data/mounted/file", "on another filesystem");
        fixture.write("data/beside", "here");
        const forked = await fixture.fork();
        const file = forked.at("data/mounted/file");
        assert.equal(readFileSync(file, "utf8"), "on another filesystem");
        writeFileSync(file, "edited");
        assert.deepEqual(await forked.changeLines(), ["modified data/mounted/file"]);
        for (const backend of ["overlay", "snapshot"] as const)
          await assert.rejects(fixture.fork(backend), /mounted is mounted inside the workspace/);
        await forked.remove();
      } finally {
        execFileSync("umount", [inside]);
      }
    });
  }

  for (const backend of ["clone", "overlay"] as const) {
    it(`${backend}: folders that the agent shut are looked into all the same`, async () => {
      using fixture = new ForkFixture();
      fixture.write("kept/a", "a");
      fixture.write("kept/deep/b", "b");
      const forked = await fixture.fork(backend);
      const top = forked.fork.overlays[0]?.upper ?? forked.fork.shadow;
      const put = (name: string, mode: number): void => {
        mkdirSync(path.join(top, name), { recursive: true });
        writeFileSync(path.join(top, name, "new"), "n");
        chmodSync(path.join(top, name), mode);
      };
      put("readable", 0o444); // its names can be read, and nothing can be asked of them
      put("closed", 0o000);
      put("kept/deep", 0o444);
      const lines = await forked.changeLines();
      assert.deepEqual(
        lines.filter((line) => !line.startsWith("mode ")),
        ["added closed/new", "added kept/deep/new", "added readable/new"],
      );
    });
  }
});
