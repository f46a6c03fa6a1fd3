import { sameState, type FileState } from "./changeSet.ts";

/**
 * What a three-way merge of one path does to the workspace.
 *
 * `keep` nothing, it is as wanted or the person's own change stands; `take` put `state` there; `remove` take it away;
 * `mode` change the permission bits only; `mergeText` both sides changed the content: merge by lines, then write with
 * `mode`; `conflict` the person must choose.
 */
export type MergeAction =
  | { readonly action: "keep" }
  | { readonly action: "take"; readonly state: FileState }
  | { readonly action: "remove" }
  | { readonly action: "mode"; readonly mode: number }
  | { readonly action: "mergeText"; readonly mode: number }
  | { readonly action: "conflict"; readonly reason: string };

const conflict = (reason: string): MergeAction => ({ action: "conflict", reason });
const keep: MergeAction = { action: "keep" };

/**
 * Decides one path. `base` is what both sides started from, `mine` what stands in the workspace now, `theirs` what is
 * to be published.
 */
export function mergeStates(
  base: FileState | undefined,
  mine: FileState | undefined,
  theirs: FileState | undefined,
): MergeAction {
  if (sameState(mine, theirs) || sameState(base, theirs)) return keep;
  if (sameState(mine, base)) {
    if (theirs === undefined) return { action: "remove" };
    return sameContent(mine, theirs) && theirs.type !== "symlink"
      ? { action: "mode", mode: theirs.mode }
      : { action: "take", state: theirs };
  }
  if (mine === undefined) {
    return conflict("deleted in the workspace since the fork, changed in the transaction");
  }
  if (theirs === undefined) {
    if (base?.type === "directory") return keep;
    return conflict("changed in the workspace since the fork, deleted in the transaction");
  }
  if (base === undefined) return mergeAdded(mine, theirs);
  return mergeChanged(base, mine, theirs);
}

function sameContent(left: FileState | undefined, right: FileState): boolean {
  return sameState(left, right, false);
}

function mergeAdded(mine: FileState, theirs: FileState): MergeAction {
  if (mine.type === "directory" && theirs.type === "directory") return keep;
  return sameContent(mine, theirs)
    ? conflict("added on both sides with different permissions")
    : conflict("added on both sides with different content");
}

function mergeChanged(base: FileState, mine: FileState, theirs: FileState): MergeAction {
  if (mine.type === "symlink" && theirs.type === "symlink") {
    return conflict("the symbolic link leads to different places on both sides");
  }
  if (mine.type !== theirs.type || base.type !== mine.type) {
    return conflict("one side changed what kind of thing it is (file, directory, symbolic link)");
  }
  if (mine.type === "symlink" || theirs.type === "symlink" || base.type === "symlink") return keep;
  const mode = mergeScalars(base.mode, mine.mode, theirs.mode);
  if (mode === undefined) return conflict("both sides changed the permissions differently");
  if (sameContent(mine, theirs) || sameContent(base, theirs)) {
    return mode === mine.mode ? keep : { action: "mode", mode };
  }
  if (sameContent(base, mine)) return { action: "take", state: { ...theirs, mode } };
  return { action: "mergeText", mode };
}

function mergeScalars(base: number, mine: number, theirs: number): number | undefined {
  if (mine === theirs || theirs === base) return mine;
  return mine === base ? theirs : undefined;
}
