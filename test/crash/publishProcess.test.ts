import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import path from "node:path";
import { buildSync } from "esbuild";
import { readJournal } from "../../src/node/journal/journalFile.ts";
import { checkRecovered, crashFixture, wholeCommit } from "../support/publishCrash.ts";
import { CommitJournal } from "../support/commitJournal.ts";
import { type PublishFixture, quickFolder } from "../support/publishFixture.ts";
import { nativeBuild } from "../support/nativeBuild.ts";
import { snapshotTree } from "../support/treeSnapshot.ts";

const source = path.resolve(import.meta.dirname, "../support/publishCrashChild.ts");

describe("a publish whose process is killed", function () {
  // One process for each call.
  this.timeout(600_000);
  const folder = mkdtempSync(path.join(quickFolder(), "holdfast-crash-"));
  const program = path.join(folder, "child.mjs");
  let whole: readonly string[];

  before(async () => {
    buildSync({
      entryPoints: [source],
      bundle: true,
      platform: "node",
      format: "esm",
      outfile: program,
    });
    whole = await wholeCommit();
  });

  after(() => rmSync(folder, { recursive: true, force: true }));

  /** Runs the child; false when it was killed. */
  function run(
    fixture: PublishFixture,
    native: string,
    verb: string,
    call: number,
    fault?: string,
  ): boolean {
    const done = spawnSync(process.execPath, [program, fixture.root, native, verb, String(call)], {
      env: { PATH: process.env["PATH"], ...(fault !== undefined && { HOLDFAST_FAULT: fault }) },
      encoding: "utf8",
    });
    if (done.signal === "SIGKILL") return false;
    assert.equal(done.status, 0, done.stderr);
    return true;
  }

  /** The journal as the dead process left it. */
  function takeJournal(fixture: PublishFixture): void {
    const journal = new CommitJournal();
    for (const entry of readJournal(fixture.state).entries) journal.append(entry);
    Object.assign(fixture, { journal });
  }

  it("at every writing call of its own", async () => {
    for (let call = 1; ; call++) {
      using fixture = crashFixture(nativeBuild("plain"), {});
      const old = snapshotTree(fixture.workspace);
      const done = run(fixture, nativeBuild("plain"), "commit", call);
      takeJournal(fixture);
      const state = await checkRecovered(fixture, old, whole, `call ${call}`);
      if (!done) continue;
      assert.equal(state, "after");
      assert(call > 40, `only ${call} calls`);
      return;
    }
  });

  it("at every call of the native program, which goes with it", async () => {
    const native = nativeBuild("faults");
    for (let call = 1; call < 400; call += 3) {
      using fixture = crashFixture(native, {});
      const old = snapshotTree(fixture.workspace);
      const done = run(fixture, native, "commit", 0, `apply:parent:${call}`);
      takeJournal(fixture);
      await checkRecovered(fixture, old, whole, `call ${call}`);
      if (done) return;
    }
  });

  it("at every writing call of recover", async () => {
    const native = nativeBuild("faults");
    for (let call = 1; ; call++) {
      using fixture = crashFixture(native, { HOLDFAST_FAULT: "apply:kill:30" });
      const old = snapshotTree(fixture.workspace);
      await assert.rejects(fixture.commit());
      const journal = fixture.journal;
      const done = run(fixture, nativeBuild("plain"), "recover", call);
      Object.assign(fixture, { journal });
      const state = await checkRecovered(fixture, old, whole, `call ${call}`);
      assert.equal(state, "before");
      if (done) return;
    }
  });
});
