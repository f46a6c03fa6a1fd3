import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { agentProgram } from "../../.config/setupAgents.mjs";
import { agentSessions } from "../support/agentSessions.ts";
import { builtCommand } from "../support/holdfastCommand.ts";
import { startScriptedModel } from "../support/scriptedModel.ts";
import { temporaryFolders } from "../support/temporaryFolder.ts";

const nobody = 65_534;

/** Runs a program as an ordinary user: as nobody, where the tests run as root. */
function runAsUser(
  argv: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv,
): Promise<{ code: number; stdout: string; stderr: string }> {
  const drop = ["setpriv", `--reuid=${nobody}`, `--regid=${nobody}`, "--clear-groups"];
  const [program = "", ...args] = process.getuid?.() === 0 ? [...drop, ...argv] : argv;
  return new Promise((resolve) => {
    const child = execFile(program, args, { cwd, env }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === "number" ? error.code : 255;
      resolve({ code, stdout, stderr });
    });
    child.stdin?.end();
  });
}

describe("a real agent of an ordinary user", () => {
  const folder = temporaryFolders();

  it("claude-code: works on the copy and is journaled by its hooks", async () => {
    const base = folder();
    const workspace = path.join(base, "project");
    const home = path.join(base, "home");
    const program = path.join(base, "bin", "claude");
    for (const made of [workspace, home, path.dirname(program)]) fs.mkdirSync(made);
    fs.writeFileSync(path.join(workspace, "hello.txt"), "hello world\n");
    fs.copyFileSync(agentProgram("claude-code"), program, fs.constants.COPYFILE_FICLONE);
    fs.chmodSync(program, 0o755);
    if (process.getuid?.() === 0) {
      const all = [base, ...fs.readdirSync(base, { recursive: true, encoding: "utf8" })];
      for (const one of all) fs.chownSync(path.resolve(base, one), nobody, nobody);
    }
    const { shell, variable, env } = agentSessions["claude-code"];
    const model = await startScriptedModel({
      main: [shell("mv hello.txt moved.txt && id -u > who.txt"), { text: "All done." }],
    });
    const environment = {
      PATH: process.env["PATH"],
      HOME: home,
      HOLDFAST_HOME: path.join(home, "holdfast"),
      XDG_CONFIG_HOME: path.join(home, "config"),
      [variable]: program,
      ...env(model.url, "a-real-key-of-nobody"),
    };
    const holdfast = (...args: string[]): ReturnType<typeof runAsUser> =>
      runAsUser([process.execPath, builtCommand, ...args], workspace, environment);
    const ran = await holdfast("run", "--agent", "claude-code", "--prompt", "Do the work.");
    await model.close();
    const timeline = await holdfast("timeline", "latest", "--json");
    const diff = await holdfast("diff", "latest");
    await holdfast("stop", "--all");
    assert.equal(ran.code, 0, ran.stderr);
    assert.match(ran.stdout, /All done\./);
    assert.match(timeline.stdout, /"kind":"tool\.started"[^\n]*"source":"hook"[^\n]*mv hello\.txt/);
    assert.doesNotMatch(timeline.stdout, /hooks-silent/);
    assert.match(diff.stdout, /moved\.txt/);
    assert.ok(fs.existsSync(path.join(workspace, "hello.txt")));
  }).timeout(120_000);
});
