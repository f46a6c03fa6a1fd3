/**
 * The ports of the supervisor: what its use cases need from the outside. Adapters live in src/node; nothing here does
 * I/O. Paths are absolute unless called relative; sizes are bytes; durations milliseconds.
 */
import type {
  BackendName,
  CheckStatus,
  Diagnostic,
  Entry,
  EntryDraft,
  FileChangeKind,
  HeldCall,
  Kept,
} from "../core/journal/entry.ts";

/** Where a transaction keeps its state; every directory is 0700 and outside the workspace and the sandbox. */
export interface TransactionPaths {
  /** `$HOLDFAST_HOME/transactions/<id>`. */
  readonly root: string;
  /** Saved copies of base files, by relative path. */
  readonly base: string;
  /** Bound into the sandbox at `/run/holdfast`: agent.sock (events only), door.sock (the broker), ca files. */
  readonly door: string;
  /** Ours alone: fork manifests, change sets, savepoints, publish intent. */
  readonly state: string;
}

/** A fork as a later process can find it again: plain data, kept in `state/fork.json`. */
export interface Fork {
  readonly backend: BackendName;
  /** The directory to mount at the workspace's own path. */
  readonly shadow: string;
  /** Mounts that the sandbox must make over the shadow (overlay backends), in order, relative to the workspace. */
  readonly overlays: readonly OverlayMount[];
  /** Manifest file of the base as forked. */
  readonly manifest: string;
  /** A frozen tree of the base, where the filesystem gives one for nothing; it stands for the workspace then. */
  readonly baseTree?: string;
  /** Made of a clone that was kept in reserve; `refreshed` files were not in it as they are now. */
  readonly spare?: true;
  readonly refreshed?: number;
  readonly forkMs: number;
  readonly files: number;
  readonly bytes: number;
  readonly notes: readonly string[];
}

/** One overlay: `lower` is read-only below, `upper` takes the writes, `work` is on the same filesystem as `upper`. */
export interface OverlayMount {
  readonly at: string;
  readonly lower: string;
  readonly upper: string;
  readonly work: string;
}

/** One path that differs between base and shadow. `mode` is the shadow's permission bits. */
export interface ChangedPath {
  readonly path: string;
  readonly change: FileChangeKind;
  readonly from?: string;
  readonly mode?: number;
  readonly bytes?: number;
  /** What stands there in the shadow (in the base when deleted). Directories are listed only when they are empty, or for
   * their mode. */
  readonly type?: "file" | "symlink" | "directory";
  /** A directory in which folders are nested deeper than a path can name: what lies there is in no change set. */
  readonly nestedTooDeep?: true;
  /** True when the base's own ignore rules exclude it. */
  readonly ignored: boolean;
  /** Differs after every later write to the same path (from the shadow's ctime and inode): tells a second edit. */
  readonly stamp?: string;
  /** When the shadow's path was last written or changed, milliseconds since 1970: tells which tool call did it. Of a deleted
   * path: when names in the nearest directory that still stands last changed; it was deleted then or before. */
  readonly changedAtMs?: number;
}

/** DESIGN §3. */
export interface Workspaces {
  fork(request: {
    readonly workspace: string;
    readonly paths: TransactionPaths;
    readonly backend: "auto" | BackendName;
    readonly onProgress: (line: string) => void;
    /** The files are being brought over, and until they are this process has nothing to do: once or more, or never. */
    readonly onWaiting?: () => void;
    readonly signal: AbortSignal;
  }): Promise<Fork>;
  /** Every difference base → shadow now. Exact once the process tree is dead; a hint before. */
  changes(fork: Fork, workspace: string, paths: TransactionPaths): Promise<readonly ChangedPath[]>;
  /** Reads both sides of the fork by path. Cheap to make; loads the manifest at the first call. */
  reader(fork: Fork, workspace: string, paths: TransactionPaths): ForkReader;
  /** Removes the shadow and everything of the fork. Idempotent. */
  remove(fork: Fork, paths: TransactionPaths): Promise<void>;
}

/** A restorable state of a shadow. `files` counts what changed since the one before. */
export interface Savepoint {
  readonly savepoint: string;
  /** ISO 8601, as the taker said. */
  readonly at: string;
  readonly name?: string;
  readonly files: number;
}

/** Savepoints of a fork. Take and restore with the process tree frozen (or dead): both look at and write the shadow. */
export interface Savepoints {
  /** Undefined when nothing has changed since the last one and no name is given. */
  take(
    fork: Fork,
    workspace: string,
    paths: TransactionPaths,
    options: { readonly at: string; readonly name?: string | undefined },
  ): Promise<Savepoint | undefined>;
  /** Oldest first. */
  list(paths: TransactionPaths): readonly Savepoint[];
  /** A file as a savepoint has it; undefined when it has none there. A link reads as its target. */
  read(
    fork: Fork,
    workspace: string,
    paths: TransactionPaths,
    options: { readonly savepoint: string; readonly path: string },
  ): Promise<Uint8Array | undefined>;
  /** Brings the shadow back to `to`; gives the savepoint that was taken just before, so that this can be undone. `hostView`
   * is that of the sandbox while one runs: what lies in overlays is written through its mounts. */
  restore(
    fork: Fork,
    workspace: string,
    paths: TransactionPaths,
    options: {
      readonly at: string;
      readonly to: string;
      readonly hostView?: string | undefined;
    },
  ): Promise<Savepoint>;
}

/** `base` is the workspace as it was at the fork, `shadow` the fork as it is now. */
export type ForkSide = "base" | "shadow";

/** What stands at a path, never followed. `mode` is the twelve permission bits; `target` is verbatim. */
export type ForkStat =
  | { readonly type: "file"; readonly mode: number; readonly size: number }
  | { readonly type: "symlink"; readonly mode: number; readonly target: string }
  | { readonly type: "directory" | "other"; readonly mode: number };

/**
 * Both sides of a fork by relative path, resolved beneath the root without following a symbolic link in any component
 * (a path through one is absent). Paths (and symlink targets) are decoded with src/node/fork/pathBytes.ts, so that names
 * that are not UTF-8 survive. Secrets in masked files read as placeholders on both sides; `unmask` gives the bytes to
 * publish. Throws a Failure `base-lost` when the base of a path is no longer available.
 */
export interface ForkReader {
  /** Undefined when nothing is there. */
  stat(side: ForkSide, path: string): Promise<ForkStat | undefined>;
  /** Whole content; undefined when there is no regular file. */
  read(side: ForkSide, path: string): Promise<Uint8Array | undefined>;
  /** The same content in pieces, for files too large for memory; `read` is taken where it is absent. */
  pieces?(side: ForkSide, path: string): Promise<AsyncIterable<Uint8Array> | undefined>;
  /** Names in a directory, sorted by bytes; undefined when there is no directory. `""` is the root. */
  list(side: ForkSide, path: string): Promise<readonly string[] | undefined>;
  /**
   * The bytes with placeholders of masked values replaced by the real values; the same bytes when none is masked. `from` is the
   * path that the file was renamed from.
   */
  unmask(path: string, bytes: Uint8Array, from?: string): Promise<Uint8Array>;
}

/** What an agent needs to run: made by its adapter, data only. */
export interface AgentLaunch {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Files to create in the sandbox's own HOME and /etc: absolute sandbox path → content. Never credentials. */
  readonly files: readonly {
    readonly path: string;
    readonly content: string;
    readonly mode: number;
  }[];
  /** Host directories to show read-only at the same path (the agent's own program). */
  readonly readOnly: readonly string[];
  /** Hosts (host or host:port) that are the agent's model. */
  readonly modelHosts: readonly string[];
  /** The agent's own program as it was found. */
  readonly program?: { readonly path: string; readonly version?: string };
  /** Hosts (exact, or `*.example.com`) that it reads from besides its model. */
  readonly readHosts?: readonly string[];
  /** Where its login gets new tokens: such a call is denied, its answer would bring them into the sandbox. */
  readonly logins?: readonly { readonly host: string; readonly path: string }[];
  /** Where its login asks about itself: such a call passes as the model's do. */
  readonly account?: readonly { readonly host: string; readonly path: string }[];
  /** Named secrets of the person's that it gets as `--secret` would give them. */
  readonly secretNames?: readonly string[];
  /** For people, with the transaction: a key that was not found. */
  readonly notes?: readonly string[];
  /** Values that stay in the supervisor's memory; the sandbox gets their placeholders. Never journaled. */
  readonly secrets?: readonly AgentSecret[];
}

/** A secret of the agent itself (its model key) and the only places where the broker may put it. */
export interface AgentSecret {
  readonly name: string;
  readonly value: string;
  readonly bindings: readonly {
    readonly host: string;
    readonly port?: number;
    readonly positions?: readonly ("header" | "query" | "path" | "body")[];
  }[];
}

/** What the sandbox tells while it runs. */
export type SandboxEvent =
  | {
      readonly type: "exec";
      readonly pid: number;
      readonly ppid: number;
      readonly argv: readonly string[];
      readonly cwd: string;
      readonly program: string;
      readonly atMs: number;
      /** The nearest ancestor that an exec was told of, also when it is gone by now: a daemon keeps it. */
      readonly cause?: number;
      /** Its parent is gone: a background process or daemon. */
      readonly detached?: true;
      /** More than 4,096 arguments or 256 KiB of them: the rest is missing. */
      readonly truncated?: true;
      /** It hid its memory and was not let run; argv is empty. */
      readonly hidden?: true;
    }
  | {
      readonly type: "exit";
      readonly pid: number;
      readonly exitCode: number | null;
      readonly signal?: string;
      readonly atMs: number;
      /** Since its first exec. */
      readonly durationMs?: number;
    };

export interface SandboxSpec {
  readonly workspace: string;
  readonly fork: Fork;
  readonly paths: TransactionPaths;
  readonly launch: AgentLaunch;
  /** Working directory inside, within the workspace. */
  readonly cwd: string;
  /** A terminal of this size, or pipes. */
  readonly terminal?: { readonly columns: number; readonly rows: number };
  readonly unsafeNoSandbox?: true;
  /** False: no way out at all (no door, no bridge, no proxy variables), as for checks. */
  readonly door?: false;
  /** The shadow read-only; its overlays then may be mounted elsewhere at the same time. */
  readonly shadowReadOnly?: true;
  /** What is not denied as it is by default; told in the description as weaker. `user-namespaces` for agents that bring
   * a sandbox of their own, `ptrace` for debuggers. */
  readonly allow?: readonly ("user-namespaces" | "ptrace")[];
  /** Bounds; one that is passed ends the sandbox (`SandboxLimit`) or, for those per process, that process. */
  readonly limits?: SandboxLimits;
}

/** Of the whole tree: seconds of wall clock and processor, bytes of resident memory, processes, bytes that the shadow
 * grows by. Of one process: `openFiles`, `fileBytes`. */
export interface SandboxLimits {
  readonly seconds?: number;
  readonly cpuSeconds?: number;
  readonly memoryBytes?: number;
  readonly processes?: number;
  readonly growthBytes?: number;
  readonly openFiles?: number;
  readonly fileBytes?: number;
}

/** A running sandbox. Streams are Node's; typed structurally to keep this file free of I/O. */
export interface Sandbox {
  readonly pid: number;
  /** One line for people: which layers hold. */
  readonly description: string;
  readonly notes: readonly string[];
  /** A directory below which the host's paths are seen with the fork's overlays mounted, as long as it runs. */
  readonly hostView?: string | undefined;
  readonly stdin: NodeJS.WritableStream;
  readonly stdout: NodeJS.ReadableStream;
  /** Absent with a terminal. */
  readonly stderr?: NodeJS.ReadableStream;
  onEvent(listener: (event: SandboxEvent) => void): Disposable;
  resize(columns: number, rows: number): void;
  signal(name: "SIGINT" | "SIGTERM" | "SIGTSTP" | "SIGCONT"): void;
  freeze(): Promise<void>;
  thaw(): Promise<void>;
  /** Ends the whole process tree, double-forked daemons included; resolves when none is left. */
  kill(): Promise<void>;
  readonly exited: Promise<{
    readonly exitCode: number | null;
    readonly signal?: string;
    /** Processes that were still there when the agent ended, and were ended with it. */
    readonly left?: number;
    /** The limit that ended it, in words. */
    readonly limit?: string;
  }>;
}

/** DESIGN §4. `launch` throws a Failure of kind `refused` when a layer cannot be built. */
export interface Sandboxes {
  launch(spec: SandboxSpec): Promise<Sandbox>;
}

/** A held call as the broker asks for it; resolved by a person through the supervisor. */
export interface HoldRequest extends HeldCall {
  /** Who holds it; left out: the broker. */
  readonly source?: "broker" | "mcp";
  readonly parent?: number;
}

export interface Decision {
  readonly decision: "approve" | "deny" | "abort";
  readonly scope: "call" | "transaction" | "rule";
  readonly reason?: string;
}

/** What the broker reports to; implemented by the runtime over the journal. `record` resolves when durable. */
export interface BrokerHost {
  record(draft: EntryDraft): Promise<number>;
  keep(value: unknown): Kept;
  /** Opens a hold and waits, without limit, for a person. Aborting the signal abandons the wait, never the hold. */
  hold(request: HoldRequest, signal: AbortSignal): Promise<Decision>;
  /** Waits again, as `hold` does, for a hold that an earlier process of this transaction opened. */
  rejoin?(hold: string, signal: AbortSignal): Promise<Decision>;
  /** What the journal already holds when the broker starts: earlier holds are found again from it. */
  earlier?(): readonly Entry[];
  /** The `seq` of the tool call that is running now, to hang requests under. */
  currentToolCall(): number | undefined;
  /** The `seq` of the tool call that this request is probably made for, where an agent tells of its calls late: the next
   * that it tells of, undefined when none comes in a moment. One that is held can wait longer. */
  toolCallToCome?(isHeld: boolean): Promise<number | undefined>;
  /** The `seq` of the tool call that has one of these ids of the agent's, else of the running one with this input. */
  toolCallOf?(ids: readonly string[], input: unknown): number | undefined;
}

/** DESIGN §5 and §6: the only door out. Listens on `paths.door`/door.sock. */
export interface Broker {
  /** Environment that programs inside need (proxy and CA variables). */
  readonly env: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

/** One check's answer for one generation of the shadow. */
export interface CheckResult {
  readonly check: string;
  readonly status: CheckStatus;
  readonly durationMs: number;
  readonly note?: string;
  readonly introduced: readonly Diagnostic[];
  readonly resolved: readonly Diagnostic[];
  readonly unchanged: number;
  /** Something is hidden on one side, and so in neither list. */
  readonly partial?: true;
}

/** What a check says early about some files alone: others may be affected, so it is never shown as the answer. */
export interface ProvisionalResult {
  readonly check: string;
  readonly paths: readonly string[];
  readonly introduced: readonly Diagnostic[];
  readonly resolved: readonly Diagnostic[];
}

/** DESIGN §9. Runs in a sandbox of its own; results of an older generation are dropped by comparison. */
export interface Checks {
  run(request: {
    readonly workspace: string;
    readonly fork: Fork;
    readonly paths: TransactionPaths;
    readonly changed: readonly ChangedPath[];
    readonly generation: number;
    readonly signal: AbortSignal;
    /** Called before the promise settles, if at all. */
    readonly onProvisional?: (result: ProvisionalResult) => void;
  }): Promise<readonly CheckResult[]>;
  /** Whether a change to that path can change the answer of the check of that name. */
  concerns(check: string, path: string): boolean;
  close(): Promise<void>;
}
