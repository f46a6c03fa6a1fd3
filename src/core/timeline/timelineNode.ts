import type { EntryOf, Reversibility, Verdict } from "../journal/entry.ts";

export type TimelineKind =
  | "tool"
  | "process"
  | "file"
  | "request"
  | "hold"
  | "check"
  | "savepoint"
  | "commit"
  | "event"
  | "alert"
  /** Collapsed: the read requests to one host. */
  | "disclosures"
  /** Collapsed: the traffic with the agent's own model. */
  | "model";

export type NodeStatus = "running" | "held" | "ok" | "failed" | "denied" | "cancelled";

export type TimelineGroup = "held" | Reversibility;

export const timelineGroups: readonly TimelineGroup[] = [
  "held",
  "irreversible",
  "recoverable",
  "reversible",
];

/**
 * One thing in the tree of a transaction: a tool call, a process, a file change, a request, a hold… `id` is the `seq` of
 * the entry that opened it; collapsed rows have negative ids. `entries` are the `seq`s that make it up, the opener first.
 */
export interface TimelineNode {
  readonly id: number;
  readonly kind: TimelineKind;
  readonly parent: number | undefined;
  readonly children: readonly number[];
  readonly entries: readonly number[];
  readonly at: string;
  /** What it is, in the agent's own words where it has some. */
  readonly title: string;
  /** What it acts on: a path, a host, a program. */
  readonly target: string;
  readonly tool: string | undefined;
  readonly subAgent: string | undefined;
  readonly status: NodeStatus;
  readonly durationMs: number | undefined;
  /** The strictest class of its own effects and those below it. */
  readonly reversibility: Reversibility;
  readonly verdict: Verdict | undefined;
  readonly rule: string | undefined;
  readonly wayBack: string | undefined;
  /** Effects at and below this node. */
  readonly effects: EffectCounts;
  /** Declared and observed disagree: what was seen that was not said. */
  readonly mismatch: string | undefined;
  /** Of a tool call: what it did to the checks' diagnostics, alone or as one of several. */
  readonly steps: readonly EntryOf<"check.step">[] | undefined;
}

export interface EffectCounts {
  readonly processes: number;
  readonly files: number;
  readonly requests: number;
  readonly holds: number;
}

/** The node while the fold builds it. */
export interface GrowingNode {
  id: number;
  kind: TimelineKind;
  parent: number | undefined;
  children: number[];
  entries: number[];
  at: string;
  title: string;
  target: string;
  tool: string | undefined;
  subAgent: string | undefined;
  status: NodeStatus;
  durationMs: number | undefined;
  reversibility: Reversibility;
  verdict: Verdict | undefined;
  rule: string | undefined;
  wayBack: string | undefined;
  effects: { processes: number; files: number; requests: number; holds: number };
  mismatch: string | undefined;
  steps: EntryOf<"check.step">[] | undefined;
}

const rank: Readonly<Record<Reversibility, number>> = {
  reversible: 0,
  recoverable: 1,
  irreversible: 2,
};

/** The stricter of two classes. */
export function stricter(a: Reversibility, b: Reversibility): Reversibility {
  return rank[a] >= rank[b] ? a : b;
}

/** A node as its opening entry makes it. */
export function newNode(
  entry: { readonly seq: number; readonly at: string },
  kind: TimelineKind,
  members: Partial<GrowingNode>,
): GrowingNode {
  return {
    id: entry.seq,
    kind,
    parent: undefined,
    children: [],
    entries: [entry.seq],
    at: entry.at,
    title: "",
    target: "",
    tool: undefined,
    subAgent: undefined,
    status: "ok",
    durationMs: undefined,
    reversibility: "reversible",
    verdict: undefined,
    rule: undefined,
    wayBack: undefined,
    effects: { processes: 0, files: 0, requests: 0, holds: 0 },
    mismatch: undefined,
    steps: undefined,
    ...members,
  };
}
