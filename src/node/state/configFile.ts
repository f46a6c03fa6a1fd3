import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import { Failure, messageOf } from "../../base/errors.ts";
import type { ConfigProblem } from "../../core/config/readConfig.ts";

/** Such files are written by people: one that is larger than this, in bytes, is something else. */
const largest = 1024 * 1024;

/** A file of the user's own configuration: `$XDG_CONFIG_HOME/holdfast/NAME`, else `~/.config/holdfast/NAME`. */
export function userConfigPath(
  env: Readonly<Record<string, string | undefined>>,
  name: string,
): string {
  const configured = env["XDG_CONFIG_HOME"];
  const base =
    configured !== undefined && path.isAbsolute(configured)
      ? configured
      : path.join(homedir(), ".config");
  return path.join(base, "holdfast", name);
}

/** A problem as editors and people read it: `file:line:column: message`. */
export function problemLine(problem: ConfigProblem): string {
  return `${problem.file}:${problem.line}:${problem.column}: ${problem.message}`;
}

/**
 * The text of a configuration file; undefined when there is none. A workspace's may not be a link: it would choose what we
 * read. The user's own may not be writable by others. `subject` begins the codes of failures.
 *
 * @throws Failure `<subject>-unreadable`, `<subject>-foreign`.
 */
export function configText(
  file: string,
  owner: "user" | "workspace",
  subject: "policy" | "checks" | "agents",
): string | undefined {
  const noFollow = owner === "workspace" ? constants.O_NOFOLLOW : 0;
  let descriptor: number;
  try {
    descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK | noFollow);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw unreadable(file, subject, messageOf(error));
  }
  try {
    const found = fstatSync(descriptor);
    if (!found.isFile()) throw unreadable(file, subject, "it is not a regular file");
    if (found.size > largest) throw unreadable(file, subject, "it is larger than 1 MiB");
    if (owner === "user") refuseForeign(file, subject, found);
    return readFileSync(descriptor, "utf8");
  } finally {
    closeSync(descriptor);
  }
}

/** Whoever can write the user's configuration decides what is allowed and what runs. */
function refuseForeign(
  file: string,
  subject: string,
  found: { readonly uid: number; readonly mode: number },
): void {
  if (process.getuid === undefined) return;
  const isOurs = found.uid === process.getuid() || found.uid === 0;
  if (isOurs && (found.mode & 0o022) === 0) return;
  const fix = `chmod go-w ${file}, and own it yourself`;
  throw new Failure("refused", `${subject}-foreign`, `others can write ${file}`, fix);
}

function unreadable(file: string, subject: string, why: string): Failure {
  const message = `${file} cannot be read: ${why}`;
  return new Failure("failed", `${subject}-unreadable`, message, "check it");
}
