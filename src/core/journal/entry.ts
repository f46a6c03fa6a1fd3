/**
 * The journal: one append-only file per transaction, JSON Lines, UTF-8, `\n` ends a line.
 *
 * Framing. Line n (from 1) is one JSON object: `seq` = n, `at` (ISO 8601, UTC, milliseconds), `kind`, `source`,
 * `parent` (the `seq` of the entry this one belongs under, absent at the root), the members of its kind, and last
 * `prev`: the SHA-256 (lower-case hex) of the bytes of line n-1 without its newline; 64 zeros for line 1.
 *
 * Valid. A file is valid when every line parses, `seq` counts 1, 2, 3, … and every `prev` matches. Bytes after the
 * last newline are a torn write: the reader drops them and the next append truncates them. Anything else that does not
 * hold is a broken chain, reported with the number of the first line that is wrong, and never repaired silently.
 *
 * Order. Appends are serial. `append` returns at once with the `seq`; its `durable` promise settles after fsync. An
 * entry in {@link writeAheadKinds} must be durable before the thing that it announces happens; one in
 * {@link observationKinds} may share a later fsync, at most 20 ms after it. Lines of {@link turnKinds} may reach the file
 * at the end of the turn of the event loop, and always before any later line.
 *
 * Large values. A string or JSON value of more than 16 KiB is stored as a blob under `blobs/<sha256>` before the entry
 * is appended, and the entry holds a {@link BlobRef}. Values of secrets never reach either.
 */

import type { ToolKind } from "../../base/toolKind.ts";

/** Who told us: an agent's hook, an ACP session, an event stream, the MCP gateway, the broker, the kernel, a scan of
 * files, a person, or Holdfast itself. */
export type EntrySource =
  "hook" | "acp" | "stream" | "mcp" | "broker" | "kernel" | "fs" | "person" | "holdfast";

/** Ordered from harmless to final; combining is `max` (see core/policy/reversibility). */
export type Reversibility = "reversible" | "recoverable" | "irreversible";

/** What we do with a call; combining is `max`. */
export type Verdict = "allow" | "hold" | "deny";

/** A value kept beside the journal, addressed by its content. `bytes` counts its UTF-8 encoding; `preview` is at most
 * 200 characters. */
export interface BlobRef {
  readonly blob: string;
  readonly bytes: number;
  readonly preview: string;
}

/** A JSON value kept whole, in place or as a blob. */
export type Kept = JsonValue | { readonly $blob: BlobRef };

export type JsonValue =
  null | boolean | number | string | readonly JsonValue[] | { readonly [key: string]: JsonValue };

export type BackendName = "snapshot" | "clone" | "overlay" | "copy";

/** A call that waits for a person, as its card shows it. */
export interface HeldCall {
  readonly request: string;
  readonly summary: string;
  readonly rule: string;
  readonly reason: string;
  readonly reversibility: Reversibility;
  readonly wayBack?: string;
  readonly blastRadius?: BlastRadius;
  /** The policy rule that an approval as a rule adds, as JSON; absent where no rule can allow the call. */
  readonly ruleToAdd?: string;
  /** The exact bytes that will be sent (head and body), secrets as placeholders, and their hash. */
  readonly payload: Kept;
  readonly payloadSha256: string;
}

/** How much an agent tells: `full` (every tool call with arguments and results), `partial`, or nothing. */
export type Coverage = "full" | "partial" | "effects-only";

export type FileChangeKind = "added" | "modified" | "deleted" | "renamed" | "mode" | "symlink";

/** Counts of a change set, in files. A rename counts as modified in the three-number form of the command line. */
export interface ChangeCounts {
  readonly added: number;
  readonly modified: number;
  readonly deleted: number;
}

/** One diagnostic of a checker. `line` and `column` count from 1; `path` is relative to the workspace. */
export interface Diagnostic {
  readonly path: string;
  readonly line: number;
  readonly column: number;
  readonly code: string;
  readonly message: string;
  readonly severity: "error" | "warning";
}

/** How a check ended. `notChecked` means that a configuration or syntax error hides the answer. */
export type CheckStatus = "passed" | "failed" | "notChecked" | "crashed" | "timedOut" | "skipped";

/** What a person's approval covers. */
export type ApprovalScope = "call" | "transaction" | "rule";

/** How many things one call touches, against the limit of the declared task where there is one. */
export interface BlastRadius {
  readonly count: number;
  readonly unit: string;
  readonly limit?: number;
}

interface TransactionBody {
  readonly "transaction.begun": {
    readonly transaction: string;
    readonly version: string;
    readonly workspace: string;
    readonly agent: string;
    /** How much it is expected to tell; an alert `hooks-silent` says that it does not. */
    readonly coverage?: Coverage;
    readonly command: readonly string[];
    readonly task?: string;
    readonly prompt?: string;
    readonly limits: Readonly<Record<string, string>>;
    readonly backendWanted: "auto" | BackendName;
    readonly onExit: "review" | "commit" | "discard";
    readonly unsafeNoSandbox?: true;
    /** What was not denied as it is by default: each makes the sandbox weaker. */
    readonly allow?: readonly ("user-namespaces" | "ptrace")[];
  };
  readonly "transaction.forked": {
    readonly backend: BackendName;
    readonly forkMs: number;
    readonly files: number;
    readonly bytes?: number;
    readonly shadow: string;
    /** Made of a clone that was kept in reserve; `refreshed` files were not in it as they are now. */
    readonly spare?: true;
    readonly refreshed?: number;
    /** Why each better backend was not taken, and what was left out of the fork (FIFOs, sockets, unreadable). */
    readonly notes: readonly string[];
  };
  readonly "transaction.started": {
    readonly pid: number;
    readonly sandbox: string;
    /** The agent's own program as it was found. */
    readonly program?: { readonly path: string; readonly version?: string };
    readonly notes: readonly string[];
  };
  readonly "transaction.exited": {
    readonly exitCode: number | null;
    readonly signal?: string;
    /** The limit of the run that ended it, in words. */
    readonly limit?: string;
  };
  readonly "transaction.sealed": {
    readonly counts: ChangeCounts;
    /** Name of the immutable change set file in the transaction's directory. */
    readonly changeSet: string;
  };
  readonly "transaction.interrupted": { readonly reason: string };
  readonly "transaction.resumed": { readonly pid: number };
  readonly "transaction.discarded": { readonly reason?: string };
  /** The start failed: nothing ran and nothing is left behind. */
  readonly "transaction.failed": { readonly code: string; readonly message: string };
}

interface ToolBody {
  /** `call` is the agent's own id of the call; `agent` names the sub-agent that made it. */
  readonly "tool.started": {
    readonly call: string;
    readonly tool: string;
    readonly toolKind: ToolKind;
    readonly title: string;
    readonly input: Kept;
    readonly agent?: string;
  };
  readonly "tool.finished": {
    readonly call: string;
    readonly status: "ok" | "failed" | "denied" | "cancelled";
    readonly output: Kept;
    readonly durationMs?: number;
  };
  /** Anything else that an agent tells: session start, text, plan, unknown events kept raw. */
  readonly "agent.event": { readonly event: string; readonly data: Kept };
}

interface EffectBody {
  readonly "process.exec": {
    readonly pid: number;
    readonly ppid: number;
    readonly argv: readonly string[];
    readonly cwd: string;
    readonly program: string;
  };
  readonly "process.exit": {
    readonly pid: number;
    readonly exitCode: number | null;
    readonly signal?: string;
    readonly durationMs: number;
  };
  /** What a step did to a file, against the step before it: not against the base. */
  readonly "file.changed": {
    readonly path: string;
    readonly change: FileChangeKind;
    readonly from?: string;
    readonly bytes?: number;
  };
  /** Write-ahead: durable before the first byte leaves. Sizes in bytes. */
  readonly "request.started": {
    readonly request: string;
    readonly protocol: string;
    readonly method: string;
    readonly host: string;
    readonly port: number;
    readonly path: string;
    readonly reversibility: Reversibility;
    /** A read is a disclosure, the agent's own model traffic has its own row. */
    readonly traffic: "model" | "disclosure" | "change" | "opaque";
    readonly wayBack?: string;
    readonly bytes?: number;
    /** What an MCP tool was called with. */
    readonly input?: Kept;
  };
  readonly "request.finished": {
    readonly request: string;
    readonly status?: number;
    readonly bytesSent: number;
    readonly bytesReceived: number;
    readonly durationMs: number;
    readonly error?: string;
    /** What an MCP tool answered. */
    readonly output?: Kept;
  };
  readonly verdict: {
    readonly request: string;
    readonly verdict: Verdict;
    readonly reversibility: Reversibility;
    readonly rule: string;
    readonly reason: string;
  };
  readonly "hold.opened": HeldCall & { readonly hold: string };
  readonly "hold.decided": {
    readonly hold: string;
    readonly decision: "approve" | "deny" | "abort";
    readonly scope: ApprovalScope;
    readonly reason?: string;
  };
  /** The approval of the held call `request` is used up by the call `by` (the same one, or the agent's retry of the
   * same bytes): durable before the first byte leaves, so that one approval never sends twice. */
  readonly "hold.spent": { readonly request: string; readonly by: string };
  readonly "secret.used": {
    readonly secret: string;
    readonly host: string;
    readonly where: string;
    readonly request: string;
  };
  readonly alert: { readonly code: string; readonly message: string };
}

interface ReviewBody {
  readonly "savepoint.taken": {
    readonly savepoint: string;
    readonly name?: string;
    readonly files: number;
    readonly durationMs: number;
  };
  readonly "savepoint.restored": { readonly savepoint: string; readonly to: string };
  readonly "check.started": { readonly check: string; readonly generation: number };
  readonly "check.finished": {
    readonly check: string;
    readonly generation: number;
    readonly status: CheckStatus;
    readonly durationMs: number;
    readonly note?: string;
    readonly introduced: readonly Diagnostic[];
    readonly resolved: readonly Diagnostic[];
    readonly unchanged: number;
    /** Errors that count by themselves hide others: nothing is called resolved that may only be hidden. */
    readonly partial?: true;
    /** The shadow changed while the check ran: it may have seen some of a later state. */
    readonly unsteady?: true;
  };
  /** An early answer about the edited files alone; the generation's `check.finished` takes its place. */
  readonly "check.provisional": {
    readonly check: string;
    readonly generation: number;
    readonly paths: readonly string[];
    readonly introduced: readonly Diagnostic[];
    readonly resolved: readonly Diagnostic[];
  };
  /** What lies between two results of one check. `parent` is the tool call that did it where one alone can have; `calls` are all
   * that changed files between the two, by the `seq` of their start. */
  readonly "check.step": {
    readonly check: string;
    readonly generation: number;
    readonly calls: readonly number[];
    readonly introduced: readonly Diagnostic[];
    readonly resolved: readonly Diagnostic[];
  };
  /** Write-ahead: durable before the first write into the workspace. */
  readonly "commit.intended": {
    readonly commit: string;
    readonly paths: readonly string[];
    /** Paths whose content a person wrote or chose in review. */
    readonly edited?: readonly string[];
    /** The commit that this publish takes back, or brings back: its outcome is told under that commit's name. */
    readonly undoes?: string;
  };
  readonly "commit.published": {
    readonly commit: string;
    readonly published: number;
    readonly merged: number;
    /** False while a part of the change set is still unpublished and reviewable. */
    readonly complete: boolean;
  };
  readonly "commit.abandoned": { readonly commit: string; readonly reason: string };
  readonly "commit.undone": { readonly commit: string; readonly files: number };
  /** Write-ahead: the agent's own git commits up to `head` are to come into the workspace's repository under `ref`. */
  readonly "commits.intended": { readonly ref: string; readonly head: string };
  readonly "commits.brought": {
    readonly ref: string;
    readonly head: string;
    /** Commits that the workspace's branches did not lead to before. */
    readonly count: number;
  };
  readonly "commits.abandoned": { readonly ref: string; readonly reason: string };
}

/** Members of every kind, by the name of the kind. */
export type EntryBodies = TransactionBody & ToolBody & EffectBody & ReviewBody;

export type EntryKind = keyof EntryBodies;

/** What every line has besides the members of its kind. */
export interface EntryHead {
  readonly seq: number;
  readonly at: string;
  readonly source: EntrySource;
  readonly parent?: number;
  readonly prev: string;
}

export type EntryOf<K extends EntryKind> = EntryHead & { readonly kind: K } & EntryBodies[K];

/** One line of the journal: a union over `kind`. */
export type Entry = { [K in EntryKind]: EntryOf<K> }[EntryKind];

/** What a writer gives: the journal adds `seq`, `at` and `prev`. */
export type EntryDraft = {
  [K in EntryKind]: {
    readonly kind: K;
    readonly source: EntrySource;
    readonly parent?: number;
  } & EntryBodies[K];
}[EntryKind];

/** Intents: they must be durable before what they announce happens. */
export const writeAheadKinds: ReadonlySet<EntryKind> = new Set<EntryKind>([
  "transaction.begun",
  "request.started",
  "verdict",
  "hold.opened",
  "hold.decided",
  "hold.spent",
  "secret.used",
  "commit.intended",
  "commits.intended",
]);

/** What was seen, and comes in numbers: nothing waits for it, so it need be durable soon, not at once. */
export const observationKinds: ReadonlySet<EntryKind> = new Set<EntryKind>([
  "tool.started",
  "tool.finished",
  "agent.event",
  "process.exec",
  "process.exit",
  "file.changed",
  "request.finished",
]);

/** Kinds that come by the thousand: their lines are written together at the end of a turn. Nobody is told of one and then
 * looks into the file for it. */
export const turnKinds: ReadonlySet<EntryKind> = new Set<EntryKind>([
  ...observationKinds,
  "request.started",
  "verdict",
]);
