import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { Failure } from "../../src/base/errors.ts";
import { ForkFixture, git } from "../support/forkFixture.ts";

/** Every path with type, mode, size, mtime, target and number of links; FIFOs and sockets left out. */
function look(directory: string): string[] {
  const format = "%P\\t%y\\t%m\\t%s\\t%T@\\t%l\\t%n\\0";
  const args = [
    directory,
    "-mindepth",
    "1",
    "!",
    "-type",
    "p",
    "!",
    "-type",
    "s",
    "-printf",
    format,
  ];
  const found = spawnSync("find", args, { encoding: "latin1" }).stdout; // it fails at folders that are shut
  // The size of a directory is the filesystem's own affair.
  return found
    .split("\0")
    .map((line) => line.replace(/^(.*\td\t\d+\t)\d+/, "$1"))
    .sort();
}

function makeOddTree(fixture: ForkFixture): void {
  const at = (name: string): string => path.join(fixture.workspace, name);
  fixture.write("bin/run", "#!/bin/sh\n", 0o755);
  fixture.write("read-only/deep/file", "r", 0o444);
  fixture.write("new\nline");
  fixture.write("-dash");
  fixture.write("caf\u00e9", "nfc");
  fixture.write("cafe\u0301", "nfd");
  fixture.write("n".repeat(255));
  writeFileSync(Buffer.concat([Buffer.from(`${fixture.workspace}/bad`), Buffer.from([0xff])]), "b");
  fixture.write("linked", "hard");
  linkSync(at("linked"), at("bin/linked-too"));
  symlinkSync("../../outside", at("dangling"));
  fixture.write("sparse", "start");
  truncateSync(at("sparse"), 64 << 20);
  fixture.write("large", Buffer.alloc(9 << 20, 7));
  fixture.write(".env", "DEBUG=true\n");
  mkdirSync(at("empty"));
  execFileSync("sh", ["-c", 'mkfifo "$1"', "sh", at("fifo")]);
  utimesSync(at("bin/run"), 1_000_000_000, 1_000_000_000.5);
  chmodSync(at("read-only/deep"), 0o555);
  chmodSync(at("read-only"), 0o555);
  let deep = fixture.workspace;
  for (let i = 0; i < 60; i++) deep = path.join(deep, `directory-${i}`);
  mkdirSync(deep, { recursive: true });
}

describe("fork: faithful", () => {
  for (const backend of ["clone", "copy"] as const) {
    it(`${backend} keeps everything`, async () => {
      using fixture = new ForkFixture();
      makeOddTree(fixture);
      const forked = await fixture.fork(backend);
      assert.deepEqual(look(forked.fork.shadow), look(fixture.workspace));
      const blocks = execFileSync("stat", ["-c", "%b", forked.at("sparse")], { encoding: "utf8" });
      assert.equal(Number(blocks) < 1000, true);
      assert.match(forked.fork.notes.join("\n"), /1 FIFOs, sockets or devices left out/);
      assert.deepEqual(await forked.changeLines(), []);
      await forked.remove();
      assert.equal(existsSync(forked.fork.shadow), false);
    });
  }

  it("an ordinary user forks too, and is told what he cannot read", () => {
    using fixture = new ForkFixture();
    makeOddTree(fixture);
    fixture.write("secret", "s", 0o000);
    fixture.write("closed/x", "x");
    chmodSync(path.join(fixture.workspace, "closed"), 0o000);
    const own = path.join(fixture.root, "own");
    mkdirSync(own);
    const nobody = ["--reuid=65534", "--regid=65534", "--clear-groups"];
    const user = process.getuid?.() === 0 ? ["setpriv", ...nobody] : ["env"];
    if (process.getuid?.() === 0) {
      execFileSync("chmod", ["755", fixture.root]);
      execFileSync("chown", ["65534", own]);
    }
    const [program = "", ...args] = [
      ...user,
      ...[fixture.nativePath, "clone", "--report-fd", "1", "--from", fixture.workspace],
      ...["--to", path.join(own, "shadow"), "--manifest", path.join(own, "manifest")],
    ];
    const report = JSON.parse(execFileSync(program, args, { encoding: "utf8" })) as {
      unreadable: number;
      left_out: { path: string }[];
    };
    assert.deepEqual(report.left_out.map((one) => one.path).sort(), ["closed", "secret"]);
    const unreadable = /^(secret|closed)/;
    const readable = (lines: string[]): string[] => lines.filter((one) => !unreadable.test(one));
    assert.deepEqual(readable(look(path.join(own, "shadow"))), readable(look(fixture.workspace)));
  });
});

describe("fork: repositories", () => {
  it("a commit in the fork of a worktree moves no branch of the host", async () => {
    using fixture = new ForkFixture();
    const main = path.join(fixture.root, "main");
    mkdirSync(main);
    git(main, "init", "-q");
    writeFileSync(path.join(main, "a"), "1");
    git(main, "add", "a");
    git(main, "commit", "-qm", "one");
    execFileSync("rmdir", [fixture.workspace]);
    git(main, "worktree", "add", "-q", "-b", "topic", fixture.workspace);
    const before = git(main, "for-each-ref");
    const index = readFileSync(path.join(main, ".git/worktrees/work/index"));
    const forked = await fixture.fork();
    writeFileSync(forked.at("a"), "2");
    git(forked.fork.shadow, "commit", "-qam", "two");
    assert.equal(git(forked.fork.shadow, "log", "--format=%s", "topic"), "two\none\n");
    assert.equal(git(main, "for-each-ref"), before);
    assert.deepEqual(readFileSync(path.join(main, ".git/worktrees/work/index")), index);
    assert.deepEqual(await forked.changeLines(), ["modified a"]);
  });

  it("borrowed objects, submodules and nested repositories work on their own", async () => {
    using fixture = new ForkFixture();
    const lender = path.join(fixture.root, "lender");
    mkdirSync(lender);
    git(lender, "init", "-q");
    writeFileSync(path.join(lender, "a"), "1");
    git(lender, "add", "a");
    git(lender, "commit", "-qm", "one");
    execFileSync("rmdir", [fixture.workspace]);
    git(fixture.root, "clone", "-q", "--shared", lender, fixture.workspace);
    git(fixture.workspace, "submodule", "--quiet", "add", lender, "sub");
    mkdirSync(path.join(fixture.workspace, "nested"));
    git(path.join(fixture.workspace, "nested"), "init", "-q");
    chmodSync(path.join(fixture.workspace, ".git"), 0o750);
    const over = await fixture.fork("overlay").catch((error: unknown) => {
      if (error instanceof Failure && error.code === "backend-unavailable") return undefined;
      throw error;
    });
    if (over !== undefined) {
      const upper = over.fork.overlays[0]?.upper ?? "";
      const alternates = path.join(upper, ".git/objects/info/alternates");
      assert.equal(readFileSync(alternates, "utf8"), "../alternate-0\n");
      assert.notDeepEqual(readdirSync(path.join(upper, ".git/alternate-0")), []);
      assert.equal(statSync(path.join(upper, ".git")).mode & 0o7777, 0o750);
      assert.deepEqual(await over.changeLines(), []);
    }
    const forked = await fixture.fork();
    execFileSync("mv", [lender, `${lender}-hidden`]);
    git(forked.fork.shadow, "fsck", "--full");
    const inSub = forked.at("sub");
    writeFileSync(path.join(inSub, "a"), "2");
    git(inSub, "commit", "-qam", "in the submodule");
    assert.equal(git(path.join(fixture.workspace, "sub"), "log", "--format=%s"), "one\n");
    git(forked.at("nested"), "status");
    assert.deepEqual(await forked.changeLines(), ["modified sub/a"]);
  });
});

describe("fork: bad input and faults", () => {
  interface Refusal {
    readonly name: string;
    readonly workspace: (fixture: ForkFixture) => string;
    readonly code: string;
  }
  const refusals: readonly Refusal[] = [
    {
      name: "nothing there",
      workspace: (f) => path.join(f.root, "none"),
      code: "workspace-not-a-folder",
    },
    { name: "a file", workspace: (f) => path.join(f.root, "file"), code: "workspace-not-a-folder" },
    {
      name: "inside our state",
      workspace: (f) => path.join(f.home, "transactions"),
      code: "workspace-in-home",
    },
    { name: "around our state", workspace: (f) => f.root, code: "workspace-in-home" },
    { name: "the whole machine", workspace: () => "/", code: "workspace-is-root" },
  ];

  async function failureOf(fixture: ForkFixture, workspace: string): Promise<Failure> {
    const paths = fixture.paths();
    const request = { workspace, paths, backend: "auto", onProgress: () => undefined } as const;
    const signal = new AbortController().signal;
    const error: unknown = await fixture.port.fork({ ...request, signal }).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    assert.ok(error instanceof Failure, String(error));
    assert.equal(error.line.includes("\n"), false);
    const left = ["shadow", "overlays", "base-tree"].filter((name) =>
      existsSync(path.join(paths.root, name)),
    );
    assert.deepEqual([...left, ...readdirSync(paths.state)], []);
    return error;
  }

  for (const { name, workspace, code } of refusals) {
    it(`refuses ${name}`, async () => {
      using fixture = new ForkFixture();
      writeFileSync(path.join(fixture.root, "file"), "");
      assert.equal((await failureOf(fixture, workspace(fixture))).code, code);
    });
  }

  if (process.getuid?.() === 0) {
    it("a full disk is one clear line and leaves nothing", async () => {
      using fixture = new ForkFixture();
      fixture.write("large", Buffer.alloc(3 << 20, 1));
      execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m,mode=0700", "tmpfs", fixture.home]);
      try {
        const failure = await failureOf(fixture, fixture.workspace);
        assert.match(
          failure.line,
          /no room for the fork in .*: No space left on device — free some space/,
        );
      } finally {
        execFileSync("umount", [fixture.home]);
      }
    });
  }

  it("few descriptors suffice, too few are told", () => {
    using fixture = new ForkFixture();
    for (let i = 0; i < 300; i++) fixture.write(`d${i}/f`, "x");
    const run = (limit: number): string => {
      const to = path.join(fixture.root, `to-${limit}`);
      const script = `ulimit -n ${limit}; exec "$@"`;
      const own = ["clone", "--from", fixture.workspace, "--to", to, "--manifest", `${to}.list`];
      const argv = ["-c", script, "sh", fixture.nativePath, ...own];
      const { stderr } = spawnSync("sh", argv, { encoding: "utf8" });
      return `${stderr.trim()} ${existsSync(to) ? readdirSync(to).length : "nothing"}`;
    };
    assert.equal(run(32), " 300");
    assert.match(run(8), /Too many open files nothing$/);
  });

  it("stopped, it leaves nothing; killed, its caller can clean up", async () => {
    using fixture = new ForkFixture();
    for (let i = 0; i < 2000; i++) fixture.write(`d${i % 50}/f${i}`, "x".repeat(3000));
    const stopping = new AbortController();
    const paths = fixture.paths();
    const request = { workspace: fixture.workspace, paths, backend: "copy" } as const;
    const forking = fixture.port.fork({
      ...request,
      onProgress: () => undefined,
      signal: stopping.signal,
    });
    stopping.abort();
    await assert.rejects(forking, Failure);
    assert.deepEqual(readdirSync(paths.root).sort(), ["door", "state"]);
    for (const after of [1, 5, 20]) {
      const to = path.join(fixture.root, "killed");
      const args = [
        "clone",
        "--from",
        fixture.workspace,
        "--to",
        to,
        "--manifest",
        `${to}.manifest`,
      ];
      const seconds = `0.${String(after).padStart(3, "0")}`;
      spawnSync("timeout", ["-s", "KILL", seconds, fixture.nativePath, ...args]);
      execFileSync(fixture.nativePath, ["remove", to, `${to}.manifest`, `${to}.manifest.new`]);
      assert.deepEqual(readdirSync(fixture.root).sort(), ["home", "work"]);
    }
  });
});
