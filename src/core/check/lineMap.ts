/** One changed region, lines counted from 1; zero lines on a side mean "inserted after line `start`". */
export interface LineHunk {
  readonly oldStart: number;
  readonly oldLines: number;
  readonly newStart: number;
  readonly newLines: number;
}

/**
 * Says where a line of the base went: the line of the shadow that it is now, or, for a line inside a changed region,
 * the nearest place in that region. `exact` tells the two apart. Hunks are in order and do not overlap.
 */
export type LineMap = (line: number) => { readonly line: number; readonly exact: boolean };

/** The line map of a file that did not change. */
export const sameLines: LineMap = (line) => ({ line, exact: true });

/** Builds the line map base → shadow from the hunks of a file. */
export function lineMapOf(hunks: readonly LineHunk[]): LineMap {
  if (hunks.length === 0) return sameLines;
  return (line) => {
    let shift = 0;
    for (const hunk of hunks) {
      const firstOld = hunk.oldLines === 0 ? hunk.oldStart + 1 : hunk.oldStart;
      if (line < firstOld) break;
      if (line < firstOld + hunk.oldLines) {
        const firstNew = hunk.newLines === 0 ? hunk.newStart + 1 : hunk.newStart;
        const inside = Math.min(line - firstOld, Math.max(0, hunk.newLines - 1));
        return { line: firstNew + inside, exact: false };
      }
      shift += hunk.newLines - hunk.oldLines;
    }
    return { line: line + shift, exact: true };
  };
}

/**
 * The hunks between two texts, by trimming what is equal at both ends of the text and then pairing lines that occur
 * once on both sides (patience), which is enough to place duplicates of one diagnostic.
 */
export function hunksBetween(base: string, shadow: string): readonly LineHunk[] {
  const hunks: LineHunk[] = [];
  collectHunks(base.split("\n"), shadow.split("\n"), hunks);
  return hunks;
}

interface Span {
  readonly oldFrom: number;
  readonly oldTo: number;
  readonly newFrom: number;
  readonly newTo: number;
}

function collectHunks(old: readonly string[], now: readonly string[], hunks: LineHunk[]): void {
  const pending: Span[] = [{ oldFrom: 0, oldTo: old.length, newFrom: 0, newTo: now.length }];
  for (let whole = pending.pop(); whole !== undefined; whole = pending.pop()) {
    const span = trimmed(old, now, whole);
    if (span.oldFrom === span.oldTo && span.newFrom === span.newTo) continue;
    const anchors = anchorsOf(old, now, span);
    if (anchors.length === 0) {
      const oldLines = span.oldTo - span.oldFrom;
      const newLines = span.newTo - span.newFrom;
      hunks.push({
        oldStart: oldLines === 0 ? span.oldFrom : span.oldFrom + 1,
        oldLines,
        newStart: newLines === 0 ? span.newFrom : span.newFrom + 1,
        newLines,
      });
      continue;
    }
    pending.push(...between(span, anchors).reverse());
  }
}

function trimmed(old: readonly string[], now: readonly string[], span: Span): Span {
  let { oldFrom, oldTo, newFrom, newTo } = span;
  while (oldFrom < oldTo && newFrom < newTo && old[oldFrom] === now[newFrom]) {
    oldFrom++;
    newFrom++;
  }
  while (oldFrom < oldTo && newFrom < newTo && old[oldTo - 1] === now[newTo - 1]) {
    oldTo--;
    newTo--;
  }
  return { oldFrom, oldTo, newFrom, newTo };
}

/** Lines that occur exactly once in both spans, kept in an order that grows on both sides. */
function anchorsOf(
  old: readonly string[],
  now: readonly string[],
  span: Span,
): readonly (readonly [number, number])[] {
  const inOld = occurrences(old, span.oldFrom, span.oldTo);
  const inNew = occurrences(now, span.newFrom, span.newTo);
  const pairs: [number, number][] = [];
  for (const [text, at] of inOld) {
    const there = inNew.get(text);
    if (at >= 0 && there !== undefined && there >= 0) pairs.push([at, there]);
  }
  pairs.sort((a, b) => a[0] - b[0]);
  return longestGrowing(pairs);
}

/** Line → its only index, or -1 when it occurs more than once. */
function occurrences(lines: readonly string[], from: number, to: number): Map<string, number> {
  const found = new Map<string, number>();
  for (let index = from; index < to; index++) {
    const line = lines[index] ?? "";
    found.set(line, found.has(line) ? -1 : index);
  }
  return found;
}

/** The longest run of pairs whose second members grow (patience sorting). */
function longestGrowing(
  pairs: readonly [number, number][],
): readonly (readonly [number, number])[] {
  const tops: number[] = [];
  const before: number[] = [];
  pairs.forEach((pair, index) => {
    let low = 0;
    let high = tops.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const top = pairs[tops[middle] ?? 0];
      if (top !== undefined && top[1] < pair[1]) low = middle + 1;
      else high = middle;
    }
    before[index] = low === 0 ? -1 : (tops[low - 1] ?? -1);
    tops[low] = index;
  });
  const result: (readonly [number, number])[] = [];
  for (let at = tops.at(-1) ?? -1; at >= 0; at = before[at] ?? -1) {
    const pair = pairs[at];
    if (pair !== undefined) result.push(pair);
  }
  return result.reverse();
}

function between(span: Span, anchors: readonly (readonly [number, number])[]): Span[] {
  const spans: Span[] = [];
  let { oldFrom, newFrom } = span;
  for (const [oldAt, newAt] of anchors) {
    spans.push({ oldFrom, oldTo: oldAt, newFrom, newTo: newAt });
    oldFrom = oldAt + 1;
    newFrom = newAt + 1;
  }
  spans.push({ oldFrom, oldTo: span.oldTo, newFrom, newTo: span.newTo });
  return spans;
}
