import { accessSync, constants, lstatSync, realpathSync, statSync } from "node:fs";
import path from "node:path";
import { Failure, messageOf } from "../../base/errors.ts";

/**
 * The workspace that a command works on: the given directory, or the repository (else the folder) that holds the current
 * directory. Returns its real path. Throws a Failure when it is no folder or cannot be read.
 */
export function workspaceRoot(given: string | undefined, cwd: string): string {
  const real = realFolder(given ?? cwd);
  return given === undefined ? (repositoryOf(real) ?? real) : real;
}

function realFolder(folder: string): string {
  let real: string;
  try {
    real = realpathSync(folder);
  } catch (error) {
    const fix = "give an existing folder with --workspace";
    throw new Failure(
      "failed",
      "workspace-missing",
      `cannot open ${folder}: ${messageOf(error)}`,
      fix,
    );
  }
  if (!statSync(real).isDirectory()) {
    const fix = "give the folder that holds it with --workspace";
    throw new Failure("failed", "workspace-not-a-folder", `${folder} is not a folder`, fix);
  }
  try {
    accessSync(real, constants.R_OK | constants.X_OK);
  } catch {
    const fix = `chmod u+rx ${real}, or run as its owner`;
    throw new Failure("failed", "workspace-unreadable", `${folder} cannot be read`, fix);
  }
  return real;
}

/** The closest folder upwards that has a `.git`, a directory or a file. */
function repositoryOf(folder: string): string | undefined {
  for (let at = folder; ; at = path.dirname(at)) {
    if (lstatSync(path.join(at, ".git"), { throwIfNoEntry: false }) !== undefined) return at;
    if (at === path.dirname(at)) return undefined;
  }
}

/** Refuses a workspace that holds our state or lies in it, and the root of the filesystem. */
export function checkWorkspacePlace(workspace: string, home: string): void {
  const inside = (inner: string, outer: string): boolean => {
    const relative = path.relative(outer, inner);
    return relative === "" || !(relative.startsWith("..") || path.isAbsolute(relative));
  };
  if (workspace === "/") {
    throw new Failure(
      "failed",
      "workspace-is-root",
      "the root of the filesystem cannot be a workspace",
      "choose a folder",
    );
  }
  if (inside(workspace, home)) {
    const message = `the workspace ${workspace} lies inside HOLDFAST_HOME (${home})`;
    throw new Failure(
      "failed",
      "workspace-in-home",
      message,
      "move it out, or set HOLDFAST_HOME elsewhere",
    );
  }
  if (inside(home, workspace)) {
    const message = `HOLDFAST_HOME (${home}) lies inside the workspace ${workspace}`;
    throw new Failure(
      "failed",
      "home-in-workspace",
      message,
      "set HOLDFAST_HOME to a folder outside it",
    );
  }
}
