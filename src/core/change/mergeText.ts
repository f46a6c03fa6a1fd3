import { diff3MergeRegions } from "node-diff3";
import { splitLines } from "./lines.ts";
import { diffLineLists, type Edit } from "./textDiff.ts";

/** A region that both sides changed differently; `at` is the line of the base (from 0) where it begins. */
export interface TextConflict {
  readonly at: number;
  readonly base: string;
  readonly mine: string;
  readonly theirs: string;
}

export type TextMerge =
  | { readonly clean: true; readonly text: string }
  | { readonly clean: false; readonly conflicts: readonly TextConflict[] };

/** Lines of base left around changes that are merged together, so that each merge has its anchors. */
const anchor = 3;

interface Span {
  readonly from: number;
  readonly to: number;
}

interface Sides {
  readonly base: readonly string[];
  readonly mine: readonly string[];
  readonly theirs: readonly string[];
}

/**
 * Three-way merge by lines. Changes to different lines merge, as does the same change on both sides; changes that
 * overlap or touch conflict. `mine` is what stands in the workspace, `theirs` what is to be published.
 */
export function mergeTexts(base: string, mine: string, theirs: string): TextMerge {
  if (mine === theirs || theirs === base) return { clean: true, text: mine };
  if (mine === base) return { clean: true, text: theirs };
  const sides: Sides = {
    base: splitLines(base),
    mine: splitLines(mine),
    theirs: splitLines(theirs),
  };
  const mineEdits = diffLineLists(sides.base, sides.mine);
  const theirEdits = diffLineLists(sides.base, sides.theirs);
  const out: string[] = [];
  const conflicts: TextConflict[] = [];
  let at = 0;
  for (const window of windowsOf([...mineEdits, ...theirEdits], sides.base.length)) {
    append(out, sides.base, { from: at, to: window.from });
    at = window.to;
    mergeWindow(sides, window, mineEdits, theirEdits, out, conflicts);
  }
  append(out, sides.base, { from: at, to: sides.base.length });
  return conflicts.length === 0 ? { clean: true, text: out.join("") } : { clean: false, conflicts };
}

/** Spans of the base that hold all edits; edits closer than their anchors share one. */
function windowsOf(edits: readonly Edit[], count: number): readonly Span[] {
  const windows: Span[] = [];
  for (const edit of [...edits].sort((left, right) => left.oldAt - right.oldAt)) {
    const from = Math.max(0, edit.oldAt - anchor);
    const to = Math.min(count, edit.oldAt + edit.oldLines + anchor);
    const last = windows.at(-1);
    if (last !== undefined && from <= last.to) {
      windows[windows.length - 1] = { from: last.from, to: Math.max(last.to, to) };
    } else {
      windows.push({ from, to });
    }
  }
  return windows;
}

/** The lines of a changed side that stand for a span of the base whose ends no edit of that side touches. */
function imageOf(span: Span, edits: readonly Edit[]): Span {
  let shift = 0;
  let grown = 0;
  for (const edit of edits) {
    if (edit.oldAt + edit.oldLines < span.from) shift += edit.newLines - edit.oldLines;
    else if (edit.oldAt <= span.to) grown += edit.newLines - edit.oldLines;
  }
  return { from: span.from + shift, to: span.to + shift + grown };
}

function mergeWindow(
  sides: Sides,
  window: Span,
  mineEdits: readonly Edit[],
  theirEdits: readonly Edit[],
  out: string[],
  conflicts: TextConflict[],
): void {
  const touches = (edit: Edit): boolean =>
    edit.oldAt + edit.oldLines >= window.from && edit.oldAt <= window.to;
  const mine = imageOf(window, mineEdits);
  const theirs = imageOf(window, theirEdits);
  if (!theirEdits.some(touches)) {
    append(out, sides.mine, mine);
    return;
  }
  if (!mineEdits.some(touches)) {
    append(out, sides.theirs, theirs);
    return;
  }
  const regions = diff3MergeRegions(
    sides.mine.slice(mine.from, mine.to),
    sides.base.slice(window.from, window.to),
    sides.theirs.slice(theirs.from, theirs.to),
  );
  for (const region of regions) {
    if (region.stable) {
      for (const line of region.bufferContent) out.push(line);
      continue;
    }
    const ours = region.aContent.join("");
    const their = region.bContent.join("");
    if (ours === their) {
      out.push(ours);
      continue;
    }
    conflicts.push({
      at: window.from + region.oStart,
      base: region.oContent.join(""),
      mine: ours,
      theirs: their,
    });
  }
}

function append(out: string[], lines: readonly string[], span: Span): void {
  for (let index = span.from; index < span.to; index++) out.push(lines[index] ?? "");
}
