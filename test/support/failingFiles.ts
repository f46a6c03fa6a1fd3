import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

type Call = (...args: unknown[]) => unknown;

/** Calls that change something; `all` adds those that only read. */
const writing =
  /^(open|write|writeFile|fsync|fdatasync|rename|mkdir|rm|rmdir|unlink|symlink|link|chmod|fchmod|copyFile|ftruncate|utimes)Sync$/;
const any = /Sync$/;

/**
 * Counts every call of Node's synchronous file functions (and of `fdatasync`) from now on, in this whole process, and
 * lets `before` act on each: throw, or end the process. Gives back what undoes it.
 */
export function interceptFiles(
  which: "writing" | "all",
  before: (name: string) => void,
): () => void {
  const table = fs as unknown as Record<string, unknown>;
  const pattern = which === "all" ? any : writing;
  const saved = new Map<string, unknown>();
  for (const [name, value] of Object.entries(table)) {
    if (typeof value !== "function" || !(pattern.test(name) || name === "fdatasync")) continue;
    saved.set(name, value);
    const real = value as Call;
    table[name] = (...args: unknown[]): unknown => {
      before(name);
      return real(...args);
    };
  }
  syncBuiltinESMExports();
  return () => {
    for (const [name, value] of saved) table[name] = value;
    syncBuiltinESMExports();
  };
}

/** The error that a system call gives. */
export function systemError(code: string): Error {
  return Object.assign(new Error(`${code}: on purpose`), { code });
}
