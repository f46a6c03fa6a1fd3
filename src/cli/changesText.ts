import { visibleLine } from "../base/visibleText.ts";
import { plural } from "../base/words.ts";
import type { ChangesView } from "../protocol/control.ts";

type ListedFile = ChangesView["files"][number];

/** Sections in the order in which they are told; the last is nearest to the eye in a terminal. */
const order: readonly ListedFile["section"][] = ["change", "runsLater", "ignored", "conflict"];

/** What `holdfast changes` prints: a line for each file, by section, and at the end how many wait for a choice. */
export function changesText(files: readonly ListedFile[]): string {
  const lines = order.flatMap((section) =>
    files.filter((file) => file.section === section).map(lineOf),
  );
  const conflicts = files.filter(({ section }) => section === "conflict").length;
  if (conflicts > 0)
    lines.push(
      `${plural(conflicts, "CONFLICT", "CONFLICTS")}: changed here as well as by the agent`,
    );
  return lines.map((line) => `${line}\n`).join("");
}

function lineOf(file: ListedFile): string {
  const from = file.from === undefined ? "" : `${visibleLine(file.from)} → `;
  const why = file.why === undefined ? "" : `  (${visibleLine(file.why)})`;
  const hunks = file.hunks.length === 0 ? "" : `  ${plural(file.hunks.length, "hunk")}`;
  const section = file.section.padEnd(9);
  return `${section} ${file.kind.padEnd(8)} ${from}${visibleLine(file.path)}${hunks}${why}`;
}
