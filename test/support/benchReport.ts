import type { Figure } from "./bench.ts";

/** Everything that `npm run bench` found. */
export interface BenchReport {
  /** ISO 8601. */
  readonly date: string;
  readonly machine: Readonly<Record<string, string>>;
  readonly groups: readonly BenchGroup[];
}

export interface BenchGroup {
  readonly name: string;
  readonly title: string;
  /** What it was measured beside, with versions. */
  readonly peers?: Readonly<Record<string, string>>;
  readonly unavailable?: string;
  /** When and on what it was measured, where that was not with the rest. */
  readonly taken?: string;
  /** Why it ended early; the other benches are not touched by it. */
  readonly failed?: string;
  readonly figures: readonly Figure[];
  /** Promises that no figure answers, by the pattern of their names. */
  readonly unanswered: readonly string[];
}

function number(value: number): string {
  if (Number.isInteger(value) || value >= 100) return value.toFixed(0);
  return value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

function targetOf({ target, met }: Figure): string {
  if (target === undefined) return "";
  const bound = "atMost" in target ? `≤ ${String(target.atMost)}` : `≥ ${String(target.atLeast)}`;
  return `${bound} ${met === true ? "✓" : "✗"}`;
}

/** The report as a person reads it: first whether the promises were kept, then every figure. */
export function benchMarkdown({ date, machine, groups }: BenchReport): string {
  const judged = groups.flatMap((group) => group.figures.map((figure) => ({ group, figure })));
  const promised = judged.filter(({ figure }) => figure.target !== undefined);
  const missed = promised.filter(({ figure }) => figure.met === false);
  const lines = ["# Figures", "", `Made by \`npm run bench\` on ${date.slice(0, 10)}.`, ""];
  for (const [name, value] of Object.entries(machine)) lines.push(`- ${name}: ${value}`);
  lines.push("", `${promised.length - missed.length} of ${promised.length} targets met.`);
  for (const { group, figure } of missed)
    lines.push(`✗ ${group.name}: ${figure.name}: ${number(figure.median)} ${figure.unit}`);
  for (const group of groups) lines.push("", ...linesOf(group));
  return `${lines.join("\n")}\n`;
}

function linesOf(group: BenchGroup): string[] {
  const { title, peers, taken, unavailable, failed, figures, unanswered } = group;
  const lines = [`## ${title}`, ""];
  if (taken !== undefined) lines.push(`Measured on ${taken}.`, "");
  if (peers !== undefined && Object.keys(peers).length > 0) {
    const all = Object.entries(peers).map(([name, version]) => `${name} ${version}`);
    lines.push(`Beside: ${all.join(", ")}`, "");
  }
  if (unavailable !== undefined) lines.push(`Not measured: ${unavailable}`, "");
  if (failed !== undefined) lines.push(`**Failed:** ${failed}`, "");
  if (unavailable === undefined && unanswered.length > 0)
    lines.push(
      `No figure for the targets: ${unanswered.map((one) => `\`${one}\``).join(", ")}`,
      "",
    );
  if (figures.length === 0) return lines.slice(0, -1);
  lines.push(
    "| what | median | min – max | unit | target | runs | note |",
    "|---|---|---|---|---|---|---|",
  );
  for (const figure of figures) {
    const { name, median, min, max, unit, runs, note = "" } = figure;
    lines.push(
      `| ${name} | ${number(median)} | ${number(min)} – ${number(max)} | ${unit} | ${targetOf(figure)} | ${runs} | ${note} |`,
    );
  }
  lines.push(...growthOf(figures));
  return lines;
}

/** What was measured on trees of several sizes, side by side: a row a figure, a column a size. */
function growthOf(figures: readonly Figure[]): string[] {
  const cells = new Map<string, Map<number, string>>();
  const sizes = new Set<number>();
  const size = /, (\d+) files(?=: )/;
  for (const { name: full, median, unit } of figures) {
    const files = Number(size.exec(full)?.[1]);
    if (Number.isNaN(files)) continue;
    const name = full.replace(size, "");
    sizes.add(files);
    const row = cells.get(name) ?? new Map<number, string>();
    cells.set(name, row.set(files, `${number(median)} ${unit}`));
  }
  if (sizes.size < 2) return [];
  const columns = [...sizes].sort((a, b) => a - b);
  return [
    "",
    "### Growth",
    "",
    `| what | ${columns.map((files) => `${files} files`).join(" | ")} |`,
    `|---|${columns.map(() => "---").join("|")}|`,
    ...[...cells].map(
      ([name, row]) => `| ${name} | ${columns.map((files) => row.get(files) ?? "").join(" | ")} |`,
    ),
  ];
}
