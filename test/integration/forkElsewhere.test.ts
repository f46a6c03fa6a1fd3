import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmodSync, chownSync, readdirSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { nativeBuild } from "../support/nativeBuild.ts";
import { root } from "../support/repository.ts";
import { temporaryFolders } from "../support/temporaryFolder.ts";

const nobody = 65_534;

/** Every suite of forks but those that bring builds or sandboxes of their own. */
const suites = readdirSync(import.meta.dirname)
  .filter((name) => /^fork(?!Elsewhere|Faults|RunsProject)\w+\.test\.ts$/.test(name))
  .map((name) => path.join("test/integration", name));

/** Runs the suites in a process of their own; fails with what they say. */
async function runSuites(before: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  const mocha = path.join(root, "node_modules/mocha/bin/mocha.js");
  const options = ["--config", ".config/mocharc.json", "--timeout", "240000", "--reporter", "dot"];
  const argv = [...before, process.execPath, mocha, ...options, ...suites];
  const [program = "", ...args] = argv;
  const { stdout } = await promisify(execFile)(program, args, {
    cwd: root,
    env: { PATH: process.env["PATH"], ...env },
    maxBuffer: 1 << 24,
  }).catch((error: unknown) => {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`${stdout.slice(-8000)}\n${stderr.slice(-2000)}`);
  });
  const passing = Number(/(\d+) passing/.exec(stdout)?.[1] ?? 0);
  assert.ok(passing >= suites.length * 2, stdout);
}

describe("fork: all suites elsewhere", function () {
  this.timeout(900_000);
  const folder = temporaryFolders();

  if (process.getuid?.() === 0) {
    it("as an ordinary user", async () => {
      const own = folder();
      chownSync(own, nobody, nobody);
      const drop = ["setpriv", `--reuid=${nobody}`, `--regid=${nobody}`, "--clear-groups"];
      const native = nativeBuild("plain");
      nativeBuild("faults"); // which that user could not build
      await runSuites(drop, { TMPDIR: own, HOME: own, HOLDFAST_TEST_NATIVE: native });
    });
  }

  it("with a native program that looks for its own errors", async () => {
    const native = nativeBuild("sanitized");
    const own = folder();
    chmodSync(own, 0o755); // one of the tests forks as another user
    await runSuites([], { TMPDIR: own, HOLDFAST_TEST_NATIVE: native });
  });
});
