import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chownSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { nativeBuild } from "./nativeBuild.ts";
import { root } from "./repository.ts";

/** The user whom tests take for an ordinary one where they run as root. */
const nobody = 65_534;

/**
 * Runs suites in a mocha of their own and fails with what they say; a test that skips itself there fails too.
 * `before` goes in front of the command, `env` is all of its environment but PATH, `options` are mocha's.
 */
export async function runSuites(
  suites: readonly string[],
  env: NodeJS.ProcessEnv,
  before: readonly string[] = [],
  options: readonly string[] = [],
): Promise<void> {
  const mocha = path.join(root, "node_modules/mocha/bin/mocha.js");
  const all = ["--config", ".config/mocharc.json", "--timeout", "240000", "--reporter", "dot"];
  const argv = [...before, process.execPath, mocha, ...all, "--forbid-pending", ...options];
  const [program = "", ...args] = [...argv, ...suites];
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

/** The same as an ordinary user, with `own` for home and temporary files: only for tests that run as root. */
export async function runSuitesAsUser(
  suites: readonly string[],
  own: string,
  options: readonly string[] = [],
): Promise<void> {
  chownSync(own, nobody, nobody);
  const drop = ["setpriv", `--reuid=${nobody}`, `--regid=${nobody}`, "--clear-groups"];
  const native = nativeBuild("plain");
  nativeBuild("faults"); // which that user could not build
  const env = { TMPDIR: own, HOME: own, HOLDFAST_TEST_NATIVE: native };
  await runSuites(suites, env, drop, options);
}
