// What both commands do first: a Node that is new enough, and the packages that package-lock.json names.
// Nothing here may import a package: on a fresh clone there is none yet.
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { command, progress } from "./command.mjs";

export const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));

/** Throws when this Node is too old to run anything of ours. */
export function checkNode() {
  const major = Number(process.versions.node.split(".")[0]);
  if (major < 20) throw new Error(`Node 20 or newer is needed, this is ${process.version}`);
}

/** Installs the packages of package-lock.json unless exactly these versions are there. */
export async function setupModules() {
  if (modulesAreCurrent()) return;
  await progress("installing packages (npm ci)", () =>
    command("npm", ["ci", "--no-fund", "--no-audit", "--loglevel=error"], { cwd: root }),
  );
}

function modulesAreCurrent() {
  const installed = path.join(root, "node_modules", ".package-lock.json");
  if (!fs.existsSync(installed)) return false;
  const read = (file) => JSON.parse(fs.readFileSync(file, "utf8")).packages;
  const have = read(installed);
  return Object.entries(read(path.join(root, "package-lock.json"))).every(
    ([name, { version, optional, peer }]) =>
      name === "" || have[name]?.version === version || optional === true || peer === true,
  );
}
