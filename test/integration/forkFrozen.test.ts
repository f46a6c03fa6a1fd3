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
import { runNative } from "../../src/node/fork/runNative.ts";
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
      await assert.rejects(placed.fixture.fork("snapshot"), {
        code: "backend-unavailable",
        message: /is a plain folder of btrfs and not a subvolume/,
        fix: /--backend auto.*`btrfs subvolume create`/,
      });
      assert.deepEqual(readdirSync(path.join(placed.fixture.home, "transactions/t1")).sort(), [
        "door",
        "state",
      ]);
    });
  });

/** Steps of an agent in a snapshot; each is looked at alone. */
const steps: readonly (readonly [what: string, script: string])[] = [
  ["nothing", "sync"],
  ["an edit, a new file and a deletion", "echo two > d1/f1; echo new > d2/new; rm d3/f3"],
  ["the same size and an old time", "printf 'x4 4\\n' > d4/f4; touch -d 2001-01-01 d4/f4"],
  ["bytes written over, and nothing else", "printf Z | dd of=d15/f15 conv=notrunc"],
  ["bytes added, and nothing else", "echo more >> d16/f16"],
  ["many writes of many kinds", "for i in $(seq 20 39); do $write d$i/f$i $((i % 4)); done"],
  ["modes of a file and of a folder", "chmod 600 d5/f5; chmod 700 d6"],
  ["a hard link, written by its other name", "ln d7/f7 d1/other; echo more >> d1/other"],
  ["a folder moved, another in its place", "mv d8 moved; mkdir d8; echo in > d8/f9; mv d9 d8/d9"],
  ["an edit in a folder that was moved", "echo late >> moved/f8; echo late >> d8/d9/f9"],
  [
    "a folder that became a file, a file that became a link",
    "rm -r d10; echo > d10; ln -sf / d11/f11",
  ],
  ["a subvolume of its own", "$native subvolume create sub; echo a > sub/a"],
  ["an edit in that subvolume", "echo b > sub/a; echo c > sub/c"],
  [
    "a subvolume in the place of a folder",
    "rm -r d12; $native subvolume create d12; echo f > d12/f12",
  ],
  ["a store to a mapped page", "$map d13/f13"],
  ["a folder shut", "echo x >> d14/f14; chmod 000 d14"],
];

/** Over the first byte, over it by a mapped page, at the end, and a hole behind it. */
const writeSomehow =
  "import mmap,os,sys;f=open(sys.argv[1],'r+b');k=sys.argv[2];k=='0' and f.write(b'Q');k=='1' and mmap.mmap(f.fileno(),0).__setitem__(0,81);k=='2' and (f.seek(0,2),f.write(b'Q'));k=='3' and f.truncate(99)";

const writeThroughMap =
  "import mmap,sys;f=open(sys.argv[1],'r+b');m=mmap.mmap(f.fileno(),0);m[0:1]=b'Z';m.close()";

describe("fork: what has changed in a snapshot", () => {
  for (const place of forkPlaces.filter(({ backend }) => backend === "snapshot")) {
    it(`${place.name}: is found without a look at the rest, and all of it`, async () => {
      using placed = new PlacedFixture(place);
      const { fixture } = placed;
      for (let i = 0; i < 400; i++) fixture.write(`d${i % 40}/f${i}`, `${i} ${i}\n`);
      const { fork } = await fixture.fork("snapshot");
      const scan = async (...more: string[]): Promise<{ records: string[]; seen: number }> => {
        const places = ["--manifest", fork.manifest, "--shadow", fork.shadow];
        const args = [...places, "--host", fork.baseTree ?? "", ...more];
        const { report, output } = await runNative(fixture.nativePath, "scan", args);
        return { records: output.toString().split("\0").sort(), seen: Number(report["seen"]) };
      };
      const env = { PATH: process.env["PATH"], native: fixture.nativePath };
      const seen: number[] = [];
      for (const [what, script] of steps) {
        const own = script
          .replace("$map", `python3 -c "${writeThroughMap}"`)
          .replace("$write", `python3 -c "${writeSomehow}"`);
        execFileSync("sh", ["-c", own], { cwd: fork.shadow, env, stdio: "ignore" });
        const changed = await scan("--snapshot");
        const all = await scan();
        assert.deepEqual(changed.records, all.records, what);
        seen.push(changed.seen);
      }
      assert.ok((await scan("--snapshot")).records.length > 15);
      assert.ok(Math.min(...seen) < 200, seen.join(" ")); // not each: where much waits to be written, all is looked at
    });
  }
});
