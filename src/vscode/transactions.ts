import fs from "node:fs";
import path from "node:path";
import type * as vscode from "vscode";
import { Failure, messageOf } from "../base/errors.ts";
import { DisposableStore, Emitter, type Ending } from "../base/lifecycle.ts";
import { findTransaction, makeTransaction, newTransactionId } from "../node/state/home.ts";
import { openHome } from "../node/state/homeDirectory.ts";
import { mayStillBegin, newestTransactions } from "../node/state/transactionsHere.ts";
import { checkWorkspacePlace, workspaceRoot } from "../node/state/workspaceRoot.ts";
import type { Header } from "../protocol/webview.ts";
import { spawnSupervisor } from "../supervisor/client.ts";
import type { StartSpec } from "../supervisor/startSpec.ts";
import type { Installation } from "../supervisor/supervisorProcess.ts";
import type { StartRequest } from "./contributions.ts";
import { checkSettingsNow } from "./checkSettingsNow.ts";
import { setting } from "./editorState.ts";
import type { EditorSecrets } from "./secrets/editorSecrets.ts";
import { LiveTransaction, type TransactionChange } from "./liveTransaction.ts";
import { workspaceFolders } from "./workspaceFolders.ts";

/** A transaction of this window that is not shown. */
type Other = Header["others"][number];

export type TransactionsChange =
  | { readonly type: "shown" }
  | { readonly type: "others" }
  | { readonly type: "starting" }
  | {
      readonly type: "transaction";
      readonly transaction: LiveTransaction;
      readonly change: TransactionChange;
    };

const rescanDelayMs = 250;
const othersLimit = 20;
const showNextMs = 60_000;

/**
 * The transactions of this window's folders: which one is shown, which others there are, and how one begins. Transactions
 * begun elsewhere (a terminal, another window) are found by watching the state directory.
 */
export class Transactions implements Ending {
  readonly #store = new DisposableStore();
  readonly #changed = this.#store.add(new Emitter<TransactionsChange>());
  readonly onChange = this.#changed.event;
  readonly #installation: Installation;
  readonly #log: vscode.LogOutputChannel;
  readonly #editorSecrets: EditorSecrets;
  readonly #open = new Map<string, LiveTransaction>();
  readonly #listeners = this.#store.add(new DisposableStore());
  /** Of other folders, or over: looked at once, for these folders. */
  readonly #foreign = new Set<string>();
  #foreignTo = "";
  readonly #making = new Set<string>();
  #shown: LiveTransaction | undefined;
  #starting: { readonly agent: string; readonly task: string } | undefined;
  #rescan: ReturnType<typeof setTimeout> | undefined;
  #watching = false;
  #showNextUntil = 0;

  constructor(
    installation: Installation,
    log: vscode.LogOutputChannel,
    editorSecrets: EditorSecrets,
  ) {
    this.#installation = installation;
    this.#log = log;
    this.#editorSecrets = editorSecrets;
  }

  get shown(): LiveTransaction | undefined {
    return this.#shown;
  }

  /** The shown one, for commands that need one. Throws a Failure when there is none. */
  required(): LiveTransaction {
    if (this.#shown !== undefined) return this.#shown;
    throw new Failure(
      "usage",
      "no-transaction",
      "no transaction is shown",
      "start one, or switch to one",
    );
  }

  /** What is being started right now. */
  get starting(): { readonly agent: string; readonly task: string } | undefined {
    return this.#starting;
  }

  get all(): readonly LiveTransaction[] {
    return [...this.#open.values()];
  }

  others(): readonly Other[] {
    return this.all
      .filter((one) => one !== this.#shown)
      .slice(-othersLimit)
      .reverse()
      .map((one) => ({
        transaction: one.id,
        label: one.status.task ?? `${one.status.agent} ${one.id}`,
        state: one.state,
        holds: one.status.holds.open,
      }));
  }

  /** Finds the transactions of this window and shows the one that needs a person most. */
  async scan(): Promise<void> {
    const folders = workspaceFolders();
    if (folders.length === 0) return;
    const home = openHome(process.env);
    this.#watch(home);
    const named = folders.join("\0");
    if (named !== this.#foreignTo) this.#foreign.clear();
    this.#foreignTo = named;
    for (const id of newestTransactions(home)) {
      if (this.#store.isDisposed) return;
      if (this.#open.has(id) || this.#foreign.has(id) || this.#making.has(id)) continue;
      const found = findTransaction(home, id);
      if (found.state === undefined || found.state.begunAt === "") {
        // Somebody is making it: only its directory is there, and the watcher will not tell of what comes into that.
        if (mayStillBegin(found.paths.root)) this.#rescanSoon();
        continue;
      }
      const ours = folders.some((folder) => folder === found.state?.workspace);
      const over = found.state.state === "discarded" || found.state.state === "failed";
      if (ours && !over) await this.#adopt(id, found.paths.root);
      else this.#foreign.add(id);
      if (ours && !over && Date.now() < this.#showNextUntil) {
        this.#showNextUntil = 0;
        this.show(id);
      }
    }
    if (this.#shown === undefined) this.#showFirst();
    this.#changed.fire({ type: "others" });
  }

  show(id: string): void {
    const wanted = this.#open.get(id);
    if (wanted === undefined || wanted === this.#shown) return;
    this.#shown = wanted;
    this.#changed.fire({ type: "shown" });
  }

  /** Shows the next transaction of this window that begins elsewhere: one that a terminal of ours is about to start. */
  showNext(): void {
    this.#showNextUntil = Date.now() + showNextMs;
  }

  /** Shows nothing: what was shown is over and was put away. */
  clear(): void {
    this.#shown = undefined;
    this.#changed.fire({ type: "shown" });
  }

  /** Begins a transaction and shows it. Throws the Failure that stopped it; nothing is left behind then. */
  async start(
    folder: vscode.WorkspaceFolder,
    request: StartRequest,
    onProgress: (text: string) => void,
    signal: AbortSignal,
  ): Promise<LiveTransaction> {
    const spec = startSpecOf(folder, request, await this.#editorSecrets.values());
    const home = openHome(process.env);
    checkWorkspacePlace(spec.workspace, home);
    const id = newTransactionId(new Date());
    this.#making.add(id); // the watcher must not adopt it half made
    const { root } = makeTransaction(home, id);
    this.#setStarting({ agent: request.agent, task: request.task ?? "" });
    try {
      await spawnSupervisor(root, this.#installation, spec, onProgress, signal).catch(
        (error: unknown) => {
          // Only what never began: once its supervisor serves, the directory is the supervisor's.
          fs.rmSync(root, { recursive: true, force: true, maxRetries: 3 });
          throw error;
        },
      );
      const begun = await this.#adopt(id, root);
      this.#starting = undefined;
      this.show(id);
      return begun;
    } finally {
      this.#making.delete(id);
      this.#setStarting(undefined);
    }
  }

  dispose(): void {
    clearTimeout(this.#rescan);
    this.#store.dispose();
    for (const one of this.#open.values()) one.dispose();
    this.#open.clear();
  }

  #setStarting(starting: { readonly agent: string; readonly task: string } | undefined): void {
    if (this.#starting === starting) return;
    this.#starting = starting;
    this.#changed.fire({ type: "starting" });
  }

  async #adopt(id: string, root: string): Promise<LiveTransaction> {
    const known = this.#open.get(id);
    if (known !== undefined) return known;
    const transaction = new LiveTransaction(id, root, this.#installation);
    this.#open.set(id, transaction);
    this.#listeners.add(
      transaction.onChange((change) =>
        this.#changed.fire({ type: "transaction", transaction, change }),
      ),
    );
    try {
      await transaction.follow();
    } catch (error) {
      // Its supervisor ended between the look and the connection: the journal still has everything.
      this.#log.warn(`${id}: ${messageOf(error)}`);
    }
    return transaction;
  }

  /** Waiting comes first, then running, then what can be reviewed; the newest of each. */
  #showFirst(): void {
    const newest = [...this.all].reverse();
    const order = ["waiting", "running", "sealed", "conflict", "interrupted"] as const;
    for (const state of order) {
      const found = newest.find((one) => one.state === state);
      if (found !== undefined) {
        this.show(found.id);
        return;
      }
    }
    const last = newest[0];
    if (last?.state === "committed" || last?.state === "undone") this.show(last.id);
  }

  #rescanSoon(): void {
    this.#rescan ??= setTimeout(() => {
      this.#rescan = undefined;
      if (this.#store.isDisposed) return;
      this.scan().catch((error: unknown) => this.#log.error(messageOf(error)));
    }, rescanDelayMs);
  }

  #watch(home: string): void {
    if (this.#watching) return;
    this.#watching = true;
    const watcher = fs.watch(path.join(home, "transactions"), () => this.#rescanSoon());
    watcher.on("error", (error) => this.#log.warn(`cannot watch ${home}: ${error.message}`));
    this.#store.add({ dispose: () => watcher.close() });
  }
}

function startSpecOf(
  folder: vscode.WorkspaceFolder,
  request: StartRequest,
  editorSecrets: Readonly<Record<string, string>>,
): StartSpec {
  const workspace = workspaceRoot(undefined, folder.uri.fsPath);
  const policyFile = setting("policyFile");
  const traceEndpoint = setting("traceEndpoint");
  return {
    workspace,
    agent: request.agent,
    command: [...(request.command ?? [])],
    ...(request.task === undefined || request.task === "" ? {} : { task: request.task }),
    ...(request.prompt === undefined ? {} : { prompt: request.prompt }),
    backend: setting("backend"),
    ...(policyFile === "" ? {} : { policyFile }),
    ...(traceEndpoint === "" ? {} : { traceEndpoint }),
    limits: { ...request.limits },
    secrets: Object.keys(editorSecrets),
    editorSecrets,
    onExit: "review",
    cwd: fs.realpathSync(folder.uri.fsPath),
    keepSession: true,
    waitForClient: false,
    unsafeNoSandbox: false,
    checks: checkSettingsNow(),
  };
}
