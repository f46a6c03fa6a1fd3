import { closeSync, constants, fsyncSync, openSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";

/** Makes the entries of a directory durable. */
export function syncDirectory(directory: string): void {
  const fd = openSync(directory, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Writes a file that after a crash is there whole or not at all. */
export function writeDurably(file: string, content: string): void {
  const fresh = `${file}.new`;
  const fd = openSync(fresh, "w", 0o600);
  try {
    writeFileSync(fd, content);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameDurably(fresh, file);
}

/** Renames within a directory; durable when it returns. */
export function renameDurably(from: string, to: string): void {
  renameSync(from, to);
  syncDirectory(path.dirname(to));
}
