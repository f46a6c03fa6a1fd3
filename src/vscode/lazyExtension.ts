import fs from "node:fs";
import path from "node:path";
import * as vscode from "vscode";
import { messageOf } from "../base/errors.ts";
import { lazily } from "../base/lazily.ts";
import { DisposableStore, type Ending } from "../base/lifecycle.ts";
import { openHome } from "../node/state/homeDirectory.ts";
import { TransactionsHere } from "../node/state/transactionsHere.ts";
import type { ChangesItem } from "./changes/changesTree.ts";
import {
  commands,
  schemes,
  views,
  contextKeys,
  withoutTransactions,
  type CommandId,
} from "./contributions.ts";
import { setContextKey } from "./editorState.ts";
import type { HoldfastExtension } from "./holdfastExtension.ts";
import { LateFiles, LateTree, LateView } from "./lateProviders.ts";
import { TextDocuments } from "./textDocuments.ts";
import { workspaceFolders } from "./workspaceFolders.ts";

const lookAgainMs = 250;

/**
 * What the editor loads when a window opens: it registers everything that we contribute and does nothing. The extension
 * itself, {@link HoldfastExtension}, is loaded when somebody needs it: a view of ours becomes visible, a command runs, a link
 * or a document is opened, or there is a transaction of this window's folders, wherever it was begun.
 *
 * - Nothing that this file imports may import zod, or anything else that takes time to load.
 * - Once loaded, the extension itself watches; this one looks no more.
 */
export class LazyExtension implements Ending {
  readonly #store = new DisposableStore();
  readonly #context: vscode.ExtensionContext;
  readonly #log: vscode.LogOutputChannel;
  readonly #texts: TextDocuments;
  readonly #changesView: vscode.TreeView<ChangesItem>;
  /** What looks for transactions until there is something to load for. */
  readonly #looking = this.#store.add(new DisposableStore());
  readonly #here = new TransactionsHere();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #watching = false;
  readonly #load = lazily(() => this.#loadNow());

  constructor(context: vscode.ExtensionContext) {
    const store = this.#store;
    this.#context = context;
    this.#log = store.add(vscode.window.createOutputChannel("Holdfast", { log: true }));
    this.#texts = store.add(new TextDocuments());
    const timeline = new LateView(async () => (await this.#load()).timeline);
    store.add(vscode.window.registerWebviewViewProvider(views.timeline, timeline));
    const changes = store.add(new LateTree(async () => (await this.#load()).changes));
    this.#changesView = store.add(
      vscode.window.createTreeView<ChangesItem>(views.changes, {
        treeDataProvider: changes,
        manageCheckboxStateManually: true,
        showCollapseAll: false,
      }),
    );
    const sides = store.add(new LateFiles(async () => (await this.#load()).sides));
    store.add(
      vscode.workspace.registerFileSystemProvider(schemes.side, sides, { isCaseSensitive: true }),
    );
    store.add(
      vscode.window.registerUriHandler({
        handleUri: async (uri) => (await this.#load()).follow(uri),
      }),
    );
    for (const command of Object.keys(commands) as CommandId[])
      store.add(
        vscode.commands.registerCommand(command, async (...args: unknown[]) =>
          (await this.#load()).run(command, args),
        ),
      );
    for (const key of contextKeys) setContextKey(key, withoutTransactions[key]);
    const looking = this.#looking;
    looking.add(vscode.workspace.onDidGrantWorkspaceTrust(() => this.#lookSoon(0)));
    looking.add(
      vscode.workspace.onDidChangeWorkspaceFolders(() => {
        this.#here.forget();
        this.#lookSoon(0);
      }),
    );
    looking.add({ dispose: () => clearTimeout(this.#timer) });
    this.#lookSoon(0);
  }

  dispose(): void {
    this.#store.dispose();
  }

  async #loadNow(): Promise<HoldfastExtension> {
    const { HoldfastExtension: Whole } = await import("./holdfastExtension.ts");
    if (this.#store.isDisposed) throw new vscode.CancellationError();
    const parts = { log: this.#log, texts: this.#texts, changesView: this.#changesView };
    const whole = this.#store.add(new Whole(this.#context, parts));
    // Not before: what begins meanwhile is found by the one or the other.
    this.#looking.dispose();
    return whole;
  }

  #lookSoon(delayMs: number): void {
    if (this.#looking.isDisposed) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#look();
    }, delayMs);
  }

  /** Reading a line of each journal runs nothing of the workspace; what follows may start a supervisor, so trust comes first. */
  #look(): void {
    if (!vscode.workspace.isTrusted) return;
    const folders = workspaceFolders();
    if (folders.length === 0) return;
    try {
      const home = openHome(process.env);
      this.#watch(home);
      const found = this.#here.look(home, folders);
      if (found === "soon") this.#lookSoon(lookAgainMs);
      else if (found === "some") this.#wake();
    } catch (error) {
      this.#log.error(messageOf(error));
    }
  }

  #wake(): void {
    this.#load().catch((error: unknown) => {
      if (!this.#store.isDisposed) this.#log.error(messageOf(error));
    });
  }

  #watch(home: string): void {
    if (this.#watching) return;
    this.#watching = true;
    const watcher = fs.watch(path.join(home, "transactions"), () => this.#lookSoon(lookAgainMs));
    watcher.on("error", (error) => this.#log.warn(`cannot watch ${home}: ${error.message}`));
    this.#looking.add({ dispose: () => watcher.close() });
  }
}
