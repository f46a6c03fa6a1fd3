import { stepTitle } from "../check/stepWords.ts";
import type { Entry } from "../journal/entry.ts";
import { visible } from "./describeEntry.ts";
import { ProcessParents } from "./processParents.ts";
import { Timeline } from "./timeline.ts";
import type { TimelineGroup, TimelineNode } from "./timelineNode.ts";

/** How a class is told in one character; the words stand in the last lines. */
const marks: Readonly<Record<TimelineGroup, string>> = {
  held: "■",
  irreversible: "⬣",
  recoverable: "◆",
  reversible: "○",
};

/** Narrower than this a title says nothing. */
const narrowestTitle = 24;

/**
 * The causal tree of a transaction as lines of text, in the order of time: since the beginning, how long it took, its class,
 * what it was, and what it caused below it. Read requests and model traffic are one line per host. `columns` is the width to
 * keep within; without it nothing is cut.
 */
export function treeLines(entries: readonly Entry[], columns?: number): readonly string[] {
  const timeline = new Timeline();
  const parents = new ProcessParents();
  const starters = new Map<number, number>();
  const started = new Map<number, number[]>();
  for (const entry of entries) {
    timeline.apply(entry);
    const starter = parents.apply(entry);
    if (starter === undefined) continue;
    starters.set(entry.seq, starter);
    started.set(starter, [...(started.get(starter) ?? []), entry.seq]);
  }
  const begun = entries[0]?.at ?? "";
  const nodes = (ids: readonly number[]): readonly TimelineNode[] =>
    ids.flatMap((id) => timeline.node(id) ?? []);
  /** What hangs below a node: a process below the one that started it. */
  const childrenOf = (node: TimelineNode): readonly TimelineNode[] => {
    const own = node.children.filter((id) => !starters.has(id));
    return nodes([...own, ...(started.get(node.id) ?? [])]);
  };
  const lines: string[] = [];
  const show = (node: TimelineNode, lead: string, branch: string, below: string): void => {
    const clock = `${offset(begun, node.at).padStart(9)} ${duration(node).padStart(8)}`;
    const mark = marks[node.effects.holds > 0 ? "held" : node.reversibility];
    const start = `${clock} ${mark} ${lead}${branch}`;
    lines.push(start + cut(visible(wordsOf(node)), columns, start.length));
    const collapsed = node.kind === "disclosures" || node.kind === "model";
    const children = collapsed ? [] : childrenOf(node);
    for (const [index, child] of children.entries()) {
      const last = index === children.length - 1;
      show(child, lead + below, last ? "└─ " : "├─ ", last ? "   " : "│  ");
    }
  };
  const roots = timeline.roots().filter((id) => !starters.has(id));
  for (const root of nodes(roots)) show(root, "", "", "");
  return [...lines, "", summary(timeline)];
}

/** The same tree as plain data, whole. */
export function treeData(entries: readonly Entry[]): readonly object[] {
  const timeline = new Timeline();
  for (const entry of entries) timeline.apply(entry);
  const dataOf = (id: number): object[] => {
    const node = timeline.node(id);
    if (node === undefined) return [];
    const { parent: _, children, ...members } = node;
    return [{ ...members, children: children.flatMap(dataOf) }];
  };
  return timeline.roots().flatMap(dataOf);
}

function wordsOf(node: TimelineNode): string {
  const title = titleOf(node);
  const more = [
    node.subAgent === undefined ? "" : `[${node.subAgent}]`,
    node.kind === "disclosures" || node.kind === "model" ? `× ${node.effects.requests}` : "",
    node.status === "ok" ? "" : node.status,
    node.rule === undefined || node.verdict === "allow" ? "" : `(${node.rule})`,
    node.mismatch === undefined ? "" : `not as said: ${node.mismatch}`,
    ...(node.steps ?? []).map(stepTitle),
  ];
  // What is short and telling comes first: a title that is cut must not take it along.
  const told = more.filter((one) => one !== "").join(" ");
  return told === "" ? title : `${told} · ${title}`;
}

/** What it is; a tool's title and a file's say so themselves. */
function titleOf({ kind, title: whole, target }: TimelineNode): string {
  const title = whole.split("\n")[0] ?? "";
  switch (kind) {
    case "process":
      return `$ ${title}`;
    case "check":
      return `check ${title} ${target}`.trimEnd();
    case "savepoint":
      return `savepoint ${title}`;
    case "hold":
      return `held: ${title}`;
    case "alert":
      return `! ${title}`;
    default:
      return title;
  }
}

/** Since the beginning, e.g. `+1.204 s`, `+12:05.3`. */
function offset(begun: string, at: string): string {
  const seconds = Math.max(0, Date.parse(at) - Date.parse(begun)) / 1000;
  if (seconds < 60) return `+${seconds.toFixed(2)} s`;
  const whole = Math.floor(seconds);
  const parts = [Math.floor(whole / 60) % 60, whole % 60].map((part) => pad(part));
  return whole < 3600 ? `+${parts.join(":")}` : `+${Math.floor(whole / 3600)}:${parts.join(":")}`;
}

function duration({ durationMs, status, kind }: TimelineNode): string {
  if (durationMs === undefined) {
    return status === "running" || (status === "held" && kind === "hold") ? "…" : "";
  }
  if (durationMs < 1) return "<1 ms";
  if (durationMs < 1000) return `${Math.round(durationMs)} ms`;
  const seconds = durationMs / 1000;
  return seconds < 60
    ? `${seconds.toFixed(2)} s`
    : `${Math.floor(seconds / 60)}:${pad(Math.floor(seconds % 60))} m`;
}

function pad(value: number): string {
  return String(value).padStart(2, "0");
}

function cut(text: string, columns: number | undefined, used: number): string {
  if (columns === undefined) return text;
  const room = Math.max(narrowestTitle, columns - used);
  const characters = Array.from(text);
  return characters.length <= room ? text : `${characters.slice(0, room - 1).join("")}…`;
}

function summary(timeline: Timeline): string {
  const counts = [...timeline.groups()].map(
    ([group, roots]) => `${marks[group]} ${roots.length} ${group}`,
  );
  return `${counts.join("   ")}   (+ since the beginning, then how long it took)`;
}
