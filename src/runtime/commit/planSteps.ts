import { sameState } from "../../core/change/changeSet.ts";
import { comparePaths } from "../../core/change/pathRules.ts";
import type { PathConflict } from "./conflictFailure.ts";
import type { PlannedPath } from "./planPaths.ts";
import type { PublishStep, PublishTarget } from "./publishPort.ts";

/** The step that brings a path to its planned result; undefined when it is there already. */
export function stepOf({ path, mine, result }: PlannedPath): PublishStep | undefined {
  const expected = mine?.identity;
  if (result === undefined) {
    if (mine === undefined || expected === undefined) return undefined;
    return mine.state.type === "directory"
      ? { step: "removeDirectory", path }
      : { step: "remove", path, expected };
  }
  const { state } = result;
  if (state.type === "symlink") return { step: "link", path, target: state.target, expected };
  if (mine !== undefined && sameState(mine.state, state, false)) {
    return { step: "mode", path, mode: state.mode, expected: mine.identity };
  }
  if (state.type === "directory") return { step: "makeDirectory", path, mode: state.mode };
  if (result.content === undefined) throw new Error(`no content for ${path}`);
  return { step: "put", path, state, content: result.content, expected };
}

/** What is known about directories besides the workspace. */
export interface DirectoryKnowledge {
  /** Permission bits for a directory that must be made; undefined: the usual ones. */
  readonly modeOf: (path: string) => Promise<number | undefined>;
  /** True when an emptied directory is to stay. */
  readonly stays: (path: string) => Promise<boolean>;
}

/** The parent directories to make and to remove around the planned paths, and the paths that stand in the way. */
export async function planDirectories(
  target: Pick<PublishTarget, "look">,
  planned: readonly PlannedPath[],
  knowledge: DirectoryKnowledge,
): Promise<{
  readonly steps: readonly PublishStep[];
  readonly conflicts: readonly PathConflict[];
}> {
  const filled = planned.filter(({ result }) => result !== undefined).map(({ path }) => path);
  const removed = planned.filter(({ result }) => result === undefined).map(({ path }) => path);
  const gone = new Set(removed);
  const explicit = new Set(
    planned.filter(({ result }) => result?.state.type === "directory").map(({ path }) => path),
  );
  const needed = parentsOf(filled);
  const conflicts: PathConflict[] = [];
  const steps: PublishStep[] = [];
  for (const path of [...needed].sort(comparePaths)) {
    if (explicit.has(path)) continue;
    const standing = await target.look(path);
    if (standing?.state.type === "directory") continue;
    if (standing !== undefined && !gone.has(path)) {
      conflicts.push({
        path,
        reason: `a ${nameOf(standing.state.type)} stands where a directory is needed`,
      });
      continue;
    }
    steps.push({ step: "makeDirectory", path, mode: (await knowledge.modeOf(path)) ?? 0o755 });
  }
  for (const path of parentsOf(removed)) {
    const keep = needed.has(path) || explicit.has(path) || gone.has(path);
    if (!keep && !(await knowledge.stays(path))) steps.push({ step: "removeDirectory", path });
  }
  return { steps, conflicts };
}

/** Every directory above the given paths, without the root. */
function parentsOf(paths: readonly string[]): ReadonlySet<string> {
  const parents = new Set<string>();
  for (const path of paths) {
    for (let end = path.lastIndexOf("/"); end > 0; end = path.lastIndexOf("/", end - 1)) {
      parents.add(path.slice(0, end));
    }
  }
  return parents;
}

function nameOf(type: "file" | "symlink" | "directory"): string {
  return type === "symlink" ? "symbolic link" : type;
}
