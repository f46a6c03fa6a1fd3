import type {
  ApprovalScope,
  BackendName,
  ChangeCounts,
  Coverage,
  Entry,
  EntryOf,
  HeldCall,
} from "../journal/entry.ts";

/** DESIGN §1: `open → sealed → publishing → committed` or `discarded`; `committed → undone`; `interrupted` when its
 * supervisor died; `failed` when it never started. */
export type StateName =
  | "open"
  | "sealed"
  | "publishing"
  | "committed"
  | "discarded"
  | "undone"
  | "interrupted"
  | "failed";

/** A hold that waits for a person. */
export interface OpenHold extends HeldCall {
  readonly hold: string;
  readonly openedAt: string;
  readonly seq: number;
}

/** One commit out of the transaction. */
export interface CommitRecord {
  readonly commit: string;
  readonly at: string;
  readonly state: "intended" | "published" | "abandoned" | "undone";
  readonly paths: readonly string[];
  /** Paths whose content a person wrote or chose in review. */
  readonly edited: readonly string[];
  readonly published: number;
  readonly merged: number;
  /** Nothing that was ticked from the start remained after it. */
  readonly complete: boolean;
}

export interface Approval {
  readonly hold: string;
  readonly decision: "approve" | "deny" | "abort";
  readonly scope: ApprovalScope;
  readonly reason?: string;
}

/** Everything that is known of a transaction: a fold over its journal, nothing else. */
export interface TransactionState {
  readonly state: StateName;
  readonly transaction: string;
  readonly workspace: string;
  readonly agent: string;
  /** How much is expected of the agent to tell. */
  readonly coverage: Coverage;
  /** It was expected to tell something and has not. */
  readonly silent: boolean;
  readonly task?: string;
  readonly begunAt: string;
  readonly command: readonly string[];
  readonly onExit: "review" | "commit" | "discard";
  readonly unsafe: boolean;
  readonly backend?: BackendName;
  readonly forkMs?: number;
  readonly files?: number;
  readonly bytes?: number;
  readonly shadow?: string;
  readonly sandbox?: string;
  readonly exitCode?: number | null;
  /** The limit of the run that ended the agent, in words. */
  readonly limit?: string;
  readonly counts: ChangeCounts;
  readonly changeSet?: string;
  readonly openHolds: readonly OpenHold[];
  readonly decided: readonly Approval[];
  readonly commits: readonly CommitRecord[];
  readonly notes: readonly string[];
  readonly toolCalls: number;
  /** The agent's session, where it has one that takes prompts. */
  readonly session?: "idle" | "busy";
  readonly lastSeq: number;
}

const nothing: TransactionState = {
  state: "open",
  transaction: "",
  workspace: "",
  agent: "",
  coverage: "effects-only",
  silent: false,
  begunAt: "",
  command: [],
  onExit: "review",
  unsafe: false,
  counts: { added: 0, modified: 0, deleted: 0 },
  openHolds: [],
  decided: [],
  commits: [],
  notes: [],
  toolCalls: 0,
  lastSeq: 0,
};

/** The state after all entries. */
export function foldTransaction(entries: Iterable<Entry>): TransactionState {
  let state = nothing;
  for (const entry of entries) state = applyEntry(state, entry);
  return state;
}

/** The state after one more entry. */
export function applyEntry(before: TransactionState | undefined, entry: Entry): TransactionState {
  const state: TransactionState = { ...(before ?? nothing), lastSeq: entry.seq };
  switch (entry.kind) {
    case "transaction.begun":
      return begun(state, entry);
    case "transaction.forked":
      return {
        ...state,
        backend: entry.backend,
        forkMs: entry.forkMs,
        files: entry.files,
        ...(entry.bytes === undefined ? {} : { bytes: entry.bytes }),
        shadow: entry.shadow,
        notes: [...state.notes, ...entry.notes],
      };
    case "transaction.started":
      return { ...state, sandbox: entry.sandbox, notes: [...state.notes, ...entry.notes] };
    case "transaction.exited":
      return {
        ...state,
        exitCode: entry.exitCode,
        ...(entry.limit === undefined
          ? {}
          : { limit: entry.limit, notes: [...state.notes, `ended by a limit: ${entry.limit}`] }),
      };
    case "transaction.sealed":
      return { ...state, state: "sealed", counts: entry.counts, changeSet: entry.changeSet };
    case "transaction.interrupted":
      return { ...state, state: "interrupted" };
    case "transaction.resumed":
      return state;
    case "transaction.discarded":
      return { ...state, state: "discarded", openHolds: [] };
    case "transaction.failed":
      return { ...state, state: "failed", openHolds: [], notes: [...state.notes, entry.message] };
    case "tool.started":
      return {
        ...state,
        toolCalls: state.toolCalls + 1,
        silent: state.silent && entry.source === "kernel",
      };
    case "agent.event":
      return spoken(state, entry);
    case "hold.opened":
      return { ...state, openHolds: [...state.openHolds, holdOf(entry)] };
    case "hold.decided":
      return decided(state, entry);
    case "alert":
      return {
        ...state,
        silent: state.silent || entry.code === "hooks-silent",
        notes: [...state.notes, entry.message],
      };
    default:
      return applyCommit(state, entry);
  }
}

/** A session begins, is prompted, and ends its turn. */
function spoken(state: TransactionState, entry: EntryOf<"agent.event">): TransactionState {
  if (entry.event === "prompt" && entry.source === "person") return { ...state, session: "busy" };
  if (entry.source !== "acp") return state;
  if (entry.event === "turn.ended") return { ...state, session: "idle" };
  return entry.event === "session" ? { ...state, session: state.session ?? "idle" } : state;
}

function begun(state: TransactionState, entry: EntryOf<"transaction.begun">): TransactionState {
  return {
    ...state,
    state: "open",
    transaction: entry.transaction,
    workspace: entry.workspace,
    agent: entry.agent,
    coverage: entry.coverage ?? "effects-only",
    ...(entry.task === undefined ? {} : { task: entry.task }),
    begunAt: entry.at,
    command: entry.command,
    onExit: entry.onExit,
    unsafe: entry.unsafeNoSandbox === true,
  };
}

function holdOf(entry: EntryOf<"hold.opened">): OpenHold {
  const { hold, request, summary, rule, reason, reversibility, payload, payloadSha256 } = entry;
  return {
    hold,
    openedAt: entry.at,
    seq: entry.seq,
    request,
    summary,
    rule,
    reason,
    reversibility,
    ...(entry.wayBack === undefined ? {} : { wayBack: entry.wayBack }),
    ...(entry.blastRadius === undefined ? {} : { blastRadius: entry.blastRadius }),
    ...(entry.ruleToAdd === undefined ? {} : { ruleToAdd: entry.ruleToAdd }),
    payload,
    payloadSha256,
  };
}

function decided(state: TransactionState, entry: EntryOf<"hold.decided">): TransactionState {
  const { hold, decision, scope, reason } = entry;
  return {
    ...state,
    openHolds: state.openHolds.filter((open) => open.hold !== hold),
    decided: [
      ...state.decided,
      { hold, decision, scope, ...(reason === undefined ? {} : { reason }) },
    ],
  };
}

function applyCommit(state: TransactionState, entry: Entry): TransactionState {
  switch (entry.kind) {
    case "commit.intended": {
      const { commit, paths, at } = entry;
      const record: CommitRecord = {
        commit,
        at,
        state: "intended",
        paths,
        edited: entry.edited ?? [],
        published: 0,
        merged: 0,
        complete: false,
      };
      // An undo, and the undo of one, are told under the name of the commit that they are about.
      const commits = entry.undoes === undefined ? [...state.commits, record] : state.commits;
      return { ...state, state: "publishing", commits };
    }
    case "commit.published": {
      const { commit, published, merged, complete } = entry;
      return settle(state, commit, { state: "published", published, merged, complete });
    }
    case "commit.abandoned":
      return settle(state, entry.commit, { state: "abandoned" });
    case "commit.undone":
      return settle(state, entry.commit, { state: "undone" });
    default:
      return state;
  }
}

/** The state once a publish has come to its end. */
function settle(
  state: TransactionState,
  commit: string,
  change: Partial<CommitRecord>,
): TransactionState {
  const commits = state.commits.map((record) =>
    record.commit === commit ? { ...record, ...change } : record,
  );
  return { ...state, state: restingState(commits), commits };
}

function restingState(commits: readonly CommitRecord[]): StateName {
  const last = commits.findLast((record) => record.state === "published");
  if (last !== undefined) return last.complete ? "committed" : "sealed";
  return commits.some((record) => record.state === "undone") ? "undone" : "sealed";
}
