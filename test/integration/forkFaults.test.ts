import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import {
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
} from "node:fs";
import path from "node:path";
import { Manifest } from "../../src/node/fork/manifest.ts";
import { parseScanRecords } from "../../src/node/fork/scanRecords.ts";
import { ForkFixture } from "../support/forkFixture.ts";
import { nativeBuild, sanitizerEnv } from "../support/nativeBuild.ts";
import { actOn } from "../support/treeOracle.ts";
import { snapshotTree } from "../support/treeSnapshot.ts";

const EIO = 5;
const EMFILE = 24;
const ENOSPC = 28;

interface Outcome {
  readonly code: number | null;
  readonly stdout: Buffer;
  readonly stderr: string;
  readonly report: Readonly<Record<string, unknown>>;
}

/** One call after another of a native program goes wrong, until it makes no more calls. */
class FaultyProgram {
  readonly #path = nativeBuild("faults");
  readonly fixture = new ForkFixture();

  constructor() {
    const { fixture } = this;
    fixture.write("a.txt", "a\n");
    fixture.write("deep/down/b.txt", "b\n".repeat(3000));
    fixture.write("sparse");
    truncateSync(path.join(fixture.workspace, "sparse"), 1 << 20);
    symlinkSync("a.txt", path.join(fixture.workspace, "link"));
    linkSync(path.join(fixture.workspace, "a.txt"), path.join(fixture.workspace, "deep/hard"));
    mkdirSync(path.join(fixture.workspace, "shut"), { mode: 0o500 });
  }

  place(name: string): string {
    return path.join(this.fixture.root, name);
  }

  run(
    verb: string,
    args: readonly string[],
    fault = "",
    options: readonly string[] = ["--threads", "1"],
  ): Outcome {
    const more = fault === "" ? {} : { HOLDFAST_FAULT: `${verb}:${fault}` };
    const argv = [verb, "--report-fd", "3", ...options, ...args];
    const ran = spawnSync(this.#path, argv, {
      env: { ...sanitizerEnv(), ...more },
      stdio: ["ignore", "pipe", "pipe", "pipe"],
    });
    const told = ran.output[3]?.toString().trim().split("\n").at(-1) ?? "";
    return {
      code: ran.status,
      stdout: ran.stdout,
      stderr: ran.stderr.toString(),
      report: (told === "" ? {} : JSON.parse(told)) as Outcome["report"],
    };
  }

  clone(fault = ""): Outcome {
    const { workspace } = this.fixture;
    mkdirSync(this.place("base"), { recursive: true });
    const to = ["--from", workspace, "--to", this.place("shadow")];
    const list = ["--manifest", this.place("manifest"), "--base", this.place("base")];
    return this.run("clone", [...to, ...list], fault);
  }

  cloneSpare(): Outcome {
    mkdirSync(this.place("spare-base"), { recursive: true });
    const to = ["--from", this.fixture.workspace, "--to", this.place("spare")];
    const list = ["--manifest", this.place("spare-manifest"), "--base", this.place("spare-base")];
    return this.run("clone", [...to, ...list]);
  }

  /** With the spare, as far as that can be taken. */
  cloneOfSpare(fault: string): Outcome {
    mkdirSync(this.place("base"), { recursive: true });
    renameSync(
      path.join(this.place("spare-base"), "pack.0"),
      path.join(this.place("base"), "pack.8"),
    );
    const to = ["--from", this.fixture.workspace, "--to", this.place("shadow")];
    const list = ["--manifest", this.place("manifest"), "--base", this.place("base")];
    const spare = [
      "--spare",
      this.place("spare"),
      "--spare-manifest",
      this.place("spare-manifest"),
    ];
    return this.run("clone", [...to, ...list, ...spare], fault);
  }

  /** Of the tree as it stands. */
  list(fault = ""): Outcome {
    const args = ["--from", this.fixture.workspace, "--manifest", this.place("manifest")];
    return this.run("clone", args, fault);
  }

  scan(fault = ""): Outcome {
    const places = ["--manifest", this.place("manifest"), "--shadow", this.place("shadow")];
    return this.run("scan", [...places, "--base", this.place("base")], fault);
  }

  /** What stands beside workspace and home. */
  left(): string[] {
    const base = existsSync(this.place("base")) ? readdirSync(this.place("base")) : [];
    const beside = readdirSync(this.fixture.root).filter(
      (name) => !/^(home|work|base)$/.test(name),
    );
    return [...beside, ...base];
  }

  clear(): void {
    const spare = ["spare", "spare-manifest", "spare-base"];
    const made = ["shadow", "manifest", "manifest.new", "base", ...spare].map((name) =>
      this.place(name),
    );
    execFileSync(this.fixture.nativePath, ["remove", ...made]);
  }

  /** Calls `check` with a fault at each call in turn; returns how many calls there were. */
  each(fault: (call: number) => string, check: (fault: string) => boolean): number {
    for (let call = 1; ; call++) if (!check(fault(call))) return call - 1;
  }
}

/** The lines of a tree but those at and below some paths. */
function without(lines: readonly string[], paths: readonly string[]): readonly string[] {
  const isOut = (line: string): boolean =>
    paths.some((out) => line.startsWith(`${out} `) || line.startsWith(`${out}/`));
  return lines.filter((line) => !isOut(line));
}

/** Whatever stands at a path that is no directory, or in one. */
function filesIn(root: string, at: string): readonly string[] {
  const found = lstatSync(path.join(root, at), { throwIfNoEntry: false });
  if (found === undefined) return [];
  return found.isDirectory() ? readdirSync(path.join(root, at)) : [at];
}

describe("fork: whatever call of the native program fails", function () {
  this.timeout(120_000);
  let program: FaultyProgram;
  let workspace: readonly string[];
  let calls: number;
  before(() => {
    program = new FaultyProgram();
    workspace = snapshotTree(program.fixture.workspace, true);
    calls = program.each(
      (call) => `kill:${call}`,
      (fault) => {
        const { code } = program.clone(fault);
        program.clear();
        assert.deepEqual(program.left(), [], fault);
        return code !== 0;
      },
    );
  });
  after(() => program.fixture[Symbol.dispose]());

  it("killed there, it leaves nothing that its caller cannot remove, and the workspace alone", () => {
    assert.ok(calls > 60, String(calls));
    assert.deepEqual(snapshotTree(program.fixture.workspace, true), workspace);
  });

  for (const [name, errno] of Object.entries({ EIO, EMFILE, ENOSPC })) {
    it(`${name}: a clone is whole, or says what it lacks, or fails in one line and leaves nothing`, () => {
      const outcomes = new Set<string>();
      for (let call = 1; call <= calls; call++) {
        const { code, stderr, report } = program.clone(`once:${errno}:${call}`);
        if (code === 0) {
          const out = (report["left_out"] as { path: string }[]).map((one) => one.path);
          const found = snapshotTree(program.place("shadow"), true);
          assert.deepEqual(without(found, out), without(workspace, out), `call ${call}`);
          assert.equal(program.scan().stdout.toString(), "", `call ${call}`);
          outcomes.add(out.length === 0 ? "whole" : "told");
        } else {
          assert.equal(code, 1, `call ${call}: ${stderr}`);
          assert.match(stderr, /^holdfast-native: [^\n]+\n$/, `call ${call}`);
          assert.deepEqual(program.left(), [], `call ${call}`);
          outcomes.add("failed");
        }
        program.clear();
      }
      assert.ok(outcomes.has("failed"));
      assert.ok(outcomes.has("told") || errno !== EIO);
      assert.deepEqual(snapshotTree(program.fixture.workspace, true), workspace);
    });
  }

  for (const [name, errno] of Object.entries({ EIO, EMFILE, ENOSPC })) {
    it(`${name}: of a spare too, with nothing of what the workspace has no more`, () => {
      const { fixture } = program;
      const stale = ["deep/down/stale", "deep/type/a", "deep/old"];
      const outcomes = new Set<string>();
      let call = 0;
      for (let done = false; !done;) {
        call++;
        for (const one of stale) fixture.write(one, "stale\n");
        assert.equal(program.cloneSpare().code, 0);
        for (const one of ["deep/old", "deep/down/stale", "deep/type"])
          rmSync(path.join(fixture.workspace, one), { recursive: true });
        fixture.write("deep/type", "a file now\n");
        const now = snapshotTree(fixture.workspace, true);
        const { code, stderr, report } = program.cloneOfSpare(`once:${errno}:${call}`);
        if (code === 0) {
          const out = (report["left_out"] as { path: string }[]).map((one) => one.path);
          const found = snapshotTree(program.place("shadow"), true);
          assert.deepEqual(without(found, out), without(now, out), `call ${call}`);
          for (const one of out) assert.deepEqual(filesIn(program.place("shadow"), one), []);
          assert.equal(program.scan().stdout.toString(), "", `call ${call}`);
        } else {
          assert.match(stderr, /^holdfast-native: [^\n]+\n$/, `call ${call}`);
          assert.ok(!existsSync(program.place("shadow")), `call ${call}`);
        }
        outcomes.add(code === 0 ? "whole" : "failed");
        program.clear();
        rmSync(path.join(fixture.workspace, "deep/type"));
        done = code === 0 && call > calls;
      }
      assert.deepEqual([...outcomes].sort(), ["failed", "whole"]);
    });
  }

  for (const [name, errno] of Object.entries({ EIO, EMFILE, ENOSPC })) {
    it(`${name}: a listing fails in one line and leaves nothing, or knows every file that may hold a secret`, () => {
      program.fixture.write("deep/token.js", `const token = "ghp_${"a".repeat(36)}";\n`);
      const found = (): readonly (readonly string[])[] => {
        const manifest = Manifest.open(program.place("manifest"));
        const paths = [...manifest.entries()].map((one) => one.path);
        return [paths, manifest.suspects().map((one) => one.path)];
      };
      const seen = new Set<number | null>();
      assert.equal(program.list().code, 0);
      const [paths = [], suspects = []] = found();
      assert.deepEqual(suspects, ["deep/token.js"]);
      program.clear();
      const all = program.each(
        (call) => `kill:${call}`,
        (fault) => {
          const { code } = program.list(fault);
          program.clear();
          return code !== 0;
        },
      );
      for (let call = 1; call <= all; call++) {
        const { code, stderr } = program.list(`once:${errno}:${call}`);
        seen.add(code);
        if (code === 0) {
          const [listed, suspected = []] = found();
          assert.deepEqual(listed, paths, `call ${call}`);
          assert.ok(suspected.includes("deep/token.js"), `call ${call}`);
        } else {
          assert.equal(code, 1, `call ${call}: ${stderr}`);
          assert.match(stderr, /^holdfast-native: [^\n]+\n$/, `call ${call}`);
          assert.deepEqual(program.left(), [], `call ${call}`);
        }
        program.clear();
      }
      assert.deepEqual([...seen].sort(), [0, 1]);
      rmSync(path.join(program.fixture.workspace, "deep/token.js"));
    });
  }

  it("names that may hide secrets are all told, or the look for them fails in one line", () => {
    const { fixture } = program;
    for (const name of [".npmrc", "deep/.env", "deep/down/server.key"]) fixture.write(name, "x\n");
    const suspects = (fault: string): Outcome =>
      program.run("suspects", [fixture.workspace], fault, []);
    const right = suspects("").stdout.toString();
    assert.deepEqual(right.split("\0").sort(), ["", ".npmrc", "deep/.env", "deep/down/server.key"]);
    const calls = program.each(
      (call) => `kill:${call}`,
      (fault) => suspects(fault).code !== 0,
    );
    assert.ok(calls > 5, String(calls));
    for (const errno of [EIO, EMFILE])
      for (let call = 1; call <= calls; call++) {
        const { code, stdout, stderr } = suspects(`once:${errno}:${call}`);
        if (code === 0) assert.equal(stdout.toString(), right, `call ${call}`);
        else assert.match(stderr, /^holdfast-native: cannot [^\n]+\n$/, `call ${call}`);
      }
    for (const name of [".npmrc", "deep/.env", "deep/down/server.key"])
      rmSync(path.join(fixture.workspace, name));
  });

  it("a scan fails in one line, or tells every path that changed and none that did not", () => {
    program.clone();
    actOn(program.place("shadow"), [
      { act: "write", path: "a.txt", content: "changed\n" },
      { act: "remove", path: "link" },
      { act: "write", path: "deep/new", content: "new" },
      { act: "touch", path: "deep/down/b.txt" },
    ]);
    const paths = (outcome: Outcome): string[] =>
      parseScanRecords(outcome.stdout).map((one) => one.path);
    const right = paths(program.scan());
    assert.deepEqual(right, ["a.txt", "deep/hard", "deep/new", "link"]);
    let failures = 0;
    const scans = program.each(
      (call) => `kill:${call}`,
      (fault) => program.scan(fault).code !== 0,
    );
    for (let call = 1; call <= scans; call++) {
      const outcome = program.scan(`once:${EIO}:${call}`);
      if (outcome.code === 0) {
        // What cannot be compared is told as a change.
        assert.deepEqual(
          paths(outcome).filter((one) => one !== "deep/down/b.txt"),
          right,
          `call ${call}`,
        );
      } else {
        failures++;
        assert.match(outcome.stderr, /^holdfast-native: cannot scan [^\n]+\n$/, `call ${call}`);
      }
    }
    assert.ok(failures > 5, `${failures} of ${scans}`);
    program.clear();
  });
});
