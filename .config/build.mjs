// Builds everything that runs: the native program, the Node bundles and the webview. Plain Node, no arguments needed.
//   node .config/build.mjs            everything
//   node .config/build.mjs native     only what the named groups make (native, bundles)
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build as esbuild, transform } from "esbuild";

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const dist = path.join(root, "dist");

/** Node programs: each becomes one CommonJS file. A part whose source is not there yet is left out with a message. */
const programs = [
  // What is started is small and runs the program beside it from the cache of compiled code.
  { entry: "src/cli/holdfast.ts", out: "holdfast.cjs", executable: true },
  { entry: "src/cli/main.ts", out: "command.cjs" },
  { entry: "src/supervisor/start.ts", out: "supervisor.cjs" },
  { entry: "src/supervisor/main.ts", out: "supervise.cjs" },
  { entry: "src/node/checks/worker.ts", out: "checkWorker.cjs", external: ["typescript"] },
  { entry: "src/extension.ts", out: "extension.cjs", external: ["vscode"] },
  { entry: "src/vscode/holdfastExtension.ts", out: "holdfastExtension.cjs", external: ["vscode"] },
];

const manifestOf = (folder) =>
  JSON.parse(fs.readFileSync(path.join(folder, "package.json"), "utf8"));

const webviews = [{ entry: "webview/timeline.ts", style: "webview/timeline.css", out: "webview" }];

const shared = {
  absWorkingDir: root,
  bundle: true,
  write: false,
  minify: true,
  legalComments: "none",
  define: { "process.env.HOLDFAST_VERSION": JSON.stringify(manifestOf(root).version) },
  logLevel: "warning",
};

/**
 * What asks its own classes for their names keeps them. Everything else goes without: keeping a name costs a call each time
 * that a function is made, and what serves a request makes many.
 */
const keptNames = {
  name: "kept names",
  setup: (building) =>
    building.onLoad(
      { filter: /[\\/]node_modules[\\/]asn1js[\\/].*\.js$/ },
      async ({ path: file }) => {
        const text = fs.readFileSync(file, "utf8");
        return { contents: (await transform(text, { keepNames: true })).code };
      },
    ),
};

/** Of zod's messages in forty languages, English alone: every start of a program would make them all. */
const oneLocale = {
  name: "one locale",
  setup: (building) =>
    building.onLoad({ filter: /[\\/]zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, () => ({
      contents: 'export { default as en } from "./en.js";',
    })),
};

/** A program that imports another's entry dynamically loads that one's file at run time: what is not needed is not read. */
const apart = {
  name: "programs apart",
  setup: (building) =>
    building.onResolve({ filter: /^\./ }, ({ path: asked, resolveDir, kind }) => {
      if (kind !== "dynamic-import") return undefined;
      const entry = path.relative(root, path.resolve(resolveDir, asked));
      const program = programs.find((one) => one.entry === entry);
      return program === undefined ? undefined : { path: `./${program.out}`, external: true };
    }),
};

/** Writes beside the target and renames, so that a program that starts meanwhile never reads half a file. */
function place(file, contents, mode = 0o644) {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  const beside = `${file}.${process.pid}.new`;
  fs.writeFileSync(beside, contents, { mode });
  fs.renameSync(beside, file);
}

/** One Node program as CommonJS, in memory; `out` is relative to `dist`. */
export function bundleProgram({ entry, out, executable = false, external = [] }) {
  return esbuild({
    ...shared,
    plugins: [keptNames, oneLocale, apart],
    entryPoints: [entry],
    outfile: path.join(dist, out),
    platform: "node",
    format: "cjs",
    target: "node20",
    // As `require`: the editor gives `vscode` to what is loaded that way.
    supported: { "dynamic-import": false },
    external,
    // Main fields in this order take the ES build of a package, which tree-shakes; its CommonJS build may hide requires.
    mainFields: ["module", "main"],
    ...(executable ? { banner: { js: "#!/usr/bin/env node" } } : {}),
  });
}

function bundleWebview({ entry, style, out }) {
  const entryPoints = [entry];
  if (fs.existsSync(path.join(root, style)) && !importsStyle(entry, style)) entryPoints.push(style);
  return esbuild({
    ...shared,
    entryPoints,
    outdir: path.join(dist, out),
    outbase: path.dirname(entry),
    platform: "browser",
    format: "iife",
    target: "es2022",
    loader: { ".svg": "dataurl", ".ttf": "dataurl" },
  });
}

const present = ({ entry }) => fs.existsSync(path.join(root, entry));

/** One promise for each part whose source is there: its files in memory, `file` relative to dist. */
function bundlesOfParts() {
  const filesOf = (outputFiles, mode) =>
    outputFiles.map((file) => ({ file: path.relative(dist, file.path), text: file.text, mode }));
  return [
    ...programs.filter(present).map(async (program) => {
      const { outputFiles } = await bundleProgram(program);
      return filesOf(outputFiles, program.executable === true ? 0o755 : 0o644);
    }),
    ...webviews.filter(present).map(async (view) => {
      const { outputFiles } = await bundleWebview(view);
      return filesOf(outputFiles, 0o644);
    }),
  ];
}

/** Every bundle whose source is there, in memory: `[{ file, text, mode }]`. */
export async function bundle() {
  return (await Promise.all(bundlesOfParts())).flat();
}

/** Whether the entry brings its style sheet along, in which case a second entry would write the same file. */
function importsStyle(entry, style) {
  return fs.readFileSync(path.join(root, entry), "utf8").includes(`./${path.basename(style)}`);
}

/** Makes the native program and copies it to where the installed extension looks for it. */
function buildNative() {
  const folder = path.join(root, "native");
  if (!fs.existsSync(path.join(folder, "Makefile"))) return undefined;
  const made = spawnSync("make", ["-s", "-C", folder], { stdio: ["ignore", "inherit", "inherit"] });
  if (made.error?.code === "ENOENT")
    throw new Error(
      "make is missing: install build-essential (make and a C compiler), then build again",
    );
  if (made.status !== 0)
    throw new Error("the native program did not build: see the compiler's messages above");
  const binary = path.join(folder, "build", "holdfast-native");
  const target = path.join(
    dist,
    "native",
    `${process.platform}-${process.arch}`,
    "holdfast-native",
  );
  const contents = fs.readFileSync(binary);
  place(target, contents, 0o755);
  return contents.length;
}

/**
 * Copies the compiler that checks fall back to when the workspace brings none: its library interface and the types of
 * the language, without the language server and the command.
 */
function placeCompiler() {
  const from = path.join(root, "node_modules", "typescript");
  const to = path.join(dist, "typescript");
  const { version } = manifestOf(from);
  if (fs.existsSync(to) && manifestOf(to).version === version) return;
  const beside = fs.mkdtempSync(`${to}.new-`);
  const wanted = /^(typescript\.js|lib(\..+)?\.d\.ts)$/;
  for (const name of fs.readdirSync(path.join(from, "lib")).filter((one) => wanted.test(one)))
    fs.cpSync(path.join(from, "lib", name), path.join(beside, "lib", name));
  for (const name of ["package.json", "LICENSE.txt"])
    fs.cpSync(path.join(from, name), path.join(beside, name));
  fs.chmodSync(beside, 0o755);
  fs.rmSync(to, { recursive: true, force: true });
  fs.renameSync(beside, to);
}

/** Builds the named groups (`native`, `bundles`; both by default) and tells `log` one line for each part. */
export async function build(log = console.log, groups = ["native", "bundles"]) {
  const begun = Date.now();
  const say = (name, bytes, since) =>
    log(`build: ${name} ${(bytes / 1024).toFixed(0)} KiB in ${Date.now() - since} ms`);
  if (groups.includes("native")) {
    const since = Date.now();
    const bytes = buildNative();
    if (bytes === undefined)
      log("build: native/Makefile is not there yet, native program left out");
    else say("native/holdfast-native", bytes, since);
  }
  if (groups.includes("bundles")) {
    const since = Date.now();
    for (const { entry, out } of [...programs, ...webviews].filter((part) => !present(part)))
      log(`build: ${entry} is not there yet, ${out} left out`);
    const settled = await Promise.allSettled(bundlesOfParts());
    for (const { file, text, mode } of settled.flatMap(({ value = [] }) => value)) {
      place(path.join(dist, file), text, mode);
      say(file, Buffer.byteLength(text), since);
    }
    placeCompiler();
    // The parts that bundle are in place even so: one broken part must not hold up work on the others.
    const failed = settled.find(({ status }) => status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }
  log(`build: done in ${Date.now() - begun} ms`);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const groups = process.argv.slice(2);
  try {
    await build(console.log, groups.length > 0 ? groups : undefined);
  } catch (error) {
    // What does not bundle has been printed in full already.
    console.error(`build: ${error.errors === undefined ? error.message : "the bundles failed"}`);
    process.exitCode = 1;
  }
}
