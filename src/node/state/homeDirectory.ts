import { mkdirSync, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import { Failure, messageOf } from "../../base/errors.ts";

/** Where all state lives: `$HOLDFAST_HOME`, else `$XDG_STATE_HOME/holdfast`, else `~/.local/state/holdfast`. */
export function homeDirectory(env: NodeJS.ProcessEnv): string {
  const explicit = env["HOLDFAST_HOME"];
  if (explicit !== undefined && explicit !== "") return path.resolve(explicit);
  const state = env["XDG_STATE_HOME"];
  const base =
    state !== undefined && path.isAbsolute(state) ? state : path.join(homedir(), ".local/state");
  return path.join(base, "holdfast");
}

/** Makes the home directory, private to its owner, and returns its real path. Refuses one that others can write. */
export function openHome(env: NodeJS.ProcessEnv): string {
  const home = homeDirectory(env);
  try {
    mkdirSync(path.join(home, "transactions"), { recursive: true, mode: 0o700 });
  } catch (error) {
    const fix = "set HOLDFAST_HOME to a directory of yours on a disk with room";
    throw new Failure(
      "failed",
      "home-unusable",
      `${home} cannot be made: ${messageOf(error)}`,
      fix,
    );
  }
  const found = statSync(home);
  const mine = process.getuid === undefined || found.uid === process.getuid();
  if (!mine || (found.mode & 0o022) !== 0) {
    const fix = `chmod 700 ${home}, or set HOLDFAST_HOME to a directory of yours`;
    throw new Failure("refused", "home-not-private", `others can write ${home}`, fix);
  }
  return realpathSync(home);
}
