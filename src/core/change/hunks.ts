import type { Edit } from "./textDiff.ts";

/**
 * One piece of a file's change that can be taken or left by itself. The four numbers are those of the `@@` line of the
 * unified patch (three lines of context, lines from 1; a start is 0 when its side is empty); `edits` are the exact
 * replacements without context. `id` is derived from the content, so it is the same in every listing.
 */
export interface Hunk {
  readonly id: string;
  readonly oldStart: number;
  readonly oldLines: number;
  readonly newStart: number;
  readonly newLines: number;
  readonly edits: readonly Edit[];
}

export const contextLines = 3;

/** Lower-case hex digest of a text in which each character stands for one byte. */
export type Digest = (text: string) => string;

/** Groups edits whose context would overlap into hunks. `path` is part of each id. */
export function hunksOf(
  path: string,
  before: readonly string[],
  after: readonly string[],
  edits: readonly Edit[],
  digest: Digest,
): readonly Hunk[] {
  const groups: Edit[][] = [];
  let end = -Infinity;
  for (const edit of edits) {
    const group = groups.at(-1);
    if (group !== undefined && edit.oldAt - end <= 2 * contextLines) group.push(edit);
    else groups.push([edit]);
    end = edit.oldAt + edit.oldLines;
  }
  const seen = new Map<string, number>();
  return groups.map((group) => {
    const content = group.flatMap((edit) => [
      ...before.slice(edit.oldAt, edit.oldAt + edit.oldLines).map((line) => `-${line}`),
      ...after.slice(edit.newAt, edit.newAt + edit.newLines).map((line) => `+${line}`),
      "\0",
    ]);
    const name = digest([path, "\0", ...content].join("")).slice(0, 16);
    const times = (seen.get(name) ?? 0) + 1;
    seen.set(name, times);
    return {
      id: times === 1 ? name : `${name}-${times}`,
      ...rangeOf(group, before.length, after.length),
      edits: group,
    };
  });
}

function rangeOf(
  group: readonly Edit[],
  oldCount: number,
  newCount: number,
): Omit<Hunk, "id" | "edits"> {
  const first = group[0];
  const last = group.at(-1);
  if (first === undefined || last === undefined) throw new Error("a hunk without edits");
  const lead = Math.min(contextLines, first.oldAt);
  const trail = Math.min(contextLines, oldCount - (last.oldAt + last.oldLines));
  const oldAt = first.oldAt - lead;
  const newAt = first.newAt - lead;
  const oldLines = last.oldAt + last.oldLines + trail - oldAt;
  const newLines = last.newAt + last.newLines + trail - newAt;
  if (newAt + newLines > newCount) throw new Error("a hunk past the end of the new text");
  return {
    oldStart: oldLines === 0 ? oldAt : oldAt + 1,
    oldLines,
    newStart: newLines === 0 ? newAt : newAt + 1,
    newLines,
  };
}

/** The old lines with the given hunks' edits applied: with all of them the new lines, with none the old ones. */
export function applyHunks(
  before: readonly string[],
  after: readonly string[],
  hunks: readonly Hunk[],
): readonly string[] {
  const edits = hunks.flatMap((hunk) => hunk.edits).sort((left, right) => left.oldAt - right.oldAt);
  const lines: string[] = [];
  let at = 0;
  for (const edit of edits) {
    for (; at < edit.oldAt; at++) lines.push(before[at] ?? "");
    for (let index = 0; index < edit.newLines; index++) lines.push(after[edit.newAt + index] ?? "");
    at = edit.oldAt + edit.oldLines;
  }
  for (; at < before.length; at++) lines.push(before[at] ?? "");
  return lines;
}

/** The `@@` line and body of one hunk in the unified format; the id stands where git puts a function's name. */
export function hunkText(hunk: Hunk, before: readonly string[], after: readonly string[]): string {
  const range = (start: number, count: number): string =>
    count === 1 ? `${start}` : `${start},${count}`;
  const out = [
    `@@ -${range(hunk.oldStart, hunk.oldLines)} +${range(hunk.newStart, hunk.newLines)} @@ ${hunk.id}\n`,
  ];
  const push = (mark: string, line: string | undefined): void => {
    if (line === undefined) throw new Error("a hunk past the end of its text");
    out.push(mark, line.endsWith("\n") ? line : `${line}\n\\ No newline at end of file\n`);
  };
  let at = hunk.oldLines === 0 ? hunk.oldStart : hunk.oldStart - 1;
  const end = at + hunk.oldLines;
  for (const edit of hunk.edits) {
    for (; at < edit.oldAt; at++) push(" ", before[at]);
    for (; at < edit.oldAt + edit.oldLines; at++) push("-", before[at]);
    for (let index = 0; index < edit.newLines; index++) push("+", after[edit.newAt + index]);
  }
  for (; at < end; at++) push(" ", before[at]);
  return out.join("");
}
