// Runs the suites inside a real editor's extension host and prints `N passing` style output as they go.
//   node .config/host.mjs [NAME…]     only the runs with these names (see test/support/editorRun.ts)
// Bundles the suites, makes the extension package for the run that installs it, sets up the editor when it is missing.
import fs from "node:fs";
import path from "node:path";
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { build as esbuild } from "esbuild";
import { command, progress } from "./command.mjs";
import { findBrowser } from "./setupBrowser.mjs";
import { setupEditor } from "./setupEditor.mjs";

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
fs.mkdirSync(path.join(root, ".cache"), { recursive: true });
/** Of this run alone, and inside the repository, where the suites find their packages. */
const out = fs.mkdtempSync(path.join(root, ".cache", "host-"));
process.once("exit", () => fs.rmSync(out, { recursive: true, force: true }));
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.once(signal, () => process.exit(1));

async function bundleSuites() {
  const suites = suitesUnder("test/host");
  await esbuild({
    absWorkingDir: root,
    entryPoints: ["test/host/index.ts", "test/host/bench/playedSupervisor.ts", ...suites],
    outdir: path.join(out, "suites"),
    outbase: "test/host",
    outExtension: { ".js": ".cjs" },
    bundle: true,
    platform: "node",
    format: "cjs",
    target: "node20",
    sourcemap: "inline",
    external: ["vscode", "mocha"],
    define: { "import.meta.url": "undefined" },
    logLevel: "warning",
  });
}

function suitesUnder(folder) {
  return fs
    .readdirSync(path.join(root, folder), { recursive: true })
    .filter((name) => name.endsWith(".test.ts"))
    .map((name) => path.join(folder, name));
}

/**
 * The package that a person would install, made as they would make it. One that cannot be made fails the run that needs
 * it and no other.
 */
async function makePackage() {
  const file = path.join(out, "holdfast.vsix");
  await progress("packing the extension", () =>
    command("npx", ["vsce", "package", "--out", file], { cwd: root }),
  ).catch((error) => console.error(`host: ${error.message}`));
  return file;
}

const browser = findBrowser();
if (browser === undefined) {
  console.error(
    "host: no Chromium on PATH; install chromium, or name one in HOLDFAST_TEST_BROWSER",
  );
  process.exit(1);
}
const programs = await progress("setting up the editor (about 800 MB, once)", setupEditor);
await bundleSuites();
const options = {
  root,
  programs,
  browser,
  out,
  screenshots: path.join(root, ".cache", "screenshots"),
  package: await makePackage(),
  runs: process.argv.slice(2),
};
const run = spawnSync(
  process.execPath,
  ["--import", "tsx", path.join(root, "test", "support", "editorRun.ts"), JSON.stringify(options)],
  { cwd: root, stdio: ["ignore", "inherit", "inherit"] },
);
process.exit(run.status ?? 1);
