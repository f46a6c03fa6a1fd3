import assert from "node:assert/strict";
import { spawn, execFileSync } from "node:child_process";
import {
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { setTimeout } from "node:timers/promises";
import { Manifest } from "../../src/node/fork/manifest.ts";
import type { ForkedFixture } from "../support/forkFixture.ts";
import { forkPlaces, PlacedFixture } from "../support/forkPlaces.ts";

const token = (letter: string): string => `ghp_${letter.repeat(36)}`;
const secret = (letter: string): string => `const value = "${token(letter)}";\n`;
const harmless = `const value = "abcd${"z".repeat(36)}";\n`;

const types = { f: "file", l: "symlink", d: "directory" } as const;

/** What stands in a tree: path, type, inode and, of a file or a link, size and ctime. */
function walk(root: string, below = ""): string[] {
  return readdirSync(path.join(root, below)).flatMap((name) => {
    const relative = path.join(below, name);
    const stat = lstatSync(path.join(root, relative), { bigint: true });
    const type = stat.isDirectory() ? "d" : stat.isSymbolicLink() ? "l" : "f";
    if (type === "d") return [`${relative} directory`, ...walk(root, relative)];
    return [`${relative} ${types[type]} ${stat.ino} ${stat.ctimeNs} ${stat.size}`];
  });
}

function listed(manifest: string): string[] {
  return [...Manifest.open(manifest).entries()].map(({ path: at, entry }) =>
    entry.type === "directory"
      ? `${at} directory`
      : `${at} ${entry.type} ${entry.host.ino} ${entry.host.ctime} ${entry.size}`,
  );
}

/** The manifest is the base's, and no token is left for the agent. */
function checkFork({ fork }: ForkedFixture): void {
  assert.ok(fork.baseTree !== undefined);
  assert.deepEqual(listed(fork.manifest).sort(), walk(fork.baseTree).sort());
  const inShadow = execFileSync("sh", ["-c", `grep -rl ghp_ . || true`], { cwd: fork.shadow });
  assert.equal(inShadow.toString(), "");
}

/** Until what was written last has an older time than a fork trusts. */
async function atRest(file: string): Promise<void> {
  while (Date.now() < statSync(file).ctimeMs + 1100) await setTimeout(50);
}

const [place] = forkPlaces.filter(({ backend }) => backend === "snapshot");

if (place !== undefined)
  describe("fork: a snapshot is listed by way of the live workspace", function () {
    this.timeout(120_000);
    it("sees whatever was changed before it, and a nested subvolume as a snapshot has it", async () => {
      using placed = new PlacedFixture(place);
      const { fixture } = placed;
      const at = (file: string): string => path.join(fixture.workspace, file);
      for (const name of ["edited", "replaced", "linked", "still"])
        fixture.write(`src/${name}.js`, harmless);
      fixture.write("a/b/c/deep.js", harmless);
      fixture.write("other/b/c/deep.js", secret("a"));
      fixture.write("src/secret.js", secret("b"));
      symlinkSync("still.js", at("src/link"));
      linkSync(at("src/linked.js"), at("elsewhere.js"));
      mkdirSync(at("empty"));
      execFileSync(fixture.nativePath, ["subvolume", "create", at("nested")], { stdio: "ignore" });
      fixture.write("nested/inside.js", secret("c"));
      fixture.write("last", "");
      await atRest(at("last"));
      const first = await fixture.fork("snapshot");
      checkFork(first);
      assert.deepEqual(await first.changeLines(), []);
      await first.remove();

      const { atime, mtime } = statSync(at("src/edited.js"));
      writeFileSync(at("src/edited.js"), secret("d")); // same inode and size
      utimesSync(at("src/edited.js"), atime, mtime);
      writeFileSync(at("new"), secret("e"));
      renameSync(at("new"), at("src/replaced.js"));
      writeFileSync(at("elsewhere.js"), secret("f"));
      renameSync(at("a"), at("was-a"));
      renameSync(at("other"), at("a")); // below it nothing has a new time
      const second = await fixture.fork("snapshot");
      checkFork(second);
      assert.deepEqual(await second.changeLines(), []);
      assert.match(readFileSync(second.at("src/edited.js"), "utf8"), /HOLDFAST_SECRET_/);
      assert.equal(readFileSync(second.at("src/still.js"), "utf8"), harmless);
      assert.equal(readlinkSync(second.at("src/link")), "still.js");
      assert.deepEqual(readdirSync(second.at("nested")), []);
      writeFileSync(second.at("src/still.js"), "edited by the agent\n");
      assert.deepEqual(await second.changeLines(), ["modified src/still.js"]);
      await second.remove();
    });

    it("is the snapshot's own list while somebody writes in the workspace", async () => {
      using placed = new PlacedFixture(place);
      const { fixture } = placed;
      for (let i = 0; i < 600; i++) {
        const [some, others] = i === 0 ? [secret("a"), secret("b")] : [harmless, harmless];
        fixture.write(`d${i % 6}/e/f${i}.js`, some);
        fixture.write(`spare/d${i % 6}/e/f${i}.js`, others);
      }
      fixture.write("last", "");
      await atRest(path.join(fixture.workspace, "last"));
      const writes = `
        const { existsSync, renameSync, writeFileSync } = require("node:fs");
        for (let i = 0; !existsSync("../enough"); i++) {
          const [d, f] = ["d" + (i % 6), "/e/f" + (i % 12) + ".js"];
          writeFileSync(d + f, ${JSON.stringify(secret("c"))});
          if (i % 8 !== 0) continue;
          Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
          renameSync(d, "held");
          renameSync("spare/" + d, d);
          renameSync("held", "spare/" + d);
        }`;
      const writer = spawn(process.execPath, ["-e", writes], {
        cwd: fixture.workspace,
        stdio: "ignore",
      });
      const ended = new Promise((resolve) => writer.on("close", resolve));
      try {
        for (let round = 0; round < 6; round++) {
          const forked = await fixture.fork("snapshot");
          checkFork(forked);
          assert.deepEqual(await forked.changeLines(), []);
          await forked.remove();
        }
      } finally {
        writeFileSync(path.join(fixture.root, "enough"), "");
        await ended;
      }
      assert.ok(existsSync(path.join(fixture.workspace, "d0/e")));
    });

    it("tells that it cannot be made, and leaves nothing, where the workspace is no subvolume", async () => {
      using placed = new PlacedFixture({ name: place.name, backend: "clone", filesystem: "btrfs" });
      placed.fixture.write("a.txt", "a\n");
      await assert.rejects(placed.fixture.fork("snapshot"), /backend snapshot cannot be used/);
      assert.deepEqual(readdirSync(path.join(placed.fixture.home, "transactions/t1")).sort(), [
        "door",
        "state",
      ]);
    });
  });
