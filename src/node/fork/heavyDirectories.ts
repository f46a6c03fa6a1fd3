import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync, statSync } from "node:fs";
import path from "node:path";
import type { OverlayMount } from "../../runtime/ports.ts";
import { askGit } from "./git.ts";
import { mountsBelow } from "./mounts.ts";
import { decodePath, encodePath } from "./pathBytes.ts";

/** From here on an overlay costs less than a clone. */
const manyEntries = 400;
const manyBytes = 32 << 20;

/** Output that a project's tools make, looked for where git cannot say what is ignored. */
const usualOutput = ["node_modules", "target", ".venv", "venv"];

function isHeavy(directory: string, bytesCount: boolean): boolean {
  const queue = [directory];
  let entries = 0;
  let bytes = 0;
  for (let at = queue.pop(); at !== undefined; at = queue.pop()) {
    for (const entry of readdirSync(at, { withFileTypes: true })) {
      const file = path.join(at, entry.name);
      if (entry.isDirectory()) queue.push(file);
      else if (bytesCount) bytes += lstatSync(file, { throwIfNoEntry: false })?.size ?? 0;
      entries += 1;
      if (entries > manyEntries || bytes > manyBytes) return true;
    }
  }
  return false;
}

function isOwnDirectory(file: string): boolean {
  // In two steps: `.git` of a worktree is a file, and asking below one throws.
  if (lstatSync(path.dirname(file), { throwIfNoEntry: false })?.isDirectory() !== true)
    return false;
  const stat = lstatSync(file, { throwIfNoEntry: false });
  const uid = process.getuid?.() ?? 0;
  return stat?.isDirectory() === true && (uid === 0 || stat.uid === uid);
}

async function ignoredDirectories(workspace: string): Promise<readonly string[]> {
  const answer = await askGit(
    ["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"],
    { cwd: workspace },
  );
  if (answer.code === 0) {
    return decodePath(answer.output)
      .split("\0")
      .filter((one) => one.endsWith("/"))
      .map((one) => one.slice(0, -1));
  }
  const places = readdirSync(workspace, { withFileTypes: true })
    .filter((one) => one.isDirectory() && !usualOutput.includes(one.name))
    .map((one) => `${one.name}/`);
  return ["", ...places].flatMap((place) =>
    usualOutput.map((name) => place + name).filter((one) => existsSync(path.join(workspace, one))),
  );
}

/**
 * Ignored directories that are dear to clone: many entries, or (where blocks are not shared) many bytes. Object
 * directories of git count too where blocks are not shared. Relative to the workspace, none inside another. Directories
 * that hold a mount, or that belong to somebody else, cannot come in as an overlay and are left out.
 */
export async function heavyDirectories(workspace: string, shared: boolean): Promise<string[]> {
  const candidates = [...(await ignoredDirectories(workspace))];
  if (!shared) candidates.push(".git/objects");
  const mounts = mountsBelow(workspace);
  return candidates.filter((one) => {
    const full = path.join(workspace, one);
    if (encodePath(one).includes(0x5c) || !Buffer.from(one, "utf8").equals(encodePath(one)))
      return false;
    if (!isOwnDirectory(full) || mounts.some((mount) => mount.startsWith(`${full}/`))) return false;
    return isHeavy(full, !shared);
  });
}

/** Makes the layers of one overlay. The upper directory is what shows as the top: it takes the lower one's mode. */
export function prepareOverlay(workspace: string, at: string, layers: string): OverlayMount {
  const lower = path.join(workspace, at);
  const upper = path.join(layers, "upper");
  const work = path.join(layers, "work");
  mkdirSync(layers, { recursive: true, mode: 0o700 });
  mkdirSync(upper);
  chmodSync(upper, statSync(lower).mode & 0o7777);
  mkdirSync(work, { mode: 0o700 });
  return { at, lower, upper, work };
}
