import { closeSync, lstatSync, openSync, readSync } from "node:fs";
import path from "node:path";

/**
 * How many files git tracks in a workspace that is the top of its repository, from the header of its index (magic,
 * version, number of entries; big-endian): a look that costs the same for any number. Undefined where there is no such
 * file.
 */
export function trackedFiles(workspace: string): number | undefined {
  const file = path.join(workspace, ".git/index");
  const header = Buffer.alloc(12);
  try {
    if (!lstatSync(file).isFile()) return undefined;
    const fd = openSync(file, "r");
    try {
      if (readSync(fd, header, 0, 12, 0) < 12) return undefined;
    } finally {
      closeSync(fd);
    }
  } catch {
    return undefined; // no repository, or a worktree's
  }
  return header.toString("latin1", 0, 4) === "DIRC" ? header.readUInt32BE(8) : undefined;
}
