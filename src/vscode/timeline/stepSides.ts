import type { Entry } from "../../core/journal/entry.ts";
import type { Timeline } from "../../core/timeline/timeline.ts";
import type { Side } from "../changes/sideAddress.ts";

/** The entries that a step lasted from and to; `end` is absent while it runs. */
export interface StepSpan {
  readonly start: number;
  readonly end?: number;
}

type Entries = readonly (Entry | undefined)[];

/** The span of the step that a row is, or is in: a file's is that of the call that changed it. */
export function stepSpan(timeline: Timeline, entries: Entries, node: number): StepSpan | undefined {
  for (let at: number | undefined = node; at !== undefined; at = timeline.node(at)?.parent) {
    const found = timeline.node(at);
    if (found === undefined || (found.kind !== "tool" && found.kind !== "process")) continue;
    const end = found.entries.findLast((seq) => {
      const kind = entries[seq]?.kind;
      return kind === "tool.finished" || kind === "process.exit";
    });
    return { start: found.id, ...(end === undefined ? {} : { end }) };
  }
  return undefined;
}

/**
 * The savepoints next to a step: the state that the shadow was in before it, and after it. Undefined when no savepoint was
 * taken after it (then nobody knows what it did and what later steps did).
 */
export function sidesAround(
  entries: Entries,
  { start, end }: StepSpan,
): { readonly before: Side; readonly after: Side } | undefined {
  if (end === undefined) return undefined;
  let before: Side = "base";
  for (const entry of entries) {
    const state = stateAt(entry);
    if (entry === undefined || state === undefined) continue;
    if (entry.seq < start) before = state;
    else if (entry.seq > end && entry.kind === "savepoint.taken") return { before, after: state };
  }
  return undefined;
}

/** The state of the shadow that an entry tells of. */
function stateAt(entry: Entry | undefined): Side | undefined {
  if (entry?.kind === "savepoint.taken") return entry.savepoint as Side;
  if (entry?.kind === "savepoint.restored") return entry.to as Side;
  return undefined;
}
