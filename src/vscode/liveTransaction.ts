import { Failure } from "../base/errors.ts";
import { DisposableStore, Emitter, type Ending } from "../base/lifecycle.ts";
import type { Entry } from "../core/journal/entry.ts";
import { readJournal } from "../node/journal/journalFile.ts";
import { liveSupervisor } from "../node/state/supervisorLock.ts";
import type { ChangesView, ControlMethods, HoldView, StatusView } from "../protocol/control.ts";
import { shownState, type HeaderFacts } from "./timeline/headerModel.ts";
import type { Conversation, ShownState, ToWebview } from "../protocol/webview.ts";
import {
  connectSupervisor,
  openTransactionControl,
  type Connection,
} from "../supervisor/client.ts";
import type { Installation } from "../supervisor/supervisorProcess.ts";
import { statusFromJournal } from "../supervisor/statusView.ts";
import type { z } from "zod";
import { CommitLog } from "./changes/commitLog.ts";
import { CheckDelta } from "./checkDelta.ts";
import { ConversationFold } from "./timeline/conversation.ts";
import { TimelineView } from "./timeline/timelineView.ts";

/** What changed about a transaction; listeners read the rest from it. */
export type TransactionChange =
  | { readonly type: "timeline"; readonly message: Extract<ToWebview, { type: "changed" }> }
  | { readonly type: "status" }
  | { readonly type: "holds" }
  | { readonly type: "checks" }
  | { readonly type: "conversation" }
  /** The agent changed files. */
  | { readonly type: "files" }
  | { readonly type: "ended" };

/** Entries folded in one go; between two goes the extension host does other things. */
const sliceEntries = 1500;
const batchMs = 40;
const statusDelayMs = 150;
const followAgainMs = 200;

const statusKinds = /^(transaction|hold|commit|savepoint)\./;

/**
 * One transaction as this window sees it: a connection to its supervisor, the timeline folded from its entries, its status
 * and its holds. It holds no truth: everything comes from the supervisor, or from the journal when none lives.
 */
export class LiveTransaction implements Ending {
  readonly id: string;
  readonly root: string;
  readonly view = new TimelineView();
  readonly checks = new CheckDelta();
  readonly commits = new CommitLog();
  readonly #conversation = new ConversationFold();
  readonly #installation: Installation;
  readonly #store = new DisposableStore();
  readonly #changed = this.#store.add(new Emitter<TransactionChange>());
  readonly onChange = this.#changed.event;
  #connection: Connection | undefined;
  #connecting: Promise<Connection> | undefined;
  #queue: Entry[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #statusTimer: ReturnType<typeof setTimeout> | undefined;
  #followTimer: ReturnType<typeof setTimeout> | undefined;
  #seen = 0;
  #status: StatusView;
  #holds: readonly HoldView[] = [];
  #busy: HeaderFacts["busy"];
  #conflicts: readonly string[] = [];
  #statusGeneration = 0;
  /** Who waits for the queue to be empty. */
  readonly #waiting: (() => void)[] = [];

  constructor(id: string, root: string, installation: Installation) {
    this.id = id;
    this.root = root;
    this.#installation = installation;
    this.#status = statusFromJournal(root);
    if (this.#isInterrupted()) this.#status = { ...this.#status, state: "interrupted" };
  }

  get status(): StatusView {
    return this.#status;
  }

  get holds(): readonly HoldView[] {
    return this.#holds;
  }

  get conflicts(): readonly string[] {
    return this.#conflicts;
  }

  /** The session with the agent; undefined where none can be prompted. */
  get conversation(): Conversation | undefined {
    return this.#conversation.view(this.#status.state === "open");
  }

  get state(): ShownState {
    return shownState(this.headerFacts());
  }

  headerFacts(): HeaderFacts {
    const { toolCalls, mutations, alerts } = this.view.summary();
    const { holds, begunAt } = this.#status;
    const end = this.#status.state === "open" ? Date.now() : this.view.endedMs();
    return {
      status: this.#status,
      busy: this.#busy,
      conflicts: this.#conflicts.length,
      toolCalls,
      promptsAvoided: Math.max(0, mutations - holds.open - holds.decided),
      check: this.checks.summary(),
      elapsedMs: end - Date.parse(begunAt),
      alerts,
    };
  }

  /**
   * Begins to follow the transaction: live when its supervisor lives, else from the journal as it is. A supervisor that has just
   * begun takes nobody yet: it is asked again until it does, or is gone.
   */
  async follow(): Promise<void> {
    if (liveSupervisor(this.root) === undefined) {
      this.#receive(readJournal(this.root).entries);
      this.#readStatus();
      return;
    }
    try {
      await this.#connect(() => connectSupervisor(this.root, "vscode"));
    } catch (error) {
      if (!(error instanceof Failure) || error.kind !== "failed") throw error;
      if (this.#store.isDisposed) return;
      this.#followSoon();
    }
  }

  #followSoon(): void {
    clearTimeout(this.#followTimer);
    this.#followTimer = setTimeout(() => {
      this.follow().catch((error: unknown) => {
        // A beginning that failed takes its directory along. Anything else is a bug.
        if (!(error instanceof Failure)) throw error;
        this.#changed.fire({ type: "ended" });
      });
    }, followAgainMs);
  }

  /** Calls a method of the supervisor; starts one for review when none lives. */
  async call<K extends keyof ControlMethods>(
    method: K,
    params: z.input<ControlMethods[K]["params"]>,
  ): Promise<z.output<ControlMethods[K]["result"]>> {
    const connection = await this.#connect(() =>
      openTransactionControl(this.root, this.#installation, "vscode"),
    );
    return connection.caller.call(method, params);
  }

  /** Reopens an interrupted transaction: what the agent had written is sealed. */
  async resume(): Promise<void> {
    await this.call("status", {});
    await this.#refreshStatus();
  }

  changes(): Promise<ChangesView> {
    return this.call("changes", {});
  }

  /** Shows that this window is publishing, until the promise settles. */
  async publishing<T>(work: Promise<T>): Promise<T> {
    this.#setBusy("publishing");
    try {
      return await work;
    } finally {
      this.#setBusy(undefined);
      // What the supervisor told before its answer is not left waiting: the next command may be about it.
      clearTimeout(this.#timer);
      this.#fold();
      await this.#refreshStatus();
    }
  }

  setConflicts(paths: readonly string[]): void {
    if (paths.join("\0") === this.#conflicts.join("\0")) return;
    this.#conflicts = paths;
    this.#changed.fire({ type: "status" });
  }

  dispose(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#statusTimer);
    clearTimeout(this.#followTimer);
    this.#connection?.close();
    this.#store.dispose();
    this.#queue = [];
    this.#tellCaughtUp();
  }

  #isInterrupted(): boolean {
    const { state } = this.#status;
    return (state === "open" || state === "publishing") && liveSupervisor(this.root) === undefined;
  }

  #setBusy(busy: HeaderFacts["busy"]): void {
    this.#busy = busy;
    this.#changed.fire({ type: "status" });
  }

  /** One connection at a time; whoever asks while it is being made waits for the same. */
  async #connect(open: () => Promise<Connection>): Promise<Connection> {
    if (this.#connection !== undefined) return this.#connection;
    this.#connecting ??= this.#establish(open).finally(() => (this.#connecting = undefined));
    return this.#connecting;
  }

  async #establish(open: () => Promise<Connection>): Promise<Connection> {
    const connection = await open();
    if (this.#store.isDisposed) {
      connection.close();
      throw new Failure("failed", "disposed", "the window no longer shows this transaction");
    }
    this.#connection = connection;
    const listening = connection.caller.on("entries", (entries) =>
      this.#receive(entries as unknown as Entry[]),
    );
    void connection.closed.then(() => {
      listening.dispose();
      this.#disconnected(connection);
    });
    await connection.caller.call("subscribe", { after: this.#seen });
    await this.#refreshStatus();
    return connection;
  }

  #disconnected(connection: Connection): void {
    if (this.#connection !== connection) return;
    this.#connection = undefined;
    if (this.#store.isDisposed) return;
    this.#readStatus();
    // A process that is killed closes its socket some time before it is gone: it is looked at again until it is.
    const { state } = this.#status;
    if (state === "open" || state === "publishing") this.#followSoon();
    this.#changed.fire({ type: "ended" });
  }

  /** The status as the journal tells it: nobody else is there to ask. */
  #readStatus(): void {
    // What a supervisor that is gone has answered meanwhile is older than this.
    this.#statusGeneration++;
    try {
      this.#status = statusFromJournal(this.root);
    } catch (error) {
      // Somebody has cleared it away: what was known last is all there is.
      if (!(error instanceof Failure)) throw error;
      return;
    }
    if (this.#isInterrupted()) this.#status = { ...this.#status, state: "interrupted" };
    this.#changed.fire({ type: "status" });
  }

  #receive(entries: readonly Entry[]): void {
    // A connection that is being closed may still deliver.
    if (this.#store.isDisposed) return;
    // After a reconnect the supervisor may send what is known already.
    const fresh = entries.filter((entry) => entry.seq > this.#seen);
    const last = fresh.at(-1);
    if (last === undefined) return;
    this.#seen = last.seq;
    this.#take(fresh);
  }

  #take(entries: readonly Entry[]): void {
    this.#seen = Math.max(this.#seen, entries.at(-1)?.seq ?? 0);
    this.#queue = this.#queue.length === 0 ? [...entries] : this.#queue.concat(entries);
    this.#timer ??= setTimeout(() => this.#fold(), this.#queue.length > sliceEntries ? 0 : batchMs);
  }

  #fold(): void {
    this.#timer = undefined;
    const slice = this.#queue.slice(0, sliceEntries);
    this.#queue = this.#queue.slice(sliceEntries);
    if (this.#queue.length > 0) this.#timer = setTimeout(() => this.#fold(), 0);
    else this.#tellCaughtUp();
    const message = this.view.apply(slice);
    if (message !== undefined) this.#changed.fire({ type: "timeline", message });
    this.commits.apply(slice);
    if (this.#conversation.apply(slice)) this.#changed.fire({ type: "conversation" });
    if (this.checks.apply(slice)) this.#changed.fire({ type: "checks" });
    const files = slice.some(({ kind }) => kind === "file.changed");
    if (files) this.#changed.fire({ type: "files" });
    if (files || slice.some(({ kind }) => statusKinds.test(kind)))
      this.#statusTimer ??= setTimeout(() => {
        this.#statusTimer = undefined;
        void this.#refreshStatus();
      }, statusDelayMs);
    else if (slice.some(({ kind }) => kind === "check.started" || kind === "tool.started"))
      this.#changed.fire({ type: "status" });
  }

  /** Resolves when every entry that has come is folded, or nothing will be any more. */
  #caughtUp(): Promise<void> {
    if (this.#queue.length === 0) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #tellCaughtUp(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  async #refreshStatus(): Promise<void> {
    const connection = this.#connection;
    if (connection === undefined) return;
    const generation = ++this.#statusGeneration;
    let status: StatusView;
    let holds: readonly HoldView[];
    try {
      [status, holds] = await Promise.all([
        connection.caller.call("status", {}),
        connection.caller.call("holds", {}),
      ]);
    } catch (error) {
      // The supervisor went away meanwhile: `closed` tells the rest.
      if (error instanceof Failure) return;
      throw error;
    }
    // The card of a hold tells what its entries say of the call: they come first.
    await this.#caughtUp();
    if (generation !== this.#statusGeneration || this.#store.isDisposed) return;
    this.#status = status;
    this.#changed.fire({ type: "status" });
    const ids = (list: readonly HoldView[]): string => list.map(({ hold }) => hold).join();
    const other = ids(holds) !== ids(this.#holds);
    this.#holds = holds;
    if (other) this.#changed.fire({ type: "holds" });
  }
}
