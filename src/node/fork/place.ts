import {
  accessSync,
  constants,
  mkdirSync,
  realpathSync,
  rmdirSync,
  statSync,
  type Stats,
} from "node:fs";
import path from "node:path";
import { Failure, messageOf } from "../../base/errors.ts";
import { mountOf } from "./mounts.ts";
import type { TransactionPaths } from "../../runtime/ports.ts";

function same(a: Stats, b: Stats): boolean {
  return a.dev === b.dev && a.ino === b.ino;
}

/** True when `inner` is `outer` or lies below it, compared by identity and not by name. */
function isWithin(inner: string, outer: string): boolean {
  const wanted = statSync(outer);
  for (let at = inner; ; at = path.dirname(at)) {
    if (same(statSync(at), wanted)) return true;
    if (at === path.dirname(at)) return false;
  }
}

/** Refuses what cannot be forked: no folder, not readable, the whole machine, or entangled with our own state. */
export function checkWorkspace(workspace: string, paths: TransactionPaths): void {
  const fix = "give a project's folder with --workspace";
  const stat = statSync(workspace, { throwIfNoEntry: false });
  if (stat?.isDirectory() !== true) {
    const what = stat === undefined ? "does not exist" : "is not a folder";
    throw new Failure("failed", "workspace-not-a-folder", `${workspace} ${what}`, fix);
  }
  try {
    accessSync(workspace, constants.R_OK | constants.X_OK);
  } catch (error) {
    const line = `${workspace} cannot be read: ${messageOf(error)}`;
    throw new Failure("failed", "workspace-unreadable", line, "allow yourself to read it", error);
  }
  const real = realpathSync(workspace);
  if (real === "/") throw new Failure("failed", "workspace-is-root", "/ is not a project", fix);
  const home = path.dirname(path.dirname(realpathSync(paths.root)));
  if (isWithin(home, real) || isWithin(real, home)) {
    const line = `${workspace} and Holdfast's own state in ${home} lie inside each other`;
    throw new Failure("failed", "workspace-in-home", line, "set HOLDFAST_HOME to another place");
  }
}

/**
 * Where the shadow goes: beside the transaction's state when that is on the workspace's filesystem. Otherwise, for a
 * clone that can share blocks, below the highest directory of the workspace's filesystem that we may write, never inside
 * the repository: `.holdfast-<uid>/<transaction>`, 0700. Undefined in the first case, and when there is no such place.
 */
export function besideWorkspace(workspace: string, paths: TransactionPaths): string | undefined {
  const mount = mountOf(workspace);
  if (mountOf(paths.root).device === mount.device) return undefined;
  const above: string[] = [];
  let at = path.dirname(realpathSync(workspace));
  for (; at.length >= mount.point.length && at !== path.dirname(at); at = path.dirname(at))
    above.unshift(at);
  const uid = process.getuid?.() ?? 0;
  for (const directory of above) {
    const own = path.join(directory, `.holdfast-${uid}`);
    if (isOurs(own, uid)) return path.join(own, path.basename(paths.root));
  }
  return undefined;
}

/** Makes the directory, or finds it as we left it: a real directory of this user that nobody else enters. */
function isOurs(directory: string, uid: number): boolean {
  try {
    mkdirSync(directory, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") return false;
  }
  const stat = statSync(directory, { throwIfNoEntry: false });
  return (
    stat?.isDirectory() === true &&
    realpathSync(directory) === directory &&
    stat.uid === uid &&
    (stat.mode & 0o077) === 0
  );
}

const stillUsed: ReadonlySet<string> = new Set(["ENOTEMPTY", "EEXIST", "ENOENT"]);

/** Removes the directories beside a workspace (`.holdfast-<uid>/<transaction>`) as far as they are empty. */
export function tidyBeside(directory: string): void {
  for (const one of [directory, path.dirname(directory)]) {
    try {
      rmdirSync(one);
    } catch (error) {
      if (!stillUsed.has((error as NodeJS.ErrnoException).code ?? "")) throw error;
    }
  }
}
