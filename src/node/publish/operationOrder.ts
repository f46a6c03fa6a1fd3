import { comparePaths } from "../../core/change/pathRules.ts";
import type { PublishOperation } from "./intent.ts";

const rank: Readonly<Record<PublishOperation["kind"], number>> = {
  remove: 0,
  rmdir: 1,
  mkdir: 2,
  put: 3,
  mode: 4,
};

/**
 * The order in which operations can all be done: what is in the way goes first, directories are emptied before they go
 * and made before they are filled, permissions come last (and those of a directory after what is in it).
 */
export function inOrder(operations: readonly PublishOperation[]): readonly PublishOperation[] {
  return [...operations].sort((left, right) => {
    if (left.kind !== right.kind) return rank[left.kind] - rank[right.kind];
    const byPath = comparePaths(left.path, right.path);
    return left.kind === "rmdir" || left.kind === "mode" ? -byPath : byPath;
  });
}
