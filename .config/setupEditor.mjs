// Puts a real VS Code workbench and extension host on this machine: code-server, which needs a newer Node than ours,
// both from the package registry. Its native modules are compiled here, only those that the server loads.
import fs from "node:fs";
import path from "node:path";
import { cached, cacheFolder } from "./cache.mjs";
import { command } from "./command.mjs";

const codeServerVersion = "4.139.1";
const nodeVersion = "24.22.3";

/** Where the editor is (or would be) in the cache; `fill` is left to {@link setupEditor}. */
const folderName = `editor-${codeServerVersion}-node${nodeVersion}-${process.platform}-${process.arch}`;

function partsOf(folder) {
  return {
    node: path.join(
      folder,
      "node_modules",
      `node-${process.platform}-${process.arch}`,
      "bin",
      "node",
    ),
    server: path.join(folder, "node_modules", "code-server", "out", "node", "entry.js"),
  };
}

/** Installs the editor when it is missing. Gives the programs to start: `node` and the `server` script it runs. */
export async function setupEditor() {
  return partsOf(await cached(folderName, install));
}

/** Whether the editor is installed. */
export function hasEditor() {
  return fs.existsSync(path.join(cacheFolder(), folderName));
}

async function install(folder) {
  fs.writeFileSync(path.join(folder, "package.json"), '{"private":true}\n');
  const nodePackage = `node-${process.platform}-${process.arch}`;
  const quiet = ["--no-fund", "--no-audit", "--loglevel=error"];
  await command(
    "npm",
    [
      "install",
      "--ignore-scripts",
      ...quiet,
      `${nodePackage}@${nodeVersion}`,
      `code-server@${codeServerVersion}`,
    ],
    { cwd: folder },
  );
  const home = path.join(folder, "node_modules", nodePackage);
  const env = {
    ...process.env,
    PATH: `${path.join(home, "bin")}${path.delimiter}${process.env.PATH}`,
    npm_config_nodedir: home,
    npm_config_yes: "true",
  };
  const vscode = path.join(folder, "node_modules", "code-server", "lib", "vscode");
  const extensions = path.join(vscode, "extensions");
  const npm = (cwd, ...args) => command("npm", [...args, ...quiet], { cwd, env });
  await npm(vscode, "install", "--omit=dev", "--ignore-scripts");
  await npm(vscode, "rebuild", "@vscode/spdlog", "@vscode/native-watchdog", "node-pty");
  await npm(extensions, "install", "--omit=dev", "--ignore-scripts");
  await command(path.join(home, "bin", "node"), ["postinstall.mjs"], { cwd: extensions, env });
  const { node, server } = partsOf(folder);
  await command(node, [server, "--version"], { env });
}
