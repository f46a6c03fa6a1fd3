// Where the tools that only development needs are kept: outside the repository, shared by every clone of one user.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";

/** `$XDG_CACHE_HOME/holdfast-dev`, or `~/.cache/holdfast-dev`. */
export function cacheFolder() {
  const base = process.env.XDG_CACHE_HOME || path.join(os.homedir(), ".cache");
  return path.join(base, "holdfast-dev");
}

/**
 * The folder `name` of the cache, filled by `fill(folder)` when it is not there yet. Filling happens beside it and ends
 * with a rename: a folder that exists is complete, and two processes that fill at once do not disturb each other.
 */
export async function cached(name, fill) {
  const target = path.join(cacheFolder(), name);
  if (fs.existsSync(target)) return target;
  fs.mkdirSync(cacheFolder(), { recursive: true });
  const partial = fs.mkdtempSync(`${target}.partial-`);
  try {
    await fill(partial);
    fs.renameSync(partial, target);
  } catch (error) {
    fs.rmSync(partial, { recursive: true, force: true });
    if (!fs.existsSync(target)) throw error;
  }
  return target;
}
