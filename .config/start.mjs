// `npm start`: sets up what is missing, lets a scripted agent work on a copy of the sample project in a transaction,
// prints what happened, and opens the transaction for review in the editor.
//   npm start -- --headless     ends after the printing; so does a start without a terminal
// Plain Node without packages: on a fresh clone there are none yet.
import { spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { command, progress } from "./command.mjs";
import { checkNode, root, setupModules } from "./setup.mjs";
import { programOnPath } from "./setupBrowser.mjs";
import { setupEditor } from "./setupEditor.mjs";
import { setupPackages, toEdit, toRun } from "./setupPackages.mjs";

const task = "Add coupons, give prices a currency, and make the order lookup safe";
const agent = path.join(root, "test", "samples", "scriptedAgent.mjs");

const bold = (text) => (process.stdout.isTTY ? `\u001b[1m${text}\u001b[0m` : text);
const say = (text) => process.stdout.write(`\n${bold(text)}\n`);

const program = path.join(root, "dist", "holdfast.cjs");

/** Runs the `holdfast` command as a person would, its output shown as it comes. Gives the exit code. */
function holdfast(demo, ...args) {
  announce(args);
  const { status, error } = spawnSync(process.execPath, [program, ...args], {
    cwd: demo.workspace,
    env: demo.env,
    stdio: "inherit",
  });
  if (error !== undefined) throw error;
  return status;
}

/** Runs a `holdfast` command that must work for the rest to make sense; says that it goes on when it takes long. */
async function show(demo, ...args) {
  announce(args);
  const output = await progress(`holdfast ${args[0]}`, () =>
    command(process.execPath, [program, ...args], { cwd: demo.workspace, env: demo.env }),
  );
  process.stdout.write(output);
}

function announce(args) {
  const words = args.map((word) => (/[\s;]/.test(word) ? JSON.stringify(word) : word));
  say(`$ holdfast ${words.join(" ")}`);
}

async function setUp() {
  checkNode();
  await setupPackages(toRun);
  await setupModules();
  const { build } = await import("./build.mjs");
  const lines = [];
  await progress("building", () => build((line) => lines.push(line)));
}

/** The sample project and a place for Holdfast's state, both in a temporary folder of this run. */
async function prepare() {
  const folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-demo-")));
  const { makeSample } = await import("../test/samples/makeSample.mjs");
  const workspace = await progress("copying the sample project", () =>
    makeSample(path.join(folder, "shop")),
  );
  return { folder, workspace, env: { ...process.env, HOLDFAST_HOME: path.join(folder, "state") } };
}

/** The transaction as it stands after the agent's end: what it did, what it changed, what that broke, what waits. */
async function showTransaction(demo, delay) {
  const status = holdfast(
    demo,
    ...["run", "--agent", "scripted", "--task", task],
    ...["--", process.execPath, agent, "--delay", String(delay)],
  );
  // 5 says that a call is held, which this agent is there to show.
  if (status !== 0 && status !== 5) throw new Error(`holdfast run ended with ${status}`);
  await show(demo, "timeline", "latest", "--tree");
  await show(demo, "changes", "latest");
  await show(demo, "check", "latest");
  await show(demo, "holds", "latest");
  say("Your files so far");
  const { stdout } = spawnSync("git", ["status", "--short"], {
    cwd: demo.workspace,
    encoding: "utf8",
  });
  console.log(stdout === "" ? "untouched: git status has nothing to say" : stdout);
}

/** A desktop editor, when one is installed and there is a screen to show it on. */
function desktopEditor() {
  const screen = process.env.DISPLAY ?? process.env.WAYLAND_DISPLAY;
  if (process.platform !== "darwin" && screen === undefined) return undefined;
  return ["code", "codium", "code-insiders"].map(programOnPath).find((file) => file !== undefined);
}

async function reviewOnDesktop(editor, demo) {
  say(
    `Review it in the editor: the Holdfast view in the activity bar. Closing the window ends this.`,
  );
  const profile = path.join(demo.folder, "editor");
  const args = [
    ...["--new-window", "--wait", "--disable-workspace-trust"],
    ...[
      "--user-data-dir",
      path.join(profile, "user"),
      "--extensions-dir",
      path.join(profile, "ext"),
    ],
    ...["--extensionDevelopmentPath", root, demo.workspace],
  ];
  await new Promise((resolve, reject) => {
    const child = spawn(editor, args, { env: demo.env, stdio: "ignore" });
    child.once("error", reject);
    child.once("exit", resolve);
  });
}

async function reviewInBrowser(demo) {
  await setupPackages(toEdit);
  const programs = await progress(
    "setting up the browser editor (about 800 MB, once)",
    setupEditor,
  );
  const file = path.join(demo.folder, "holdfast.vsix");
  await progress("packing the extension", () =>
    command("npx", ["vsce", "package", "--out", file], { cwd: root }),
  );
  const { tsImport } = await import("tsx/esm/api");
  const { startEditor } = await tsImport("../test/support/editorServer.ts", import.meta.url);
  const home = path.join(demo.folder, "editor");
  const editor = await progress("starting the browser editor", () =>
    startEditor({
      programs,
      home,
      settings: {},
      install: [file],
      env: { HOLDFAST_HOME: demo.env.HOLDFAST_HOME },
    }),
  );
  say("Review it in the browser: the Holdfast view in the activity bar. Ctrl-C ends this.");
  console.log(`${editor.url}/?folder=${encodeURIComponent(demo.workspace)}`);
  await new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.once(signal, resolve);
  });
  await editor.stop();
}

/** Ends what still runs for the transaction and removes the temporary folder. */
function cleanUp(demo) {
  const { stdout } = spawnSync(process.execPath, [program, "status", "latest", "--json"], {
    cwd: demo.workspace,
    env: demo.env,
    encoding: "utf8",
  });
  if (/"state":\s*"(sealed|open|interrupted)"/.test(stdout)) holdfast(demo, "discard", "latest");
  fs.rmSync(demo.folder, { recursive: true, force: true, maxRetries: 5 });
}

async function main(args) {
  const unknown = args.find((argument) => argument !== "--headless");
  if (unknown !== undefined)
    throw new Error(`unknown argument ${unknown}; there is only --headless`);
  const headless = args.includes("--headless") || !process.stdout.isTTY;
  await setUp();
  const demo = await prepare();
  try {
    await showTransaction(demo, headless ? 0 : 250);
    if (headless) return;
    const editor = desktopEditor();
    if (editor === undefined) await reviewInBrowser(demo);
    else await reviewOnDesktop(editor, demo);
  } finally {
    cleanUp(demo);
  }
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  console.error(`start: ${error.message}`);
  process.exitCode = 1;
}
