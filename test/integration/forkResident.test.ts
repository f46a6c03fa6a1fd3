import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync, chmodSync } from "node:fs";
import path from "node:path";
import { ResidentNative } from "../../src/node/fork/residentNative.ts";
import { runNative } from "../../src/node/fork/runNative.ts";
import { nativeBuild } from "../support/nativeBuild.ts";
import { eventually } from "../support/holdfastCommand.ts";
import { temporaryFolders } from "../support/temporaryFolder.ts";

describe("the resident native program", () => {
  const newFolder = temporaryFolders();
  let nativePath: string;
  before(() => void (nativePath = nativeBuild("plain")));

  /** Two layers of an overlay that differ in these new files. */
  function layers(files: readonly string[]): readonly string[] {
    const folder = newFolder();
    for (const name of ["lower", "upper"]) mkdirSync(path.join(folder, name));
    for (const file of files) writeFileSync(path.join(folder, "upper", file), file);
    return ["--lower", path.join(folder, "lower"), "--upper", path.join(folder, "upper")];
  }

  const pathsIn = (output: Buffer | undefined): readonly string[] =>
    (output ?? Buffer.alloc(0))
      .toString()
      .split("\0")
      .filter((record) => record !== "")
      .map((record) => record.split(" ").slice(8).join(" "))
      .sort();

  it("answers many that are asked at once, each with its own", async () => {
    const resident = new ResidentNative(nativePath);
    const asked = Array.from({ length: 40 }, (_, at) => [`only ${at}`, `and\n${at}`]);
    const told = await Promise.all(
      asked.map((files) => resident.ask("overlay-scan", layers(files))),
    );
    const pid = resident.pid;
    told.forEach((run, at) => {
      assert.equal(run?.code, "0");
      assert.deepEqual(pathsIn(run.output), [...(asked[at] ?? [])].sort());
      assert.match(run.report.toString(), /"type":"scanned"/);
    });
    assert.equal((await resident.ask("overlay-scan", layers([])))?.code, "0");
    assert.equal(resident.pid, pid, "one process for all");
  });

  it("carries an answer that is larger than any buffer", async () => {
    const files = Array.from({ length: 3000 }, (_, at) => `${at}${"x".repeat(120)}`);
    const run = await new ResidentNative(nativePath).ask("overlay-scan", layers(files));
    assert.deepEqual(pathsIn(run?.output), [...files].sort());
  });

  it("fails in the program's own words, and for that alone", async () => {
    const missing = ["--lower", "/nowhere/lower", "--upper", "/nowhere/upper"];
    const args = ["overlay-scan", "--report-fd", "3", ...missing];
    const alone = spawnSync(nativePath, args, { stdio: ["ignore", "pipe", "pipe", "pipe"] });
    const { message, reason } = JSON.parse(String(alone.output[3])) as Record<string, string>;
    await assert.rejects(runNative(nativePath, "overlay-scan", missing), {
      message: `${message}: ${reason}`,
    });
    const { output } = await runNative(nativePath, "overlay-scan", layers(["after"]));
    assert.deepEqual(pathsIn(output), ["after"]);
  });

  it("is started anew after it died, and whoever waited runs the program itself", async () => {
    const resident = new ResidentNative(nativePath);
    await resident.ask("overlay-scan", layers([]));
    const first = resident.pid;
    assert.ok(first !== undefined);
    process.kill(first, "SIGSTOP");
    const waiting = resident.ask("overlay-scan", layers(["lost"]));
    process.kill(first, "SIGKILL");
    assert.equal(await waiting, undefined);
    assert.equal((await resident.ask("overlay-scan", layers(["again"])))?.code, "0");
    assert.notEqual(resident.pid, first);
  });

  it("is done without where the program knows nothing of it", async () => {
    const older = path.join(newFolder(), "native");
    writeFileSync(older, `#!/bin/sh\n[ "$1" = resident ] && exit 2\nexec ${nativePath} "$@"\n`);
    chmodSync(older, 0o755);
    for (const file of ["one", "two", "three", "four", "five"]) {
      const { output } = await runNative(older, "overlay-scan", layers([file]));
      assert.deepEqual(pathsIn(output), [file]);
    }
  });

  it("does nothing but scans, and takes no word for two", async () => {
    const resident = new ResidentNative(nativePath);
    const folder = path.join(newFolder(), "kept");
    mkdirSync(folder);
    const run = await resident.ask("remove", [folder]);
    assert.equal(run?.code, "2");
    assert.equal(await resident.ask("overlay-scan", ["--lower\0/x"]), undefined);
    assert.equal(
      await resident.ask(
        "scan",
        Array.from({ length: 40 }, () => "--git"),
      ),
      undefined,
    );
    execFileSync("test", ["-d", folder]);
  });

  const wrong: Readonly<Record<string, string>> = {
    "no request": "walk 1 5\nscan\0",
    "a number that is none": "run 0x1 5\nscan\0",
    "a length below two": "run 1 1\n\0",
    "a length beyond the most": "run 1 65537\n",
    "a word without an end": "run 1 5\nscans",
    "a line without an end": "run 1 ".padEnd(80, "1"),
    "too many words": `run 1 ${2 * 40}\n${"a\0".repeat(40)}`,
    "a NUL in the line": "run 1\0 5\nscan\0",
  };
  for (const [name, input] of Object.entries(wrong)) {
    it(`ends at ${name}`, () => {
      const ended = spawnSync(nativePath, ["resident"], { input });
      assert.equal(ended.status, 2, ended.stderr.toString());
      assert.equal(ended.stdout.toString(), "");
    });
  }

  it("keeps no process waiting, and ends with it", async () => {
    const module = path.resolve(import.meta.dirname, "../../src/node/fork/residentNative.ts");
    const script = `import { ResidentNative } from ${JSON.stringify(module)};
      const resident = new ResidentNative(${JSON.stringify(nativePath)});
      resident.ask("overlay-scan", ${JSON.stringify(layers([]))}).then(() => console.log(resident.pid));`;
    const file = path.join(newFolder(), "asks.mts");
    writeFileSync(file, script);
    const out = execFileSync(process.execPath, ["--import", "tsx", file], {
      cwd: path.resolve(import.meta.dirname, "../.."),
      timeout: 50_000,
    });
    const pid = Number(out.toString());
    assert.ok(pid > 0);
    const isGone = (): true | undefined => {
      try {
        process.kill(pid, 0);
        return undefined;
      } catch {
        return true;
      }
    };
    await eventually(isGone, "the end of the resident", 20_000);
  });
});
