/**
 * What the timeline webview and the extension host say to each other. Two unions, `ToWebview` and `FromWebview`, validated
 * where they arrive.
 *
 * The webview holds no truth. It knows how many rows there are, which of them are taller than one line, and the windows of
 * rows it asked for; folding, filtering, expanding and sorting happen in the host.
 *
 * Order. The webview says `ready`; the host answers `snapshot`, which carries everything. From then on `generation` counts
 * the layouts: `changed` turns layout n into n + 1 through splices, and a webview that is not at n ignores it and says
 * `ready` again. `rows` is always about the newest layout. A hidden webview gets nothing and begins again with `ready`.
 *
 * `zod/mini` keeps the bundle inside its budget; the JIT of zod is off in the webview, whose CSP forbids `new Function`.
 */
import * as z from "zod/mini";
import { toolKinds } from "../base/toolKind.ts";

export const webviewVersion = 1;

const count = z.int().check(z.nonnegative());

const groupings = ["class", "time", "tool"] as const;

export const rowClasses = ["held", "irreversible", "recoverable", "reversible"] as const;
export type RowClass = (typeof rowClasses)[number];

const rowClass = z.enum(rowClasses);

export const tones = ["plain", "good", "warn", "bad", "info"] as const;
export type Tone = (typeof tones)[number];
const badge = z.object({ text: z.string(), tone: z.enum(tones), label: z.optional(z.string()) });
export type Badge = z.output<typeof badge>;

/** What a row can do besides being opened: `diff` shows what the step changed, `open` the file or the blob. */
export const rowActions = ["diff", "open", "copy", "restore", "decide"] as const;
export type RowAction = (typeof rowActions)[number];

/** Names of the pictures in webview/icons.ts. */
export const rowIcons = [
  ...toolKinds,
  "process",
  "file",
  "request",
  "model",
  "secret",
  "check",
  "savepoint",
  "alert",
  "transaction",
  "message",
  "group",
] as const;
export type RowIcon = (typeof rowIcons)[number];

export const rowStatuses = [
  "none",
  "running",
  "ok",
  "failed",
  "denied",
  "held",
  "cancelled",
] as const;
export type RowStatus = (typeof rowStatuses)[number];

/** One line of the list, or a block of text (`lines` > 0) that is as high as its lines. */
const row = z.object({
  /** Stable across layouts. */
  id: z.string(),
  role: z.enum(["group", "row", "block", "note"]),
  icon: z.enum(rowIcons),
  class: z.optional(rowClass),
  status: z.enum(rowStatuses),
  /** From 1: `aria-level`. */
  level: z.int().check(z.positive()),
  /** `aria-posinset`, `aria-setsize`; absent where the set grows all the time and a number would be wrong at once. */
  place: z.optional(z.int().check(z.positive())),
  siblings: z.optional(z.int().check(z.positive())),
  expanded: z.optional(z.boolean()),
  verb: z.string(),
  title: z.string(),
  detail: z.string(),
  /** Effects at and below the row, in numbers. */
  effects: z.optional(z.object({ files: count, processes: count, requests: count })),
  badges: z.array(badge),
  /** Milliseconds since the transaction began; absent where a row has no time of its own. */
  startMs: z.optional(z.number()),
  durationMs: z.optional(z.number()),
  actions: z.array(z.enum(rowActions)),
  lines: count,
  text: z.optional(z.string()),
  /** The block's lines begin with `+`, `-` or a space. */
  diff: z.optional(z.boolean()),
  /** Only for blocks: how many lines there are in all, when `text` has fewer. */
  linesInAll: z.optional(count),
});
export type Row = z.output<typeof row>;

/** `tall`: position and number of lines of each block, ascending by position. */
const layout = z.object({
  generation: count,
  total: count,
  tall: z.array(z.tuple([count, count])),
});
export type Layout = z.output<typeof layout>;

const splice = z.object({
  at: count,
  removed: count,
  inserted: count,
  tall: z.array(z.tuple([count, count])),
});
export type Splice = z.output<typeof splice>;

export const transactionStates = [
  "none",
  "starting",
  "running",
  "waiting",
  "sealed",
  "conflict",
  "publishing",
  "interrupted",
  "committed",
  "discarded",
  "undone",
  "failed",
] as const;
export type ShownState = (typeof transactionStates)[number];

export const headerActions = [
  "start",
  "startInTerminal",
  "review",
  "commit",
  "discard",
  "stop",
  "undo",
  "resume",
  "trust",
  "openFolder",
  "doctor",
  "showHolds",
] as const;
export type HeaderAction = (typeof headerActions)[number];

const header = z.object({
  state: z.enum(transactionStates),
  /** Why nothing can be started, when `state` is `none`. */
  blocked: z.optional(z.enum(["noFolder", "untrusted"])),
  transaction: z.string(),
  agent: z.string(),
  task: z.string(),
  workspace: z.string(),
  fork: z.string(),
  sandbox: z.object({ state: z.enum(["none", "on", "off"]), text: z.string() }),
  /** Prompts that asking per mutation would have shown, less the holds. */
  promptsAvoided: count,
  toolCalls: count,
  elapsedMs: z.number(),
  ticking: z.boolean(),
  changes: z.optional(z.object({ added: count, modified: count, deleted: count })),
  check: z.optional(
    z.object({
      status: z.enum(["running", "passed", "failed", "notChecked"]),
      introduced: count,
      resolved: count,
      text: z.string(),
    }),
  ),
  conflicts: count,
  notes: z.array(z.object({ tone: z.enum(tones), text: z.string() })),
  /** What else is worth knowing about the copy, shown on request. */
  remarks: z.array(z.string()),
  /** One sentence about where things stand. */
  message: z.string(),
  actions: z.array(z.enum(headerActions)),
  others: z.array(
    z.object({
      transaction: z.string(),
      label: z.string(),
      state: z.enum(transactionStates),
      holds: count,
    }),
  ),
});
export type Header = z.output<typeof header>;

/** The last turn of a session with an agent that can be prompted. */
const conversation = z.object({
  busy: z.boolean(),
  prompt: z.string(),
  /** The end of the answer so far. */
  text: z.string(),
  plan: z.array(
    z.object({ content: z.string(), status: z.enum(["pending", "in_progress", "completed"]) }),
  ),
  /** How the turn ended, where there is something to say. */
  ended: z.string(),
});
export type Conversation = z.output<typeof conversation>;

export const approvalScopes = ["call", "transaction", "rule"] as const;
export type ApprovalScope = (typeof approvalScopes)[number];

const holdCard = z.object({
  hold: z.string(),
  class: z.enum(["irreversible", "recoverable"]),
  openedAt: z.string(),
  summary: z.string(),
  method: z.string(),
  target: z.string(),
  rule: z.string(),
  reason: z.string(),
  wayBack: z.optional(z.string()),
  task: z.optional(z.string()),
  blastRadius: z.optional(
    z.object({ count: z.number(), unit: z.string(), limit: z.optional(z.number()) }),
  ),
  payload: z.string(),
  payloadBytes: count,
  payloadComplete: z.boolean(),
  payloadSha256: z.string(),
  /** What caused it, in the agent's words. */
  cause: z.string(),
  /** The scope offered first. */
  scope: z.enum(approvalScopes),
  /** The rule that approving as a rule will write. */
  ruleText: z.string(),
});
export type HoldCard = z.output<typeof holdCard>;

const filter = z.object({
  text: z.string(),
  classes: z.array(rowClass),
  status: z.enum(["all", "failed", "held", "denied"]),
  tools: z.array(z.string()),
  grouping: z.enum(groupings),
  waterfall: z.boolean(),
});
export type Filter = z.output<typeof filter>;

export const everything: Filter = {
  text: "",
  classes: [],
  status: "all",
  tools: [],
  grouping: "class",
  waterfall: false,
};

/** How many rows of each class there are before filtering, and how many the filter leaves. */
const totals = z.object({
  held: count,
  irreversible: count,
  recoverable: count,
  reversible: count,
  shown: count,
  all: count,
  /** Names of the tools seen, for the filter. */
  tools: z.array(z.string()),
  /** End of the last known moment, milliseconds since the beginning: the width of the waterfall. */
  spanMs: z.number(),
});
export type Totals = z.output<typeof totals>;

export const toWebview = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("snapshot"),
    version: z.number(),
    header,
    holds: z.array(holdCard),
    conversation: z.optional(conversation),
    filter,
    totals,
    layout,
  }),
  /** Absent: there is no session to prompt. */
  z.object({ type: z.literal("conversation"), conversation: z.optional(conversation) }),
  z.object({ type: z.literal("header"), header }),
  z.object({ type: z.literal("holds"), holds: z.array(holdCard) }),
  /** Rows of the newest layout, from position `from`. */
  z.object({ type: z.literal("rows"), generation: count, from: count, rows: z.array(row) }),
  /** A whole new layout: filter, grouping or another transaction. */
  z.object({ type: z.literal("layout"), layout, filter, totals }),
  /** The next layout as a difference; `rows` are those already shown whose content changed. */
  z.object({
    type: z.literal("changed"),
    generation: count,
    splices: z.array(splice),
    rows: z.array(z.tuple([count, row])),
    totals,
  }),
  z.object({ type: z.literal("reveal"), generation: count, position: count, focus: z.boolean() }),
  /** A decision was refused or failed: the card becomes usable again and says why. */
  z.object({ type: z.literal("decideFailed"), hold: z.string(), message: z.string() }),
  /** A prompt did not reach the agent, or its turn failed: its text goes back into the box. */
  z.object({ type: z.literal("promptFailed"), text: z.string(), message: z.string() }),
]);
export type ToWebview = z.output<typeof toWebview>;

export const fromWebview = z.discriminatedUnion("type", [
  z.object({ type: z.literal("ready"), version: z.number() }),
  z.object({ type: z.literal("window"), from: count, count: count.check(z.maximum(500)) }),
  z.object({ type: z.literal("toggle"), id: z.string(), expanded: z.boolean() }),
  /** Keyboard tree moves whose goal only the host knows. */
  z.object({ type: z.literal("move"), id: z.string(), to: z.enum(["parent", "siblings"]) }),
  z.object({ type: z.literal("filter"), filter }),
  z.object({ type: z.literal("rowAction"), id: z.string(), action: z.enum(rowActions) }),
  z.object({ type: z.literal("headerAction"), action: z.enum(headerActions) }),
  z.object({ type: z.literal("select"), transaction: z.string() }),
  z.object({
    type: z.literal("decide"),
    hold: z.string(),
    decision: z.enum(["approve", "deny"]),
    scope: z.enum(approvalScopes),
    reason: z.string(),
    /** Hash of the bytes that the card showed. */
    payloadSha256: z.string(),
  }),
  z.object({ type: z.literal("prompt"), text: z.string().check(z.minLength(1)) }),
  z.object({ type: z.literal("cancelPrompt") }),
  z.object({ type: z.literal("showPayload"), hold: z.string() }),
  z.object({ type: z.literal("failed"), message: z.string() }),
]);
export type FromWebview = z.output<typeof fromWebview>;
