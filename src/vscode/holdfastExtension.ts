import "./quietZod.ts";
import path from "node:path";
import * as vscode from "vscode";
import { Failure, messageOf } from "../base/errors.ts";
import { DisposableStore, type Ending } from "../base/lifecycle.ts";
import type { Installation } from "../supervisor/supervisorProcess.ts";
import { AgentOutput } from "./agentOutput.ts";
import { ChangesTree, type ChangesItem } from "./changes/changesTree.ts";
import { ConflictMerges } from "./changes/conflictMerges.ts";
import { HistoryCommands } from "./changes/historyCommands.ts";
import { HunkLenses } from "./changes/hunkLenses.ts";
import { ReviewComments } from "./changes/reviewComments.ts";
import { ReviewCommands } from "./changes/reviewCommands.ts";
import { ReviewMemory } from "./changes/reviewMemory.ts";
import { Reviews } from "./changes/reviews.ts";
import { SideDocuments } from "./changes/sideDocuments.ts";
import {
  contextKeys,
  views,
  type CommandArguments,
  type CommandId,
  type ContextKeys,
} from "./contributions.ts";
import { setContextKey } from "./editorState.ts";
import { showFailure } from "./failures.ts";
import { HoldCommands } from "./holds/holdCommands.ts";
import { Notifications } from "./notifications.ts";
import { Problems } from "./problems.ts";
import { RowActions } from "./rowActions.ts";
import { EditorSecrets } from "./secrets/editorSecrets.ts";
import { StartCommands } from "./start/startCommands.ts";
import { StatusBar } from "./statusBar.ts";
import type { TextDocuments } from "./textDocuments.ts";
import { TimelineProvider } from "./timeline/timelineProvider.ts";
import { Transactions } from "./transactions.ts";

type Handlers = {
  readonly [K in CommandId]: (...args: CommandArguments[K]) => Promise<void> | void;
};

/** What was registered before any of this was loaded, and is somebody else's to end. */
export interface EarlyParts {
  readonly log: vscode.LogOutputChannel;
  readonly texts: TextDocuments;
  readonly changesView: vscode.TreeView<ChangesItem>;
}

/**
 * Everything of the extension, made once and owned by one store. It is a bundle of its own, loaded by {@link LazyExtension}
 * when somebody needs it.
 */
export class HoldfastExtension implements Ending {
  readonly timeline: vscode.WebviewViewProvider;
  readonly changes: vscode.TreeDataProvider<ChangesItem>;
  readonly sides: vscode.FileSystemProvider;
  readonly #store: DisposableStore;
  readonly #log: vscode.LogOutputChannel;
  readonly #transactions: Transactions;
  readonly #installation: Installation;
  readonly #secrets: EditorSecrets;
  readonly #handlers: Handlers;

  constructor(context: vscode.ExtensionContext, { log, texts, changesView }: EarlyParts) {
    const store = new DisposableStore();
    this.#store = store;
    this.#log = log;
    const installation: Installation = {
      dist: path.join(context.extensionPath, "dist"),
      node: process.execPath,
    };
    this.#installation = installation;
    this.#secrets = new EditorSecrets(context.secrets, context.globalState);
    this.#transactions = store.add(new Transactions(installation, this.#log, this.#secrets));
    const memory = new ReviewMemory(context.storageUri?.fsPath, (error) =>
      log.warn(`choices of a review are not kept: ${messageOf(error)}`),
    );
    const reviews = store.add(
      new Reviews(this.#transactions, memory, (error) => this.#report(error)),
    );
    const merges = new ConflictMerges(reviews);
    const lenses = store.add(new HunkLenses(reviews));
    const review = new ReviewCommands(this.#transactions, reviews, merges, lenses);
    const comments = store.add(new ReviewComments(this.#transactions, reviews));
    const holds = new HoldCommands(this.#transactions, texts);
    const rows = new RowActions(reviews, review, texts);
    this.sides = store.add(new SideDocuments(this.#transactions, reviews, merges));
    this.timeline = store.add(
      new TimelineProvider(
        context.extensionUri,
        this.#transactions,
        {
          decide: (message, transaction) => holds.decide(message, transaction),
          rowAction: (id, action, transaction) => rows.run(id, action, transaction),
          showPayload: (hold, transaction) => holds.showPayload(hold, transaction),
        },
        this.#log,
      ),
    );
    this.changes = store.add(new ChangesTree(this.#transactions, reviews, changesView));
    store.add(new StatusBar(this.#transactions));
    store.add(new Notifications(this.#transactions));
    store.add(new Problems(this.#transactions));
    const start = new StartCommands(
      this.#transactions,
      installation,
      context.workspaceState,
      texts,
    );
    const output = store.add(new AgentOutput(this.#transactions, this.#log));
    this.#handlers = this.#handlersOf(start, review, comments, holds, output);
    store.add(this.#transactions.onChange(() => this.#setContext()));
    store.add(vscode.workspace.onDidGrantWorkspaceTrust(() => this.#scan()));
    store.add(vscode.workspace.onDidChangeWorkspaceFolders(() => this.#scan()));
    this.#setContext();
    // Whoever needed something is served first: reading journals may take its time.
    const later = setTimeout(() => this.#scan(), 0);
    store.add({ dispose: () => clearTimeout(later) });
  }

  dispose(): void {
    this.#store.dispose();
  }

  /** Runs one of our commands; what goes wrong is shown, never thrown. */
  async run(command: CommandId, args: readonly unknown[]): Promise<void> {
    const handler = this.#handlers[command] as (...given: unknown[]) => Promise<void> | void;
    try {
      await handler(...args);
    } catch (error) {
      this.#report(error);
    }
  }

  #handlersOf(
    start: StartCommands,
    review: ReviewCommands,
    comments: ReviewComments,
    holds: HoldCommands,
    output: AgentOutput,
  ): Handlers {
    const history = new HistoryCommands(this.#transactions);
    return {
      "holdfast.start": (request) => start.start(request),
      "holdfast.startInTerminal": (request) => start.startInTerminal(request),
      "holdfast.review": () => review.review(),
      "holdfast.commit": () => review.commit(),
      "holdfast.discard": () => review.discard(),
      "holdfast.stop": () => review.stop(),
      "holdfast.undo": () => history.undo(),
      "holdfast.history": () => history.show(),
      "holdfast.reverseCommit": (transaction, commit) => history.reverse(transaction, commit),
      "holdfast.bringCommits": () => history.bringCommits(),
      "holdfast.resume": () => review.resume(),
      "holdfast.approve": (hold) => holds.ask("approve", hold),
      "holdfast.deny": (hold) => holds.ask("deny", hold),
      "holdfast.showTimeline": async () => {
        await vscode.commands.executeCommand(`${views.timeline}.focus`);
      },
      "holdfast.switch": () => this.#switch(),
      "holdfast.emergencyStop": async () => {
        const { emergencyStop } = await import("./emergencyStop.ts");
        await emergencyStop(this.#installation);
      },
      "holdfast.storeSecret": () => this.#secrets.store(),
      "holdfast.removeSecret": () => this.#secrets.remove(),
      "holdfast.doctor": () => start.doctor(),
      "holdfast.showOutput": () => output.show(),
      "holdfast.showLog": () => this.#log.show(),
      "holdfast.openChange": (file) => review.openChange(file),
      "holdfast.openFile": (file) => review.openFile(file),
      "holdfast.toggleHunk": (file, hunk) => review.toggleHunk(file, hunk),
      "holdfast.acceptFile": (file) => review.tickFile(file, true),
      "holdfast.rejectFile": (file) => review.tickFile(file, false),
      "holdfast.addComment": (reply) => comments.add(reply),
      "holdfast.removeComment": (comment) => comments.remove(comment),
      "holdfast.sendComments": () => comments.send(),
      "holdfast.mergeConflict": (file) => review.merge(file),
      "holdfast.resolveMine": (file) => review.resolve(file, "mine"),
      "holdfast.resolveTheirs": (file) => review.resolve(file, "theirs"),
    };
  }

  #report(error: unknown): void {
    void showFailure(error, this.#log);
  }

  #scan(): void {
    // Reading our own journals runs nothing of the workspace; following one may start a supervisor, so trust comes first.
    if (!vscode.workspace.isTrusted) return;
    this.#transactions.scan().catch((error: unknown) => this.#log.error(messageOf(error)));
  }

  #setContext(): void {
    const { shown, all, starting } = this.#transactions;
    const values: ContextKeys = {
      "holdfast.state": starting === undefined ? (shown?.state ?? "none") : "starting",
      "holdfast.holds": all.reduce((sum, one) => sum + one.status.holds.open, 0),
      "holdfast.interrupted": shown?.state === "interrupted",
      "holdfast.several": all.length > 1,
      "holdfast.undoable":
        shown?.commits.list().some(({ state }) => state === "committed") ?? false,
    };
    for (const key of contextKeys) setContextKey(key, values[key]);
  }

  async #switch(): Promise<void> {
    const items = this.#transactions.all
      .map((one) => ({
        id: one.id,
        label: one.status.task ?? one.status.agent,
        description: `${one.state} · ${one.id}`,
        picked: one === this.#transactions.shown,
      }))
      .reverse();
    const chosen = await vscode.window.showQuickPick(items, {
      placeHolder: vscode.l10n.t("Which transaction?"),
    });
    if (chosen !== undefined) this.#transactions.show(chosen.id);
  }

  /** `vscode://holdfast.holdfast/transaction/<id>` shows a transaction. It does nothing else: anybody can write a link. */
  async follow(uri: vscode.Uri): Promise<void> {
    void vscode.commands.executeCommand(`${views.timeline}.focus`);
    const id = /^\/transaction\/([\w-]+)$/.exec(uri.path)?.[1];
    if (id === undefined || !vscode.workspace.isTrusted) return;
    try {
      // The link may be what has started us: then nothing is found yet.
      await this.#transactions.scan();
      if (this.#transactions.all.some((one) => one.id === id)) this.#transactions.show(id);
      else throw noSuchTransaction(id);
    } catch (error) {
      this.#report(error);
    }
  }
}

function noSuchTransaction(id: string): Failure {
  return new Failure(
    "usage",
    "no-such-transaction",
    `no transaction ${id} belongs to the folders of this window`,
    "open the folder that it works on; `holdfast list` names it",
  );
}
