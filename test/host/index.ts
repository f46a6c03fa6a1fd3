import fs from "node:fs";
import path from "node:path";
import { format } from "node:util";
import Mocha from "mocha";
import { openHostWindow } from "./window.ts";
import type { HostEnvironment, HostResult } from "../support/hostResult.ts";

/**
 * Called by the editor inside the extension host: runs the suites and leaves the result file behind. Suites named
 * `phase1….test.ts`, `phase2….test.ts`, … run one after the other with a reload of the window in between: each in an
 * extension host of its own.
 */
export async function run(): Promise<void> {
  const environment = process.env as NodeJS.ProcessEnv & HostEnvironment;
  // The extension host has no console of its own that a launcher could read.
  Mocha.reporters.Base.consoleLog = (...parts: unknown[]) =>
    fs.appendFileSync(environment.HOLDFAST_HOST_OUTPUT, `${format(...parts)}\n`);
  const folder = environment.HOLDFAST_HOST_SUITES;
  const names = fs.readdirSync(folder).filter((name) => name.endsWith(".test.cjs"));
  const phases = names.filter((name) => /^phase\d/.test(name)).sort();
  const between = `${environment.HOLDFAST_HOST_RESULT}.phases`;
  const before = fs.existsSync(between)
    ? (JSON.parse(fs.readFileSync(between, "utf8")) as HostResult & { readonly done: number })
    : { done: 0, passed: 0, failed: 0 };
  const now = phases.length > 0 ? phases.slice(before.done, before.done + 1) : names.sort();
  const { passed, failed } = await runSuites(now.map((name) => path.join(folder, name)));
  const done = before.done + 1;
  const result: HostResult = { passed: before.passed + passed, failed: before.failed + failed };
  if (done < phases.length && failed === 0) {
    fs.writeFileSync(between, JSON.stringify({ ...result, done }));
    const window = await openHostWindow();
    // This extension host ends with the call; the next one goes on with the next phase.
    await window.call("reload", {}).catch(() => undefined);
    return;
  }
  fs.writeFileSync(environment.HOLDFAST_HOST_RESULT, JSON.stringify(result));
  if (result.failed > 0) throw new Error(`${result.failed} tests failed`);
}

function runSuites(files: readonly string[]): Promise<HostResult> {
  const mocha = new Mocha({ ui: "bdd", reporter: "spec", color: false, timeout: 300_000 });
  // For work on a suite: only the tests whose names match this.
  mocha.grep(new RegExp(process.env["HOLDFAST_HOST_ONLY"] ?? ""));
  mocha.rootHooks({ afterEach: pictureOfFailure });
  for (const file of files) mocha.addFile(file);
  return new Promise((resolve) => {
    const runner = mocha.run((failed) => {
      resolve({ passed: runner.stats?.passes ?? 0, failed });
    });
  });
}

/** Saves what the window showed when a test failed, under the test's name. */
async function pictureOfFailure(this: Mocha.Context): Promise<void> {
  const test = this.currentTest;
  if (test?.state !== "failed" || process.env["HOLDFAST_WINDOW_SOCK"] === undefined) return;
  const window = await openHostWindow();
  const name = test.fullTitle().replaceAll(/[^a-z0-9]+/gi, "-");
  await window.call("screenshot", { name: `failed-${name}`.slice(0, 100) });
  window.close();
}
