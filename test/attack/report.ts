import { readFileSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import type { Category } from "./attack.ts";

/** The outcome of one attack. */
export interface Row {
  readonly category: Category;
  readonly title: string;
  /** It hit without Holdfast in this run. */
  readonly shown: boolean;
  /** Why it cannot be shown everywhere, where that is so. */
  readonly marked: string | undefined;
  readonly blocked: boolean;
  /** The same as an ordinary user, where root ran it once more so. */
  readonly blockedAsUser: boolean | undefined;
}

/** One protection switched off: which attacks of which category hit again. */
export interface AblationRow {
  readonly protection: string;
  readonly category: Category;
  readonly reopened: readonly string[];
  readonly stillBlocked: readonly string[];
}

const file = path.resolve(import.meta.dirname, "../../docs/attacks.md");

const marks = (name: string): readonly [begin: string, end: string] => [
  `<!-- ${name} -->`,
  `<!-- end of ${name} -->`,
];

/** Puts a part of docs/attacks.md in place; only when asked to by HOLDFAST_WRITE_ATTACKS=1, else nothing is written. */
function writePart(name: string, lines: readonly string[]): void {
  if (process.env["HOLDFAST_WRITE_ATTACKS"] !== "1") return;
  const [begin, end] = marks(name);
  const text = readFileSync(file, "utf8");
  const before = text.slice(0, text.indexOf(begin) + begin.length);
  const after = text.slice(text.indexOf(end));
  writeFileSync(file, `${before}\n\n${lines.join("\n")}\n\n${after}`);
}

function header(): string {
  const user = process.getuid?.() === 0 ? "root" : "an ordinary user";
  return `Run on ${new Date().toISOString().slice(0, 10)}, kernel ${os.release().split("-")[0] ?? ""}, ${os.arch()}, as ${user}.`;
}

const cell = (text: string): string => text.replaceAll("|", "\\|");

/** `–`: not run this way here. */
const said = (blocked: boolean | undefined): string =>
  blocked === undefined ? "–" : blocked ? "blocked" : "HIT";

/** How many were blocked of those that ran as an ordinary user. */
function asUser(rows: readonly Row[]): string {
  const ran = rows.filter((row) => row.blockedAsUser !== undefined);
  return `${ran.filter((row) => row.blockedAsUser === true).length} of ${ran.length}`;
}

export function writeReport(rows: readonly Row[]): void {
  const categories = [...new Set(rows.map((row) => row.category))];
  const summary = categories.map((category) => {
    const here = rows.filter((row) => row.category === category);
    const shown = here.filter((row) => row.shown).length;
    const blocked = here.filter((row) => row.blocked).length;
    return `| ${category} | ${here.length} | ${shown} | ${blocked} | ${asUser(here)} |`;
  });
  const every = rows.map((row) => {
    const unconfined = row.shown ? "hit" : `not shown here (${row.marked ?? "missed"})`;
    return `| ${row.category} | ${cell(row.title)} | ${unconfined} | ${said(row.blocked)} | ${said(row.blockedAsUser)} |`;
  });
  writePart("results", [
    header(),
    "",
    "| category | attacks | hit unconfined | blocked in Holdfast | and as an ordinary user |",
    "|---|---|---|---|---|",
    ...summary,
    `| all | ${rows.length} | ${rows.filter((row) => row.shown).length} | ${rows.filter((row) => row.blocked).length} | ${asUser(rows)} |`,
    "",
    "| category | attack | unconfined | in Holdfast | as an ordinary user |",
    "|---|---|---|---|---|",
    ...every,
  ]);
}

export function writeAblation(rows: readonly AblationRow[]): void {
  writePart("ablation", [
    header(),
    "",
    "| protection switched off | category | hit again | still blocked by the others |",
    "|---|---|---|---|",
    ...rows.map(
      ({ protection, category, reopened, stillBlocked }) =>
        `| ${protection} | ${category} | ${reopened.join(", ")} | ${stillBlocked.join(", ")} |`,
    ),
  ]);
}
