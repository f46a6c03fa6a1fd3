/**
 * The control protocol: between a transaction's supervisor and its faces (command line, extension), JSON-RPC 2.0 as JSON
 * Lines over `control.sock`. The socket is 0600 in a 0700 directory and never visible in the sandbox. Every connection
 * begins with `hello`; a version that differs is refused there. Members keep the names of the command line (DESIGN §11).
 */
import * as z from "zod";

export const controlVersion = 1;

const reversibility = z.enum(["reversible", "recoverable", "irreversible"]);

/** A journal entry as it travels: the head is checked, the members of its kind pass through. */
export const wireEntry = z.looseObject({
  seq: z.number().int().positive(),
  at: z.string(),
  kind: z.string(),
  source: z.string(),
  parent: z.number().int().positive().optional(),
});
export type WireEntry = z.output<typeof wireEntry>;

export const transactionStateName = z.enum([
  "open",
  "sealed",
  "publishing",
  "committed",
  "discarded",
  "undone",
  "interrupted",
  "failed",
]);

export const changeCounts = z.object({
  added: z.number(),
  modified: z.number(),
  deleted: z.number(),
});

/** `holdfast status --json`. */
export const statusView = z.object({
  transaction: z.string(),
  workspace: z.string(),
  state: transactionStateName,
  agent: z.string(),
  task: z.string().optional(),
  begunAt: z.string(),
  backend: z.string().optional(),
  forkMs: z.number().optional(),
  files: z.number().optional(),
  sandbox: z.string().optional(),
  unsafe: z.boolean(),
  running: z.boolean(),
  exitCode: z.number().nullable().optional(),
  /** The limit of the run that ended the agent, in words. */
  limit: z.string().optional(),
  changes: changeCounts,
  holds: z.object({ open: z.number(), decided: z.number() }),
  coverage: z.enum(["full", "partial", "effects-only"]),
  /** There while the agent can be prompted: whether it waits for one or works. */
  session: z.enum(["idle", "busy"]).optional(),
  notes: z.array(z.string()),
});
export type StatusView = z.output<typeof statusView>;

/** `holdfast holds --json`, plus what a card shows. */
export const holdView = z.object({
  hold: z.string(),
  transaction: z.string(),
  openedAt: z.string(),
  reversibility,
  rule: z.string(),
  reason: z.string(),
  summary: z.string(),
  blastRadius: z
    .object({ count: z.number(), unit: z.string(), limit: z.number().optional() })
    .optional(),
  wayBack: z.string().optional(),
  /** The rule that `approve --for rule` adds to the policy, as JSON; absent where no rule can allow the call. */
  ruleToAdd: z.string().optional(),
  payload: z.unknown().optional(),
  payloadSha256: z.string().optional(),
});
export type HoldView = z.output<typeof holdView>;

export const hunkView = z.object({
  id: z.string(),
  oldStart: z.number(),
  oldLines: z.number(),
  newStart: z.number(),
  newLines: z.number(),
});

/** `holdfast changes --json`. */
export const changesView = z.object({
  files: z.array(
    z.object({
      path: z.string(),
      kind: z.enum(["added", "modified", "deleted", "renamed", "mode", "symlink"]),
      from: z.string().optional(),
      mode: z.string().optional(),
      binary: z.boolean(),
      section: z.enum(["change", "runsLater", "ignored", "conflict"]),
      why: z.string().optional(),
      hunks: z.array(hunkView),
    }),
  ),
});
export type ChangesView = z.output<typeof changesView>;

const diagnosticView = z.object({
  path: z.string(),
  line: z.number(),
  column: z.number(),
  code: z.string(),
  message: z.string(),
  severity: z.enum(["error", "warning"]).optional(),
});

/** `holdfast check --json`. */
export const checkView = z.object({
  checks: z.array(
    z.object({
      name: z.string(),
      status: z.string(),
      durationMs: z.number(),
      note: z.string().optional(),
      introduced: z.array(diagnosticView),
      resolved: z.array(diagnosticView),
    }),
  ),
});
export type CheckView = z.output<typeof checkView>;

/** `holdfast commit --json`, which is without `ignored`. */
export const commitView = z.object({
  state: transactionStateName,
  published: z.number(),
  merged: z.number(),
  conflicts: z.array(z.object({ path: z.string(), reason: z.string() })),
  /** What is not published because it is ignored: how many files, and the first of them. */
  ignored: z.object({ count: z.number(), first: z.array(z.string()) }).optional(),
});
export type CommitView = z.output<typeof commitView>;

/** `holdfast commits --json`: git commits that the agent made itself, the newest first. */
export const commitsView = z.object({
  ref: z.string(),
  brought: z.boolean(),
  head: z.string(),
  commits: z.array(
    z.object({ commit: z.string(), author: z.string(), at: z.string(), subject: z.string() }),
  ),
  /** Files into which they put placeholders in the place of hidden values. */
  placeholders: z.array(z.string()),
});
export type CommitsView = z.output<typeof commitsView>;

/** What a person chose: nothing named means everything in section `change`. */
export const selection = z.object({
  paths: z.array(z.string()).optional(),
  hunks: z.array(z.string()).optional(),
  includeRunsLater: z.boolean().optional(),
  includeIgnored: z.boolean().optional(),
  /** The reviewer's own text for a path: whole file content, base64. */
  edits: z.record(z.string(), z.string()).optional(),
  /**
   * Conflicts that the reviewer merged by hand, by path: the merged content, and the workspace's content that it was merged
   * from (null when the file was gone there), both base64. What the workspace has changed to since is merged in again.
   */
  merges: z
    .record(z.string(), z.object({ content: z.string(), mine: z.string().nullable() }))
    .optional(),
  /** How to settle a conflict, by path. */
  resolutions: z.record(z.string(), z.enum(["mine", "theirs"])).optional(),
  /** Waits for the checks and refuses (`not-clean`) when they say errors, or say nothing. */
  onlyWhenClean: z.boolean().optional(),
});
export type Selection = z.output<typeof selection>;

export const savepointView = z.object({
  savepoint: z.string(),
  at: z.string(),
  name: z.string().optional(),
  files: z.number(),
});

const nothing = z.object({});
const done = z.null();

/** The base, the shadow as it is now, or the shadow as a savepoint has it. */
const fileSideName = z.union([z.enum(["base", "shadow"]), z.string().regex(/^s\d+$/)]);

/** One side of one file of the change set, for the review: whole content, base64; absent when the side has no file. */
const fileSide = z.object({ content: z.string().optional() });

export const controlMethods = {
  hello: {
    params: z.object({ version: z.number(), client: z.string() }),
    result: z.object({ version: z.number(), transaction: z.string(), pid: z.number() }),
  },
  /** Entries after `after` follow as `entries` notifications, batched, and then live; with `kinds` those of these kinds
   * alone: whoever waits for the end of a run need not be told of each of its processes. */
  subscribe: {
    params: z.object({
      after: z.number().int().nonnegative(),
      kinds: z.array(z.string()).optional(),
    }),
    result: done,
  },
  status: { params: nothing, result: statusView },
  holds: { params: nothing, result: z.array(holdView) },
  decide: {
    params: z.object({
      hold: z.string(),
      decision: z.enum(["approve", "deny"]),
      scope: z.enum(["call", "transaction", "rule"]),
      reason: z.string().optional(),
      /** Hash of the payload that the person was shown; an approval needs it. */
      payloadSha256: z.string().optional(),
    }),
    result: done,
  },
  /** For an emergency: shuts the door and ends the agent at once, and lets nothing be committed by itself; resolves when
   * nothing leaves and nothing runs any more. Sealing follows; `stop` waits for it. */
  halt: { params: nothing, result: done },
  /** Ends the agent and seals; resolves when sealed. */
  stop: { params: nothing, result: statusView },
  changes: { params: nothing, result: changesView },
  diff: {
    params: z.object({ paths: z.array(z.string()) }),
    result: z.object({ patch: z.string() }),
  },
  file: {
    params: z.object({ path: z.string(), side: fileSideName }),
    result: fileSide,
  },
  /** Waits for the checks of the current generation; `wait` false gives what they have said so far. */
  check: { params: z.object({ wait: z.boolean().optional() }), result: checkView },
  commit: { params: selection, result: commitView },
  discard: { params: nothing, result: done },
  /** Takes a commit back, or brings an undone one back; without a name the newest that is in force. */
  undo: { params: z.object({ commit: z.string().optional() }), result: commitView },
  commits: { params: nothing, result: commitsView },
  bringCommits: { params: nothing, result: commitsView },
  savepoint: { params: z.object({ name: z.string().optional() }), result: savepointView },
  savepoints: { params: nothing, result: z.array(savepointView) },
  restore: { params: z.object({ to: z.string() }), result: savepointView },
  /** Sends a prompt to the agent's session and waits for the end of its turn. */
  prompt: {
    params: z.object({ text: z.string().min(1) }),
    result: z.object({ stopReason: z.string() }),
  },
  /** Asks the agent to end its turn. */
  cancel: { params: nothing, result: done },
  /** A blob that an entry refers to, as UTF-8 text. */
  blob: { params: z.object({ blob: z.string() }), result: z.object({ text: z.string() }) },
} as const;

export const controlNotifications = {
  entries: z.array(wireEntry),
  /** The supervisor is about to end by itself (idle, discarded). */
  ending: z.object({ reason: z.string() }),
} as const;

export type ControlMethods = typeof controlMethods;
export type ControlNotifications = typeof controlNotifications;
