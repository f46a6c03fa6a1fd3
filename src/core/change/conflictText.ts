import { diff3Merge } from "node-diff3";
import { splitLines } from "./lines.ts";

/** The three sides of a conflict as texts (see ./lines.ts). */
export interface ConflictSides {
  readonly base: string;
  readonly mine: string;
  readonly theirs: string;
}

/** What a person begins to merge from: lines that merge are merged, the others stand between conflict markers. */
export function conflictText({ base, mine, theirs }: ConflictSides): string {
  const lines = (text: string): string[] => [...splitLines(text)];
  const regions = diff3Merge(lines(mine), lines(base), lines(theirs), {
    excludeFalseConflicts: true,
    stringSeparator: /\n/,
  });
  return regions
    .map(({ ok, conflict }) =>
      conflict === undefined
        ? (ok ?? []).join("")
        : `<<<<<<< yours\n${ended(conflict.a)}=======\n${ended(conflict.b)}>>>>>>> agent\n`,
    )
    .join("");
}

/** True while a conflict marker of ours stands in the text. */
export function hasConflictMarkers(text: string): boolean {
  return /^(<{7} yours|>{7} agent)\r?$/m.test(text);
}

/** Lines of one side; the last of a file may lack its end, and a marker stands on a line of its own. */
function ended(lines: readonly string[]): string {
  const text = lines.join("");
  return text === "" || text.endsWith("\n") ? text : `${text}\n`;
}
