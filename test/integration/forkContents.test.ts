import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import fc from "fast-check";
import { savepoints } from "../../src/node/fork/savepoints.ts";
import { ForkFixture } from "../support/forkFixture.ts";
import { nativeBuild, sanitizerEnv } from "../support/nativeBuild.ts";
import { actOn, randomRuns } from "../support/treeOracle.ts";

const most = 1 << 20;

function hashOf(bytes: string | Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** A tree, and what the native program makes of paths in it. */
class Contents implements Disposable {
  readonly fixture = new ForkFixture();
  readonly tree = path.join(this.fixture.root, "tree");
  readonly blobs = path.join(this.fixture.root, "blobs");

  constructor() {
    for (const one of [this.tree, this.blobs]) mkdirSync(one);
  }

  write(name: string, bytes: string | Uint8Array): void {
    writeFileSync(path.join(this.tree, name), bytes);
  }

  keep(names: readonly string[], program = this.fixture.nativePath, fault = ""): string[] {
    const ran = spawnSync(program, ["contents", "--tree", this.tree, "--blobs", this.blobs], {
      input: names.map((one) => `${one}\0`).join(""),
      env: { ...sanitizerEnv(), ...(fault !== "" && { HOLDFAST_FAULT: `contents:${fault}` }) },
    });
    assert.equal(ran.status, 0, ran.stderr.toString());
    return ran.stdout.toString().split("\0").slice(0, -1);
  }

  /** Every blob is a whole content under its own name. */
  check(): void {
    for (const name of readdirSync(this.blobs))
      assert.equal(hashOf(readFileSync(path.join(this.blobs, name))), name);
  }

  [Symbol.dispose](): void {
    this.fixture[Symbol.dispose]();
  }
}

describe("fork: contents that are kept many at once", function () {
  this.timeout(120_000);

  it("lie under their SHA-256, whatever they are", () => {
    using contents = new Contents();
    const sizes = [0, 1, 54, 55, 56, 57, 63, 64, 65, 118, 119, 120, 128, 4096, most - 1, most];
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 300 }),
      fc.constantFrom(...sizes).map((size) => Buffer.alloc(size, "x")),
    );
    const property = fc.property(fc.array(bytes, { minLength: 1, maxLength: 200 }), (all) => {
      for (const [i, one] of all.entries()) contents.write(`f${i}`, one);
      assert.deepEqual(contents.keep(all.map((_, i) => `f${i}`)), all.map(hashOf));
      contents.check();
    });
    fc.assert(property, { numRuns: randomRuns(10) });
  });

  it("are those of regular files beneath the tree, and of nothing else", () => {
    using contents = new Contents();
    const { tree, blobs, fixture } = contents;
    writeFileSync(path.join(fixture.root, "outside"), "outside\n");
    contents.write("a", "a\n");
    contents.write("half", "half\n");
    contents.write("large", Buffer.alloc(most + 1));
    mkdirSync(path.join(tree, "d"));
    contents.write("d/odd\n\xffname", "odd\n");
    linkSync(path.join(tree, "a"), path.join(tree, "d/hard"));
    symlinkSync("a", path.join(tree, "link"));
    symlinkSync("..", path.join(tree, "up"));
    execFileSync("mkfifo", [path.join(tree, "fifo")]);
    writeFileSync(path.join(blobs, hashOf("half\n")), "ha");
    const there = ["a", "d/odd\n\xffname", "d/hard"];
    const not = ["half", "large", "d", "link", "up/outside", "../outside", "d/../a/..", "fifo"];
    const outside = path.join(fixture.root, "outside");
    const told = contents.keep([...there, ...not, outside, "", "none", "d/none"]);
    const right = [hashOf("a\n"), hashOf("odd\n"), hashOf("a\n")];
    assert.deepEqual(told, [...right, ...[...not, outside, "", "none", "d/none"].map(() => "")]);
    assert.deepEqual(readdirSync(blobs).sort(), [...new Set([...right, hashOf("half\n")])].sort());
  });

  it("are told only when they are whole, whatever call fails", () => {
    using contents = new Contents();
    const names = ["a", "b", "c"];
    for (const one of names) contents.write(one, `${one}\n`.repeat(100));
    const right = names.map((one) => hashOf(`${one}\n`.repeat(100)));
    for (const errno of [5, 24, 28]) {
      let calls = 0;
      for (let left = true; left; calls++) {
        const told = contents.keep(names, nativeBuild("faults"), `once:${errno}:${calls + 1}`);
        contents.check();
        for (const [i, one] of told.entries()) assert.ok(one === "" || one === right[i]);
        left = told.includes("");
        for (const one of readdirSync(contents.blobs))
          execFileSync("rm", [path.join(contents.blobs, one)]);
      }
      assert.ok(calls > 10, String(calls));
    }
  });

  it("are what a savepoint brings back after an install", async () => {
    using fixture = new ForkFixture();
    fixture.write("a.txt", "a\n");
    fixture.write(".env", "API_KEY=s3cr3t-value-0001\n");
    const forked = await fixture.fork("clone");
    const log = path.join(fixture.root, "log");
    const logging = path.join(fixture.root, "logging");
    const script = `#!/bin/sh\necho "$1" >> '${log}'\nexec '${fixture.nativePath}' "$@"\n`;
    writeFileSync(logging, script, { mode: 0o755 });
    const port = savepoints({ nativePath: logging });
    const take = () => port.take(forked.fork, fixture.workspace, forked.paths, { at: "now" });
    for (let i = 0; i < 60; i++) {
      mkdirSync(forked.at(`n/p${i % 7}`), { recursive: true });
      writeFileSync(forked.at(`n/p${i % 7}/f${i}`), `${i}\n`.repeat(i));
    }
    writeFileSync(forked.at("n/large"), Buffer.alloc(most + 1, "large "));
    symlinkSync("p1", forked.at("n/link"));
    const state = actOn(forked.fork.shadow, []);
    const { mode } = statSync(forked.at("n/p1/f1"));
    chmodSync(forked.at("n/p1/f1"), 0);
    const saved = await take();
    assert.equal(saved?.files, 62);
    const verbs = readFileSync(log, "utf8").split("\n");
    assert.equal(verbs.filter((one) => one === "contents").length, 1);
    execFileSync("rm", ["-r", forked.at("n")]);
    const options = { at: "now", to: "s1", hostView: undefined };
    await port.restore(forked.fork, fixture.workspace, forked.paths, options);
    assert.equal(statSync(forked.at("n/p1/f1")).mode & 0o7777, 0);
    chmodSync(forked.at("n/p1/f1"), mode & 0o7777);
    assert.deepEqual(actOn(forked.fork.shadow, []), state);
    assert.equal(await take().then((one) => one?.savepoint), "s3");
    const blobs = path.join(forked.paths.state, "savepoints/blobs");
    for (const one of readdirSync(blobs))
      assert.doesNotMatch(readFileSync(path.join(blobs, one), "latin1"), /s3cr3t/);
  });
});
