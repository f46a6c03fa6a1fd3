import * as vscode from "vscode";
import { messageOf } from "../../base/errors.ts";
import { DisposableStore, type Ending } from "../../base/lifecycle.ts";
import {
  fromWebview,
  webviewVersion,
  type FromWebview,
  type Header,
  type HeaderAction,
  type RowAction,
  type ToWebview,
} from "../../protocol/webview.ts";
import type { CommandId } from "../contributions.ts";
import { runCommand } from "../editorState.ts";
import { holdCards } from "../holds/holdContext.ts";
import type { LiveTransaction } from "../liveTransaction.ts";
import type { Transactions, TransactionsChange } from "../transactions.ts";
import { emptyHeader, startingHeader, transactionHeader } from "./headerModel.ts";
import { timelineHtml, webviewRoot } from "./timelineHtml.ts";
import { TimelineView } from "./timelineView.ts";

/** What the timeline asks of the rest of the extension. */
export interface TimelineActions {
  decide(
    message: Extract<FromWebview, { type: "decide" }>,
    transaction: LiveTransaction,
  ): Promise<void>;
  rowAction(id: string, action: RowAction, transaction: LiveTransaction): Promise<void>;
  showPayload(hold: string, transaction: LiveTransaction): Promise<void>;
}

const headerCommands: Readonly<
  Record<Exclude<HeaderAction, "trust" | "openFolder" | "showHolds">, CommandId>
> = {
  start: "holdfast.start",
  startInTerminal: "holdfast.startInTerminal",
  review: "holdfast.review",
  commit: "holdfast.commit",
  discard: "holdfast.discard",
  stop: "holdfast.stop",
  undo: "holdfast.undo",
  resume: "holdfast.resume",
  doctor: "holdfast.doctor",
};

/**
 * The timeline in the side bar. It answers one webview at a time; a hidden one is gone (its page is made anew when it is
 * shown again and says `ready`), so that nothing needs to be kept for it.
 */
export class TimelineProvider implements vscode.WebviewViewProvider, Ending {
  readonly #extension: vscode.Uri;
  readonly #transactions: Transactions;
  readonly #actions: TimelineActions;
  readonly #log: vscode.LogOutputChannel;
  readonly #store = new DisposableStore();
  readonly #empty = new TimelineView();
  #view: vscode.WebviewView | undefined;
  #ready = false;
  #lastHeader = "";
  #lastConversation = "";

  constructor(
    extension: vscode.Uri,
    transactions: Transactions,
    actions: TimelineActions,
    log: vscode.LogOutputChannel,
  ) {
    this.#extension = extension;
    this.#transactions = transactions;
    this.#actions = actions;
    this.#log = log;
    this.#store.add(transactions.onChange((change) => this.#onChange(change)));
    this.#store.add(vscode.workspace.onDidGrantWorkspaceTrust(() => this.#sendHeader()));
    this.#store.add(vscode.workspace.onDidChangeWorkspaceFolders(() => this.#sendHeader()));
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    this.#view = view;
    this.#ready = false;
    view.webview.options = {
      enableScripts: true,
      localResourceRoots: [webviewRoot(this.#extension)],
    };
    const own = this.#store.add(new DisposableStore());
    own.add(view.webview.onDidReceiveMessage((message: unknown) => this.#receive(message)));
    own.add(
      view.onDidDispose(() => {
        if (this.#view === view) {
          this.#view = undefined;
          this.#ready = false;
        }
        this.#store.delete(own);
      }),
    );
    view.webview.html = timelineHtml(view.webview, this.#extension);
    this.#showBadge();
  }

  /** Brings a node of the shown transaction into sight. */
  reveal(node: number): void {
    for (const message of this.#timeline.revealNode(node)) this.#send(message);
  }

  dispose(): void {
    this.#store.dispose();
  }

  get #timeline(): TimelineView {
    return this.#transactions.shown?.view ?? this.#empty;
  }

  #onChange(change: TransactionsChange): void {
    this.#showBadge();
    if (change.type === "shown") {
      this.#sendSnapshot();
      return;
    }
    if (change.type !== "transaction" || change.transaction !== this.#transactions.shown) {
      this.#sendHeader();
      return;
    }
    switch (change.change.type) {
      case "timeline":
        this.#send(change.change.message);
        return;
      case "holds":
        this.#send({ type: "holds", holds: holdCards(change.transaction) });
        this.#sendHeader();
        return;
      case "conversation":
        this.#sendConversation();
        return;
      case "status":
      case "ended":
        this.#sendHeader();
        this.#sendConversation();
        return;
      case "checks":
        this.#sendHeader();
        return;
      case "files":
        return; // the status that follows has the counts
    }
  }

  #showBadge(): void {
    if (this.#view === undefined) return;
    const open = this.#transactions.all.reduce((sum, one) => sum + one.status.holds.open, 0);
    this.#view.badge =
      open === 0
        ? undefined
        : { value: open, tooltip: vscode.l10n.t("{0} held calls wait for you", open) };
  }

  #header(): Header {
    const { shown, starting } = this.#transactions;
    const others = [...this.#transactions.others()];
    if (starting !== undefined) return startingHeader(starting.agent, starting.task, others);
    if (shown !== undefined) return transactionHeader(shown.headerFacts(), others);
    const folders = vscode.workspace.workspaceFolders ?? [];
    const blocked =
      folders.length === 0 ? "noFolder" : vscode.workspace.isTrusted ? undefined : "untrusted";
    return emptyHeader(blocked, others);
  }

  #sendHeader(): void {
    const header = this.#header();
    const shown = JSON.stringify({ ...header, elapsedMs: header.ticking ? 0 : header.elapsedMs });
    if (shown === this.#lastHeader) return;
    this.#lastHeader = shown;
    this.#send({ type: "header", header });
  }

  #sendConversation(): void {
    const conversation = this.#transactions.shown?.conversation;
    const told = JSON.stringify(conversation ?? null);
    if (told === this.#lastConversation) return;
    this.#lastConversation = told;
    this.#send({ type: "conversation", ...(conversation === undefined ? {} : { conversation }) });
  }

  #sendSnapshot(): void {
    const view = this.#timeline;
    view.forgetWindow();
    this.#lastHeader = "";
    const conversation = this.#transactions.shown?.conversation;
    this.#lastConversation = JSON.stringify(conversation ?? null);
    this.#send({
      type: "snapshot",
      version: webviewVersion,
      header: this.#header(),
      holds: this.#transactions.shown === undefined ? [] : holdCards(this.#transactions.shown),
      ...(conversation === undefined ? {} : { conversation }),
      filter: view.filter,
      totals: view.totals(),
      layout: view.layout(),
    });
  }

  #send(message: ToWebview | undefined): void {
    if (message === undefined || this.#view === undefined || !this.#ready) return;
    // The editor drops messages to a hidden webview; it will say `ready` when it is back.
    void this.#view.webview.postMessage(message);
  }

  #receive(raw: unknown): void {
    const parsed = fromWebview.safeParse(raw);
    if (!parsed.success) {
      this.#log.error(`the timeline sent a message of the wrong shape: ${parsed.error.message}`);
      return;
    }
    try {
      this.#handle(parsed.data);
    } catch (error) {
      this.#log.error(error instanceof Error ? error : messageOf(error));
    }
  }

  #handle(message: FromWebview): void {
    const view = this.#timeline;
    const { shown } = this.#transactions;
    switch (message.type) {
      case "ready":
        this.#ready = true;
        this.#sendSnapshot();
        return;
      case "window":
        this.#send(view.rows(message.from, message.count));
        return;
      case "toggle":
        this.#send(view.toggle(message.id, message.expanded));
        return;
      case "move":
        this.#send(
          message.to === "parent" ? view.parentOf(message.id) : view.openSiblings(message.id),
        );
        return;
      case "filter":
        this.#send(view.setFilter(message.filter));
        return;
      case "select":
        this.#transactions.show(message.transaction);
        return;
      case "headerAction":
        this.#headerAction(message.action);
        return;
      case "failed":
        this.#log.error(`timeline: ${message.message}`);
        return;
      case "rowAction":
        if (shown !== undefined)
          this.#follow(this.#actions.rowAction(message.id, message.action, shown));
        return;
      case "prompt":
        if (shown !== undefined) this.#prompt(message.text, shown);
        return;
      case "cancelPrompt":
        if (shown !== undefined) this.#follow(shown.call("cancel", {}));
        return;
      case "showPayload":
        if (shown !== undefined) this.#follow(this.#actions.showPayload(message.hold, shown));
        return;
      case "decide":
        if (shown !== undefined) this.#decide(message, shown);
        return;
    }
  }

  #headerAction(action: HeaderAction): void {
    switch (action) {
      case "trust":
        void vscode.commands.executeCommand("workbench.trust.manage");
        return;
      case "openFolder":
        void vscode.commands.executeCommand("workbench.action.files.openFolder");
        return;
      case "showHolds":
        return;
      default:
        void runCommand(headerCommands[action]);
    }
  }

  #decide(message: Extract<FromWebview, { type: "decide" }>, shown: LiveTransaction): void {
    this.#actions.decide(message, shown).catch((error: unknown) => {
      this.#send({ type: "decideFailed", hold: message.hold, message: messageOf(error) });
    });
  }

  #prompt(text: string, shown: LiveTransaction): void {
    shown.call("prompt", { text }).catch((error: unknown) => {
      this.#log.error(error instanceof Error ? error : messageOf(error));
      if (this.#transactions.shown === shown)
        this.#send({ type: "promptFailed", text, message: messageOf(error) });
    });
  }

  #follow(work: Promise<unknown>): void {
    work.catch((error: unknown) => {
      this.#log.error(error instanceof Error ? error : messageOf(error));
      void vscode.window.showErrorMessage(messageOf(error));
    });
  }
}
