import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";

/** Absolute path of the repository. */
export const root = path.resolve(import.meta.dirname, "..", "..");

/** Files of the repository, tracked or about to be, relative, that still exist. */
export function repositoryFiles(): readonly string[] {
  const list = execFileSync(
    "git",
    ["ls-files", "-z", "--cached", "--others", "--exclude-standard"],
    { cwd: root, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 },
  );
  return list.split("\0").filter((file) => file !== "" && fs.existsSync(path.join(root, file)));
}

export function readRepositoryFile(file: string): string {
  return fs.readFileSync(path.join(root, file), "utf8");
}
