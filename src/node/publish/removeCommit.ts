import { chmodSync, lstatSync, readdirSync, readFileSync, rmSync, unlinkSync } from "node:fs";
import path from "node:path";
import { syncDirectory } from "./durable.ts";
import { intentFile, stagesFile, type StageDirectory } from "./intent.ts";

/** The stages that a commit's directory told of, made or not. */
export function stagesOf(directory: string): readonly StageDirectory[] {
  try {
    return JSON.parse(readFileSync(path.join(directory, stagesFile), "utf8")) as StageDirectory[];
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

/** Removes stages that do not lie in the state directory. Idempotent. */
export function removeOutsideStages(directory: string): void {
  for (const stage of stagesOf(directory)) if (!stage.own) removeTree(stage.path);
}

/** Removes a commit's directory and every stage it told of. Idempotent. */
export function removeCommit(directory: string): void {
  // The intent first: without its stages it would be taken for something else.
  if (lstatSync(path.join(directory, intentFile), { throwIfNoEntry: false }) !== undefined) {
    unlinkSync(path.join(directory, intentFile));
    syncDirectory(directory);
  }
  removeOutsideStages(directory);
  removeTree(directory);
}

function removeTree(directory: string): void {
  const found = lstatSync(directory, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (found.isDirectory()) openUp(directory);
  rmSync(directory, { recursive: true, force: true });
}

/** Kept directories may have modes that forbid emptying them. */
function openUp(directory: string): void {
  for (const item of readdirSync(directory, { withFileTypes: true })) {
    if (!item.isDirectory()) continue;
    const below = path.join(directory, item.name);
    chmodSync(below, 0o700);
    openUp(below);
  }
}
