/**
 * The typed source of what package.json contributes: a command, view, setting or context key that is missing here does not
 * compile where it is used, and test/unit/manifest.test.ts proves that the manifest says the same.
 */
import type { BackendName } from "../core/journal/entry.ts";
import type { ShownState } from "../protocol/webview.ts";

/** Commands and the arguments that other code may give them. */
export interface CommandArguments {
  "holdfast.start": readonly [request?: StartRequest];
  "holdfast.startInTerminal": readonly [request?: StartRequest];
  "holdfast.review": readonly [];
  "holdfast.commit": readonly [];
  "holdfast.discard": readonly [];
  "holdfast.stop": readonly [];
  "holdfast.undo": readonly [];
  "holdfast.history": readonly [];
  "holdfast.reverseCommit": readonly [transaction?: unknown, commit?: unknown];
  "holdfast.bringCommits": readonly [];
  "holdfast.resume": readonly [];
  "holdfast.approve": readonly [hold?: string];
  "holdfast.deny": readonly [hold?: string];
  "holdfast.showTimeline": readonly [];
  "holdfast.switch": readonly [];
  "holdfast.emergencyStop": readonly [];
  "holdfast.storeSecret": readonly [];
  "holdfast.removeSecret": readonly [];
  "holdfast.doctor": readonly [];
  "holdfast.showOutput": readonly [];
  "holdfast.showLog": readonly [];
  "holdfast.openChange": readonly [path?: unknown];
  "holdfast.openFile": readonly [path?: unknown];
  "holdfast.toggleHunk": readonly [path?: unknown, hunk?: unknown];
  "holdfast.acceptFile": readonly [path?: unknown];
  "holdfast.rejectFile": readonly [path?: unknown];
  "holdfast.addComment": readonly [reply?: unknown];
  "holdfast.removeComment": readonly [comment?: unknown];
  "holdfast.sendComments": readonly [];
  "holdfast.mergeConflict": readonly [path?: unknown];
  "holdfast.resolveMine": readonly [path?: unknown];
  "holdfast.resolveTheirs": readonly [path?: unknown];
}

export type CommandId = keyof CommandArguments;

/** What `holdfast.start` needs to begin without asking. */
export interface StartRequest {
  readonly agent: string;
  readonly task?: string;
  readonly prompt?: string;
  readonly command?: readonly string[];
  readonly limits?: Readonly<Record<string, string>>;
}

/** Every command, and whether the palette shows it. */
export const commands: Readonly<
  Record<CommandId, { readonly title: string; readonly palette: boolean }>
> = {
  "holdfast.start": { title: "Start Agent Transaction", palette: true },
  "holdfast.startInTerminal": { title: "Start in Terminal", palette: true },
  "holdfast.review": { title: "Review Changes", palette: true },
  "holdfast.commit": { title: "Commit", palette: true },
  "holdfast.discard": { title: "Discard", palette: true },
  "holdfast.stop": { title: "Stop", palette: true },
  "holdfast.undo": { title: "Undo Commit", palette: true },
  "holdfast.history": { title: "Commit History", palette: true },
  "holdfast.reverseCommit": { title: "Undo or Bring Back This Commit", palette: false },
  "holdfast.bringCommits": { title: "Bring Agent's Commits", palette: true },
  "holdfast.resume": { title: "Reopen Interrupted Transaction", palette: true },
  "holdfast.approve": { title: "Approve Held Call", palette: true },
  "holdfast.deny": { title: "Deny Held Call", palette: true },
  "holdfast.showTimeline": { title: "Show Timeline", palette: true },
  "holdfast.switch": { title: "Switch Transaction", palette: true },
  "holdfast.emergencyStop": { title: "Emergency Stop", palette: true },
  "holdfast.storeSecret": { title: "Store Secret…", palette: true },
  "holdfast.removeSecret": { title: "Remove Secret…", palette: true },
  "holdfast.doctor": { title: "Run Doctor", palette: true },
  "holdfast.showOutput": { title: "Show Agent Output", palette: true },
  "holdfast.showLog": { title: "Show Log", palette: true },
  "holdfast.openChange": { title: "Open Change", palette: false },
  "holdfast.openFile": { title: "Open File", palette: false },
  "holdfast.toggleHunk": { title: "Accept or Reject Hunk", palette: false },
  "holdfast.acceptFile": { title: "Accept File", palette: false },
  "holdfast.rejectFile": { title: "Reject File", palette: false },
  "holdfast.addComment": { title: "Add Comment", palette: false },
  "holdfast.removeComment": { title: "Remove Comment", palette: false },
  "holdfast.sendComments": { title: "Send Comments to Agent", palette: true },
  "holdfast.mergeConflict": { title: "Merge by Hand", palette: false },
  "holdfast.resolveMine": { title: "Keep Workspace Version", palette: false },
  "holdfast.resolveTheirs": { title: "Take Agent Version", palette: false },
};

export const viewContainer = "holdfast";

export const views = { timeline: "holdfast.timeline", changes: "holdfast.changes" } as const;

/** Settings by name (without the section), each with its type. */
export interface Settings {
  readonly defaultAgent: string;
  readonly backend: "auto" | BackendName;
  readonly policyFile: string;
  readonly traceEndpoint: string;
  readonly openReviewWhenDone: boolean;
  readonly notifyWhenDone: boolean;
  readonly checksDisabled: readonly string[];
  /** Validated where they are read. */
  readonly checkCommands: readonly unknown[];
  readonly checkLimits: Readonly<Record<string, unknown>>;
  readonly commitOnlyWhenClean: boolean;
}

export const settingDefaults: Settings = {
  defaultAgent: "",
  backend: "auto",
  policyFile: "",
  traceEndpoint: "",
  openReviewWhenDone: false,
  notifyWhenDone: true,
  checksDisabled: [],
  checkCommands: [],
  checkLimits: {},
  commitOnlyWhenClean: false,
};

/** Keys for `when` clauses, each with the type of its value. */
export interface ContextKeys {
  "holdfast.state": ShownState;
  "holdfast.holds": number;
  "holdfast.interrupted": boolean;
  "holdfast.several": boolean;
  "holdfast.undoable": boolean;
}

/** What they say while there is no transaction. */
export const withoutTransactions: ContextKeys = {
  "holdfast.state": "none",
  "holdfast.holds": 0,
  "holdfast.interrupted": false,
  "holdfast.several": false,
  "holdfast.undoable": false,
};

export const contextKeys = Object.keys(withoutTransactions) as readonly (keyof ContextKeys)[];

/** Schemes of the read-only documents: the two sides of a change, and whole texts of the timeline. */
export const schemes = { side: "holdfast-side", text: "holdfast-text" } as const;
