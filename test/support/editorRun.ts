/**
 * Runs the host suites through @vscode/test-electron, one editor start for each run below, and writes the sums to
 * `$HOLDFAST_TEST_RESULT` for the test runner. Argument: the options as JSON (see .config/host.mjs).
 *
 * `$HOLDFAST_TEST_EDITOR` names a desktop editor's executable to use instead of the browser editor; suites that need the
 * window (test/host/window.ts) fail there.
 */
import { runTests } from "@vscode/test-electron";
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { makeSample } from "../samples/makeSample.mjs";
import type { EditorPrograms } from "./editorServer.ts";
import type { ShimOptions } from "./editorShim.ts";
import type { HostEnvironment, HostResult } from "./hostResult.ts";

interface RunOptions {
  readonly root: string;
  readonly programs: EditorPrograms;
  readonly browser: string;
  readonly out: string;
  readonly screenshots: string;
  readonly package: string;
  readonly runs: readonly string[];
}

interface HostRun {
  readonly name: string;
  /** Folder of bundled suites under `suites` in the run's own folder; the suites directly in it run. */
  readonly suites: string;
  /** Installs the package instead of loading the extension from the source tree. */
  readonly installed: boolean;
  readonly settings: Readonly<Record<string, unknown>>;
  /** The suites are run by an extension, not by the editor's own test run: for dialogs, and for reloads of the window. */
  readonly asPerson?: true;
  /** Runs only when it is named: it measures, and proves nothing. */
  readonly onRequest?: true;
}

const hostRuns: readonly HostRun[] = [
  { name: "development", suites: ".", installed: false, settings: {} },
  {
    name: "review",
    suites: "review",
    installed: true,
    // Saving is on in a browser by default; then nothing stays unsaved. Checks may take as long as the machine is busy.
    settings: { "files.autoSave": "off", "holdfast.checkLimits": { seconds: 900 } },
    asPerson: true,
  },
  {
    name: "unsaved",
    suites: "unsaved",
    installed: true,
    settings: { "files.autoSave": "off" },
    asPerson: true,
  },
  { name: "several", suites: "several", installed: true, settings: {}, asPerson: true },
  { name: "reload", suites: "reload", installed: true, settings: {}, asPerson: true },
  { name: "installed", suites: "installed", installed: true, settings: {} },
  {
    name: "bench",
    suites: "bench",
    installed: true,
    settings: {},
    asPerson: true,
    onRequest: true,
  },
];

const deadlineMs = 900_000;

/** An extension that does nothing: the editor runs tests only for an extension under development. */
function emptyExtension(folder: string): string {
  fs.mkdirSync(folder, { recursive: true });
  const manifest = {
    name: "host-tests",
    publisher: "holdfast-tests",
    version: "0.0.1",
    engines: { vscode: "*" },
  };
  fs.writeFileSync(path.join(folder, "package.json"), JSON.stringify(manifest));
  return folder;
}

/** An extension that runs the suites when the editor has started. */
function testsExtension(folder: string, index: string): string {
  fs.mkdirSync(folder, { recursive: true });
  const manifest = {
    name: "host-tests",
    publisher: "holdfast-tests",
    version: "0.0.1",
    engines: { vscode: "^1.100.0" },
    main: "./main.cjs",
    activationEvents: ["onStartupFinished"],
  };
  fs.writeFileSync(path.join(folder, "package.json"), JSON.stringify(manifest));
  const main = `exports.activate = () => void require(${JSON.stringify(index)}).run().catch(() => {});\n`;
  fs.writeFileSync(path.join(folder, "main.cjs"), main);
  return folder;
}

/** The executable that @vscode/test-electron starts in place of the desktop editor. */
function writeShim(folder: string): string {
  const file = path.join(folder, "editor");
  const shim = path.join(import.meta.dirname, "editorShim.ts");
  const tsx = import.meta.resolve("tsx");
  fs.writeFileSync(
    file,
    `#!/bin/sh\nexec "${process.execPath}" --import "${tsx}" "${shim}" "$@"\n`,
  );
  fs.chmodSync(file, 0o755);
  return file;
}

async function runOnce(run: HostRun, options: RunOptions): Promise<HostResult> {
  console.log(`\n  host: ${run.name}`);
  if (run.installed && !fs.existsSync(options.package)) return { passed: 0, failed: 1 };
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-host-"));
  const result = path.join(folder, "result.json");
  const shim: ShimOptions = {
    programs: options.programs,
    browser: options.browser,
    screenshots: options.screenshots,
    install: run.installed ? [options.package] : [],
    settings: run.settings,
    deadlineMs,
    asPerson: run.asPerson === true,
  };
  const environment: Omit<HostEnvironment, "HOLDFAST_WINDOW_SOCK"> = {
    HOLDFAST_HOST_RESULT: result,
    HOLDFAST_HOST_OUTPUT: path.join(folder, "output"),
    HOLDFAST_HOST_SUITES: path.join(options.out, "suites", run.suites),
    HOLDFAST_HOST_SAMPLES:
      process.env["HOLDFAST_HOST_SAMPLES"] ?? path.join(folder, "samples.json"),
  };
  const index = path.join(options.out, "suites", "index.cjs");
  const developed = run.asPerson
    ? testsExtension(path.join(folder, "tests"), index)
    : run.installed
      ? emptyExtension(path.join(folder, "empty"))
      : options.root;
  try {
    const exitCode = await runTests({
      vscodeExecutablePath: process.env["HOLDFAST_TEST_EDITOR"] ?? writeShim(folder),
      extensionDevelopmentPath: developed,
      extensionTestsPath: index,
      extensionTestsEnv: {
        ...environment,
        HOLDFAST_HOME: path.join(folder, "home"),
        HOLDFAST_EDITOR_SHIM: JSON.stringify(shim),
      },
      launchArgs: [
        makeSample(path.join(folder, "shop")),
        `--user-data-dir=${path.join(folder, "user")}`,
        `--extensions-dir=${path.join(folder, "extensions")}`,
      ],
    }).catch((error: unknown) => {
      console.error(`    ${String(error)}`);
      return 1;
    });
    return readResult(result, exitCode);
  } finally {
    fs.rmSync(folder, { recursive: true, force: true, maxRetries: 15, retryDelay: 100 });
  }
}

/** Exit code and result file must agree: a host that died, or never ran a test, has not passed. */
function readResult(file: string, exitCode: number): HostResult {
  if (!fs.existsSync(file)) return { passed: 0, failed: 1 };
  const result = JSON.parse(fs.readFileSync(file, "utf8")) as HostResult;
  const empty = result.passed + result.failed === 0;
  const disagrees = exitCode !== 0 && result.failed === 0;
  return { passed: result.passed, failed: result.failed + (empty || disagrees ? 1 : 0) };
}

/** One run here, in this process; what fails in a new editor too has failed. */
async function runTwice(run: HostRun, options: RunOptions): Promise<HostResult> {
  const first = await runOnce(run, options);
  if (first.failed === 0) return first;
  // A window on a busy machine can lose a key press or the focus.
  console.log(`\n  host: ${run.name}, second try`);
  return await runOnce(run, options);
}

/** One run in a process of its own; what it prints comes when it has ended, for another runs beside it. */
async function runApart(run: HostRun, options: RunOptions): Promise<HostResult> {
  const result = path.join(options.out, `${run.name}.json`);
  const args = [...process.execArgv, import.meta.filename];
  const child = spawn(
    process.execPath,
    [...args, JSON.stringify({ ...options, runs: [run.name] })],
    {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, HOLDFAST_TEST_RESULT: result },
    },
  );
  const printed: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (piece: Buffer) => printed.push(piece));
  }
  const [exitCode] = (await once(child, "close")) as [number | null];
  process.stdout.write(Buffer.concat(printed));
  return readResult(result, exitCode ?? 1);
}

const options = JSON.parse(process.argv[2] ?? "null") as RunOptions;
const wanted = hostRuns.filter(
  ({ name, onRequest }) =>
    options.runs.includes(name) || (options.runs.length === 0 && onRequest !== true),
);
const sum = { passed: 0, failed: 0 };
const waiting = [...wanted];
async function work(): Promise<void> {
  for (let run = waiting.shift(); run !== undefined; run = waiting.shift()) {
    const { passed, failed } = await (
      wanted.length > 1 ? runApart : run.onRequest ? runOnce : runTwice
    )(run, options);
    sum.passed += passed;
    sum.failed += failed;
  }
}
// Two at a time: an editor waits more than it computes.
await Promise.all([work(), work()]);
const resultFile = process.env["HOLDFAST_TEST_RESULT"];
if (resultFile !== undefined) fs.writeFileSync(resultFile, JSON.stringify(sum));
if (wanted.length !== 1) console.log(`\n  host: ${sum.passed} passing, ${sum.failed} failing`);
process.exitCode = sum.failed === 0 && sum.passed > 0 ? 0 : 1;
