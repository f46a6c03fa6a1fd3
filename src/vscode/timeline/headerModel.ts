import { plural } from "../../base/words.ts";
import { visibleLine } from "../../base/visibleText.ts";
import type { StatusView } from "../../protocol/control.ts";
import type { Header, HeaderAction, ShownState } from "../../protocol/webview.ts";

/** What the extension knows about one transaction besides its status. */
export interface HeaderFacts {
  readonly status: StatusView;
  /** Something that this window is doing with it right now. */
  readonly busy: "starting" | "publishing" | undefined;
  readonly conflicts: number;
  readonly toolCalls: number;
  readonly promptsAvoided: number;
  readonly check: Header["check"];
  /** Since it began, or from beginning to end. */
  readonly elapsedMs: number;
  /** Alerts and what was left out, for people. */
  readonly alerts: readonly string[];
}

/** The state that is shown: what the supervisor says, sharpened by what the person must know. */
export function shownState(facts: HeaderFacts): ShownState {
  const { status, busy, conflicts } = facts;
  if (busy !== undefined) return busy;
  switch (status.state) {
    case "open":
      if (status.holds.open > 0) return "waiting";
      return status.running || status.sandbox !== undefined ? "running" : "starting";
    case "sealed":
      return conflicts > 0 ? "conflict" : "sealed";
    case "publishing":
    case "committed":
    case "discarded":
    case "undone":
    case "interrupted":
    case "failed":
      return status.state;
  }
}

const actions: Readonly<Record<ShownState, readonly HeaderAction[]>> = {
  none: ["start", "startInTerminal"],
  starting: ["stop"],
  running: ["review", "stop"],
  waiting: ["review", "stop"],
  sealed: ["commit", "review", "discard"],
  conflict: ["review", "commit", "discard"],
  publishing: [],
  interrupted: ["resume", "discard"],
  committed: ["undo", "start"],
  discarded: ["start"],
  undone: ["commit", "review", "discard"],
  failed: ["start", "doctor"],
};

/** States in which no count of changes means that nobody has counted yet. */
const withoutChanges: ReadonlySet<ShownState> = new Set([
  "starting",
  "running",
  "waiting",
  "interrupted",
  "discarded",
]);

/** The header of a transaction. */
export function transactionHeader(facts: HeaderFacts, others: Header["others"]): Header {
  const { status } = facts;
  const state = shownState(facts);
  const changed = status.changes.added + status.changes.modified + status.changes.deleted;
  // A check that was under way then has no answer any more.
  const isOver = state === "discarded" || state === "failed" || state === "interrupted";
  const nothingChanged = state === "sealed" && changed === 0;
  return {
    state,
    transaction: status.transaction,
    agent: status.agent,
    task: status.task ?? "",
    workspace: status.workspace,
    fork: forkText(status),
    sandbox: sandboxOf(status),
    promptsAvoided: facts.promptsAvoided,
    toolCalls: facts.toolCalls,
    elapsedMs: Math.max(0, facts.elapsedMs),
    ticking: state === "running" || state === "waiting" || state === "starting",
    ...(withoutChanges.has(state) && changed === 0 ? {} : { changes: status.changes }),
    ...(facts.check === undefined || (isOver && facts.check.status === "running")
      ? {}
      : { check: facts.check }),
    conflicts: facts.conflicts,
    notes: notesOf(facts),
    remarks: status.notes.map(visibleLine),
    message: messageOf(state, facts),
    actions: nothingChanged ? ["discard"] : [...actions[state]],
    others,
  };
}

/** The header when no transaction is shown. */
export function emptyHeader(blocked: Header["blocked"], others: Header["others"]): Header {
  const shown: HeaderAction[] =
    blocked === "noFolder"
      ? ["openFolder"]
      : blocked === "untrusted"
        ? ["trust"]
        : [...actions.none];
  return {
    state: "none",
    ...(blocked === undefined ? {} : { blocked }),
    transaction: "",
    agent: "",
    task: "",
    workspace: "",
    fork: "",
    sandbox: { state: "none", text: "" },
    promptsAvoided: 0,
    toolCalls: 0,
    elapsedMs: 0,
    ticking: false,
    conflicts: 0,
    notes: [],
    remarks: [],
    message: "",
    actions: shown,
    others,
  };
}

/** The header while a transaction is being made. */
export function startingHeader(agent: string, task: string, others: Header["others"]): Header {
  return {
    ...emptyHeader(undefined, others),
    state: "starting",
    agent,
    task,
    message: messages.starting,
    ticking: true,
    actions: [],
  };
}

const messages = {
  starting: "Copying the workspace and closing the sandbox around it.",
} as const;

function forkText(status: StatusView): string {
  if (status.backend === undefined || status.forkMs === undefined) return "";
  const seconds =
    status.forkMs < 1000 ? `${status.forkMs} ms` : `${(status.forkMs / 1000).toFixed(1)} s`;
  const files = status.files === undefined ? "" : `, ${plural(status.files, "file")}`;
  return `${status.backend} in ${seconds}${files}`;
}

function sandboxOf(status: StatusView): Header["sandbox"] {
  if (status.unsafe) return { state: "off", text: "Started with --unsafe-no-sandbox" };
  if (status.sandbox === undefined) return { state: "none", text: "" };
  return { state: "on", text: status.sandbox };
}

function notesOf(facts: HeaderFacts): Header["notes"] {
  const { status } = facts;
  const notes: Header["notes"] = facts.alerts.map((text) => ({ tone: "bad", text }));
  if (status.unsafe)
    notes.push({ tone: "bad", text: "Runs without a sandbox: nothing is isolated or held." });
  if (status.coverage === "effects-only")
    notes.push({
      tone: "info",
      text: "This agent does not announce its steps: the timeline shows what was observed.",
    });
  return notes;
}

function messageOf(state: ShownState, facts: HeaderFacts): string {
  const { status, conflicts } = facts;
  const { added, modified, deleted } = status.changes;
  const changed = added + modified + deleted;
  switch (state) {
    case "starting":
      return messages.starting;
    case "running":
      return "";
    case "waiting":
      return status.holds.open === 1
        ? "One call waits for your decision; the rest goes on."
        : `${status.holds.open} calls wait for your decision.`;
    case "sealed":
      return changed === 0
        ? "The agent is done and changed nothing."
        : `The agent is done${exitText(status)}. Nothing has touched your workspace yet.`;
    case "conflict":
      return `${plural(conflicts, "file")} changed on both sides. Merge or choose a side in the Changes view before you commit.`;
    case "publishing":
      return "Writing into the workspace. If this stops half way, it is finished or rolled back at the next start.";
    case "interrupted":
      return "The supervisor ended before the agent did. What the agent had written is safe and can be reviewed.";
    case "committed":
      return "The changes are in your workspace.";
    case "discarded":
      return "The copy is gone. Your workspace is as it was.";
    case "undone":
      return "The commit was undone. The changes can still be reviewed and committed again.";
    case "failed":
      return "The transaction could not start. Nothing ran and nothing was left behind.";
    case "none":
      return "";
  }
}

function exitText(status: StatusView): string {
  const { exitCode } = status;
  if (exitCode === undefined || exitCode === 0) return "";
  return exitCode === null ? " (it was stopped)" : ` (exit code ${exitCode})`;
}
