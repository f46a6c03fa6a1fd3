/**
 * A program for tests that concern ordinary users: runs one command in a sandbox and prints the outcome as JSON.
 * `runAsUser` starts it as nobody; the fixture is made by that user, so that nothing belongs to root.
 */
import { execFile } from "node:child_process";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { makeSandboxFixture, nativePath, run } from "./sandboxFixture.ts";
import type { Ran } from "./sandboxFixture.ts";

const nobody = "65534";

/** Runs a shell command in a sandbox of the user nobody's (of this user, when not root). */
export async function runAsUser(command: string): Promise<Ran> {
  const self = fileURLToPath(import.meta.url);
  const tsx = path.resolve(path.dirname(self), "../../node_modules/tsx/dist/loader.mjs");
  const node = [process.execPath, "--import", tsx, self, command];
  const drop = ["setpriv", `--reuid=${nobody}`, `--regid=${nobody}`, "--clear-groups"];
  const [program = "", ...rest] = process.getuid?.() === 0 ? [...drop, ...node] : node;
  const env = { PATH: process.env["PATH"], HOME: "/nonexistent", HOLDFAST_TEST_NATIVE: nativePath };
  const { stdout } = await promisify(execFile)(program, rest, { env, cwd: "/" });
  return JSON.parse(stdout) as Ran;
}

async function main(command: string): Promise<void> {
  const fixture = makeSandboxFixture();
  try {
    const ran = await run(fixture.spec(["sh", "-c", command]));
    process.stdout.write(JSON.stringify(ran));
  } finally {
    fixture.remove();
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main(process.argv[2] ?? "true");
