import { diffArrays } from "diff";

/** Replaces `oldLines` lines at index `oldAt` (from 0) of the old text by the `newLines` lines at `newAt` of the new. */
export interface Edit {
  readonly oldAt: number;
  readonly oldLines: number;
  readonly newAt: number;
  readonly newLines: number;
}

/** Beyond this many changed lines between two anchors, a region is told as replaced whole rather than searched. */
const longestSearch = 4000;

/** The edits that turn one list of lines into the other: in order, never touching each other. */
export function diffLineLists(
  before: readonly string[],
  after: readonly string[],
): readonly Edit[] {
  let head = 0;
  while (head < before.length && head < after.length && before[head] === after[head]) head++;
  let oldEnd = before.length;
  let newEnd = after.length;
  while (oldEnd > head && newEnd > head && before[oldEnd - 1] === after[newEnd - 1]) {
    oldEnd--;
    newEnd--;
  }
  if (oldEnd === head && newEnd === head) return [];
  if (oldEnd === head || newEnd === head) {
    return [{ oldAt: head, oldLines: oldEnd - head, newAt: head, newLines: newEnd - head }];
  }
  const changes = diffArrays([...before.slice(head, oldEnd)], [...after.slice(head, newEnd)], {
    maxEditLength: longestSearch,
  }) as ReturnType<typeof diffArrays> | undefined;
  if (changes === undefined) {
    return [{ oldAt: head, oldLines: oldEnd - head, newAt: head, newLines: newEnd - head }];
  }
  return editsOf(changes, head);
}

function editsOf(
  changes: readonly {
    readonly added: boolean;
    readonly removed: boolean;
    readonly count: number;
  }[],
  head: number,
): readonly Edit[] {
  const edits: Edit[] = [];
  let oldAt = head;
  let newAt = head;
  let open: Edit | undefined;
  for (const change of changes) {
    if (!change.added && !change.removed) {
      if (open !== undefined) edits.push(open);
      open = undefined;
      oldAt += change.count;
      newAt += change.count;
      continue;
    }
    const at: Edit = open ?? { oldAt, oldLines: 0, newAt, newLines: 0 };
    open = change.added
      ? { ...at, newLines: at.newLines + change.count }
      : { ...at, oldLines: at.oldLines + change.count };
    if (change.added) newAt += change.count;
    else oldAt += change.count;
  }
  if (open !== undefined) edits.push(open);
  return edits;
}
