import { toolKindOf } from "../../base/toolKind.ts";
import { bytesText, plural } from "../../base/words.ts";
import { diagnosticWords, stepTitle } from "../../core/check/stepWords.ts";
import type { Entry, EntryOf } from "../../core/journal/entry.ts";
import type { TimelineNode } from "../../core/timeline/timelineNode.ts";
import type { Badge, Row, RowAction, RowIcon, RowStatus } from "../../protocol/webview.ts";
import type { NodeDetail } from "./nodeDetails.ts";

/** Where a row stands among its siblings. */
export interface RowPlace {
  readonly level: number;
  readonly place?: number;
  readonly siblings?: number;
}

const kindIcons: Readonly<Record<Exclude<TimelineNode["kind"], "tool">, RowIcon>> = {
  process: "process",
  file: "file",
  request: "request",
  hold: "request",
  check: "check",
  savepoint: "savepoint",
  commit: "transaction",
  event: "message",
  alert: "alert",
  disclosures: "fetch",
  model: "model",
};

/** The row of a node. `opener` is the entry that opened it; `open` is undefined when there is nothing below. */
export function nodeRow(
  id: string,
  node: TimelineNode,
  opener: Entry | undefined,
  place: RowPlace,
  begunMs: number,
  open: boolean | undefined,
): Row {
  const words = nodeWords(node, opener);
  return {
    id,
    role: "row",
    icon: node.kind === "tool" ? toolKindOf(node.target) : kindIcons[node.kind],
    class: node.effects.holds > 0 ? "held" : node.reversibility,
    status: statusOf(node),
    ...place,
    ...(open === undefined ? {} : { expanded: open }),
    ...words,
    ...effectsOf(node),
    badges: badgesOf(node),
    startMs: Math.max(0, Date.parse(node.at) - begunMs),
    ...(node.durationMs === undefined ? {} : { durationMs: node.durationMs }),
    actions: actionsOf(node),
    lines: 0,
  };
}

/** The row of a detail: a line, or a block as high as its text. */
export function detailRow(id: string, detail: NodeDetail, place: RowPlace): Row {
  return {
    id,
    role: detail.text === undefined ? "note" : "block",
    icon: detail.icon,
    status: detail.status,
    ...place,
    verb: detail.verb,
    title: detail.title,
    detail: "",
    badges: [],
    actions: [...detail.actions],
    lines: detail.lines,
    ...(detail.text === undefined
      ? {}
      : { text: detail.text, linesInAll: detail.linesInAll, diff: detail.diff }),
  };
}

function statusOf(node: TimelineNode): RowStatus {
  return node.effects.holds > 0 ? "held" : node.status;
}

interface Words {
  readonly verb: string;
  readonly title: string;
  readonly detail: string;
}

function nodeWords(node: TimelineNode, opener: Entry | undefined): Words {
  switch (node.kind) {
    case "tool": {
      const verb = node.tool ?? "Tool";
      return { verb, title: withoutPrefix(node.title, verb), detail: "" };
    }
    case "process": {
      const argv = opener?.kind === "process.exec" ? opener.argv : [];
      return {
        verb: node.target.slice(node.target.lastIndexOf("/") + 1),
        title: argv.length > 0 ? argv.slice(1).join(" ") : node.title,
        detail: "",
      };
    }
    case "file": {
      const file = opener?.kind === "file.changed" ? opener : undefined;
      const bytes = file?.bytes === undefined ? "" : bytesText(file.bytes);
      return { verb: capital(file?.change ?? "changed"), title: node.target, detail: bytes };
    }
    case "request": {
      const request = opener?.kind === "request.started" ? opener : undefined;
      return {
        verb: request?.method ?? "Request",
        title: request === undefined ? node.title : withoutPrefix(node.title, request.method),
        detail: "",
      };
    }
    case "disclosures":
      return {
        verb: "Reads",
        title: node.target,
        detail: plural(node.effects.requests, "request"),
      };
    case "model":
      return {
        verb: "Model",
        title: node.target,
        detail: plural(node.effects.requests, "request"),
      };
    case "hold":
      return {
        verb: "Hold",
        title: node.title,
        detail: node.rule === undefined ? "" : `rule ${node.rule}`,
      };
    case "check":
      return { verb: "Check", title: node.title, detail: node.target };
    case "savepoint":
      return { verb: "Savepoint", title: node.title, detail: "" };
    case "commit":
      return { ...wordsOfPublish(node.title), detail: "" };
    case "event":
      return { verb: "Agent", title: node.title, detail: "" };
    case "alert":
      return { verb: "Alert", title: node.title, detail: "" };
  }
}

function effectsOf(node: TimelineNode): Pick<Row, "effects"> {
  const { files, processes, requests } = node.effects;
  const shown = node.kind === "tool" || node.kind === "process";
  return shown && files + processes + requests > 0
    ? { effects: { files, processes, requests } }
    : {};
}

function badgesOf(node: TimelineNode): Badge[] {
  const badges: Badge[] = [];
  if (node.subAgent !== undefined) badges.push({ text: node.subAgent, tone: "info" });
  if (node.mismatch !== undefined)
    badges.push({ text: "not as said", tone: "bad", label: `not as said: ${node.mismatch}` });
  for (const step of node.steps ?? []) badges.push(...stepBadges(step));
  if (node.effects.holds > 0) badges.push({ text: "held", tone: "warn" });
  else if (node.status === "failed" && node.kind !== "alert")
    badges.push({ text: "failed", tone: "bad" });
  else if (node.status === "denied") badges.push({ text: "denied", tone: "bad" });
  else if (node.status === "cancelled") badges.push({ text: "cancelled", tone: "plain" });
  if (node.wayBack !== undefined && node.status === "ok" && node.kind === "request")
    badges.push({ text: "way back", tone: "info", label: `way back: ${node.wayBack}` });
  return badges;
}

/** What a call did to a check's diagnostics; one of several calls says that it is not known which, in fewer badges. */
function stepBadges(step: EntryOf<"check.step">): Badge[] {
  const label = stepTitle(step);
  const { introduced, resolved } = step;
  const more = introduced.length > 0 ? `+${diagnosticWords(introduced)}` : "";
  const fewer = resolved.length > 0 ? `−${diagnosticWords(resolved)}` : "";
  if (step.parent === undefined) {
    const words = [more, fewer].filter((part) => part !== "").join(", ");
    return words === "" ? [] : [{ text: `shared ${words}`, tone: "plain", label }];
  }
  const errors = introduced.some(({ severity }) => severity === "error");
  const badges: Badge[] = [];
  if (more !== "") badges.push({ text: more, tone: errors ? "bad" : "warn", label });
  if (fewer !== "") badges.push({ text: fewer, tone: "good", label });
  return badges;
}

function actionsOf(node: TimelineNode): RowAction[] {
  if (node.effects.holds > 0) return ["decide"];
  if (node.kind === "file") return ["diff", "open"];
  if (node.kind === "savepoint") return ["restore"];
  if (node.kind === "tool" && node.effects.files > 0) return ["diff"];
  return [];
}

/** Titles are those of core/timeline/publishRows. */
function wordsOfPublish(title: string): { readonly verb: string; readonly title: string } {
  const match = /^(commit again|commit|undo) of (.*)$/s.exec(title);
  return match === null
    ? { verb: "Bring", title }
    : { verb: capital(match[1] ?? ""), title: match[2] ?? "" };
}

function withoutPrefix(text: string, prefix: string): string {
  const rest = text.startsWith(`${prefix} `) ? text.slice(prefix.length + 1) : text;
  return rest === prefix ? "" : rest;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
