import { plural } from "../src/base/words.ts";
import { visibleLine } from "../src/base/visibleText.ts";
import type { Row, RowClass, RowStatus, ShownState } from "../src/protocol/webview.ts";

export const classNames: Readonly<Record<RowClass, string>> = {
  held: "Held",
  irreversible: "Irreversible",
  recoverable: "Recoverable",
  reversible: "Reversible",
};

/** What each class means, for people who meet it the first time. */
export const classMeanings: Readonly<Record<RowClass, string>> = {
  held: "Waits for your decision. Nothing has left this machine.",
  irreversible: "Left this machine and cannot be called back.",
  recoverable: "Left this machine; the other side offers a way back.",
  reversible: "Happened in the copy only. Discarding undoes it.",
};

export const stateNames: Readonly<Record<ShownState, string>> = {
  none: "Nothing running",
  starting: "Starting",
  running: "Running",
  waiting: "Waiting for you",
  sealed: "Ready for review",
  conflict: "Conflicts",
  publishing: "Publishing",
  interrupted: "Interrupted",
  committed: "Committed",
  discarded: "Discarded",
  undone: "Undone",
  failed: "Failed",
};

const statusNames: Readonly<Record<RowStatus, string>> = {
  none: "",
  running: "running",
  ok: "",
  failed: "failed",
  denied: "denied",
  held: "held",
  cancelled: "cancelled",
};

/** A duration as people read it: `8 ms`, `1.2 s`, `3:07`, `1:02:05`. */
export function durationText(ms: number): string {
  if (ms < 1000) return `${String(Math.round(ms))} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  return clockText(ms);
}

/** A running clock: `0:07`, `12:40`, `1:02:05`. */
export function clockText(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  const two = (value: number): string => String(value).padStart(2, "0");
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor(seconds / 60) % 60;
  const head = hours > 0 ? `${String(hours)}:${two(minutes)}` : String(minutes);
  return `${head}:${two(seconds % 60)}`;
}

/** What a screen reader says for a row: class first, since it decides whether to read on. */
export function rowLabel(row: Row): string {
  const parts = [
    row.class === undefined || row.role === "group" ? "" : classNames[row.class],
    statusNames[row.status],
    row.verb,
    row.title,
    row.detail,
    ...effectWords(row),
    ...row.badges.map((badge) => badge.label ?? badge.text),
    row.durationMs === undefined ? "" : durationText(row.durationMs),
    row.role === "block" ? (row.text ?? "").slice(0, 300) : "",
  ];
  return visibleLine(parts.filter((part) => part !== "").join(", "));
}

/** Effects in words: `2 files`, `1 process`. */
export function effectWords(row: Row): string[] {
  const { files = 0, processes = 0, requests = 0 } = row.effects ?? {};
  return [
    files > 0 ? plural(files, "file") : "",
    processes > 0 ? plural(processes, "process", "processes") : "",
    requests > 0 ? plural(requests, "request") : "",
  ].filter((text) => text !== "");
}
