import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, realpathSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";

/**
 * Writes a settings file of the person's as a whole, durable and private to its owner, and makes its folder when there is
 * none. People keep such files elsewhere and link to them: the link stays.
 */
export function replaceFile(file: string, text: string): void {
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  const target = existsSync(file) ? realpathSync(file) : file;
  const beside = `${target}.${randomBytes(6).toString("hex")}`;
  try {
    writeFileSync(beside, text, { mode: 0o600, flag: "wx", flush: true });
    renameSync(beside, target);
  } finally {
    rmSync(beside, { force: true });
  }
}
