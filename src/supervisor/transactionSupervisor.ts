import { rmSync } from "node:fs";
import path from "node:path";
import { Failure, messageOf } from "../base/errors.ts";
import type { ChangeSet } from "../core/change/changeSet.ts";
import type { CheckSettings } from "../core/check/checkSettings.ts";
import { uncleannessOf, uncleanReason } from "../core/check/cleanness.ts";
import {
  applyEntry,
  foldTransaction,
  type TransactionState,
} from "../core/transaction/transactionState.ts";
import type { ChangeCounts, FileChangeKind } from "../core/journal/entry.ts";
import { JournalFile, readBlob } from "../node/journal/journalFile.ts";
import { takeSupervisorLock } from "../node/state/supervisorLock.ts";
import type { CheckView, StatusView, WireEntry } from "../protocol/control.ts";
import { buildChangeSet } from "../runtime/commit/seal.ts";
import { HoldDesk } from "../runtime/holdDesk.ts";
import type { OpenTransaction } from "../runtime/openTransaction.ts";
import type { ChangedPath, Fork, Savepoint, TransactionPaths } from "../runtime/ports.ts";
import { adapters, newHoldId, type Adapters } from "./adapters.ts";
import { CheckRuns, lastCheckOf } from "./checkRuns.ts";
import { CommitDesk } from "./commitDesk.ts";
import type { notConcluded } from "./conclusion.ts";
import { startControlServer, type ControlHandlers, type ControlServer } from "./controlServer.ts";
import { IdleEnd } from "./idleEnd.ts";
import { checkViewOf, Review } from "./review.ts";
import { SavepointDesk } from "./savepointDesk.ts";
import type { SessionDesk } from "./sessionDesk.ts";
import { loadChangeSet, loadCheckSettings, loadFork, saveChangeSet } from "./stateFiles.ts";
import { statusOf } from "./statusView.ts";
import { TraceExport } from "./traceExport.ts";

/**
 * One transaction's owner: its journal, holds, checks and review, served on the control socket. Faces come and go; what
 * they are told is a fold over the journal.
 */
export class TransactionSupervisor {
  readonly paths: TransactionPaths;
  readonly journal: JournalFile;
  readonly holds: HoldDesk;
  readonly adapters: Adapters;
  readonly checks: CheckRuns;
  readonly traces: TraceExport;
  #state: TransactionState;
  #open: OpenTransaction | undefined;
  #session: SessionDesk | undefined;
  #checkedKey = "";
  #halted = false;
  /** Of the last scan while the agent runs; the seal's counts are in the journal. */
  #liveCounts: ChangeCounts | undefined;
  #desk: SavepointDesk | undefined;
  #sealing: Promise<void> | undefined;
  #review: Review | undefined;
  #server: ControlServer | undefined;
  readonly #idle: IdleEnd;
  readonly #settings: CheckSettings;

  private constructor(paths: TransactionPaths, dist: string, onEnd: (reason: string) => void) {
    this.paths = paths;
    this.journal = JournalFile.open(paths.root);
    this.#state = foldTransaction(this.journal.entries());
    this.holds = new HoldDesk(this.journal, newHoldId);
    this.#settings = loadCheckSettings(paths);
    this.adapters = adapters(dist, this.#settings);
    this.checks = new CheckRuns(this.adapters.checks, this.journal);
    this.traces = new TraceExport(paths, this.journal);
    this.#idle = new IdleEnd({
      paths,
      makeSpare: this.adapters.makeSpare,
      state: () => this.#state,
      clients: () => this.#server?.clients ?? 0,
      onEnd,
    });
    this.journal.onAppend((entry) => {
      this.#state = applyEntry(this.#state, entry);
      this.#server?.publish(entry as unknown as WireEntry);
    });
  }

  /** Takes the lock and opens the journal. `onEnd` is called once when there is nothing left to do. */
  static open(
    paths: TransactionPaths,
    dist: string,
    onEnd: (reason: string) => void,
  ): TransactionSupervisor {
    if (!takeSupervisorLock(paths.root)) {
      throw new Failure(
        "failed",
        "supervised",
        `${path.basename(paths.root)} already has a supervisor`,
      );
    }
    return new TransactionSupervisor(paths, dist, onEnd);
  }

  get state(): TransactionState {
    return this.#state;
  }

  async serve(): Promise<void> {
    const source = {
      transaction: path.basename(this.paths.root),
      entriesAfter: (seq: number) => this.journal.entries().slice(seq) as unknown as WireEntry[],
    };
    this.#server = await startControlServer(this.paths.root, source, this.#handlers());
    this.#idle.watch();
  }

  /**
   * The agent runs: when it ends the transaction is sealed by itself. `comesUp`: it has its prompt already, and what it needs
   * to come up is not taken from it; once it asks its model there is time.
   */
  run(open: OpenTransaction, session: SessionDesk | undefined, comesUp: boolean): void {
    this.#open = open;
    this.#session = session;
    // With no changes yet: the answer for the base is worked out early. Where something has changed since, the checks are
    // under way or about to be.
    const start = (): void =>
      this.checks.startSoon(() => {
        if (this.#checkedKey === "" && this.#state.state === "open") this.#startChecks([]);
      });
    if (!comesUp) start();
    else {
      const listening = this.journal.onAppend(({ kind }) => {
        if (kind !== "request.started" && kind !== "tool.started") return;
        listening[Symbol.dispose]();
        if (this.#checkedKey === "") start();
      });
    }
    void open.exited.then(() => this.seal());
  }

  /** The agent has written: the checks follow, so that their answer is there when review opens. */
  changed(changed: readonly ChangedPath[]): void {
    const key = changed.map((one) => `${one.path}\0${one.change}\0${one.stamp ?? ""}`).join("\n");
    if (key === this.#checkedKey) return;
    this.#checkedKey = key;
    this.#liveCounts = countsOf(changed.filter((one) => !one.path.split("/").includes(".git")));
    if (this.#state.state === "open") this.savepoints().changed();
    this.checks.startSoon(() => {
      if (this.#state.state === "open") this.#startChecks(changed);
    });
  }

  savepoints(): SavepointDesk {
    this.#desk ??= new SavepointDesk(this.adapters.savepoints, this.journal, {
      workspace: this.#state.workspace,
      paths: this.paths,
      fork: () => this.#fork(),
      sandbox: () => (this.#state.state === "open" ? this.#open?.sandbox : undefined),
    });
    return this.#desk;
  }

  /** While the agent runs it goes on from the restored state; afterwards there is another change set to review. */
  async #restore(to: string): Promise<Savepoint> {
    const { state } = this.#state;
    if (state !== "open" && state !== "sealed") {
      throw new Failure(
        "failed",
        "not-restorable",
        `the transaction is ${state}: nothing to restore`,
      );
    }
    const left = await this.savepoints().restore(to);
    if (state === "sealed") await this.#recordSeal(await this.#scan());
    return left;
  }

  #startChecks(changed: readonly ChangedPath[]): void {
    this.checks.start({
      fork: this.#fork(),
      workspace: this.#state.workspace,
      paths: this.paths,
      changed,
      changesNow: () => this.#scan(),
    });
  }

  /** Ends the agent and seals; the second call waits for the first. */
  seal(): Promise<void> {
    this.#sealing ??= this.#sealOnce();
    return this.#sealing;
  }

  /** An emergency: nothing leaves and nothing runs any more. Open holds stay undecided; what they hold is not sent. */
  async #halt(): Promise<void> {
    if (this.#open === undefined || this.#state.state !== "open") return;
    this.#halted = true;
    const halted = this.#open.halt();
    this.#alert("emergency-stop", "stopped by a person, together with every other agent");
    await halted;
  }

  /** Brings an interrupted transaction to where it can be reviewed. */
  async resume(): Promise<void> {
    const { state } = this.#state;
    if (state !== "open" && state !== "publishing" && state !== "interrupted") return;
    const reason = "its supervisor died";
    this.journal.append({ kind: "transaction.interrupted", source: "holdfast", reason });
    this.journal.append({ kind: "transaction.resumed", source: "person", pid: process.pid });
    const review = this.reviewed();
    await review.recover();
    if (this.#state.changeSet === undefined) {
      await this.#recordSeal(await this.#scan());
    } else if (this.#state.state === "interrupted") {
      const { counts, changeSet } = this.#state;
      this.journal.append({ kind: "transaction.sealed", source: "holdfast", counts, changeSet });
    }
  }

  /** Ends everything in order. The journal says `interrupted` when the agent still ran. */
  async close(reason: string): Promise<void> {
    await this.#idle.close();
    if (this.#open !== undefined && this.#state.state === "open") {
      await this.#open.sandbox.kill();
      this.journal.append({ kind: "transaction.interrupted", source: "holdfast", reason });
    }
    await this.checks.close();
    if (this.#review !== undefined) await this.#review.close();
    await this.#server?.close(reason);
    await this.traces.close();
    await this.journal.close();
  }

  async #sealOnce(): Promise<void> {
    const open = this.#open;
    if (open === undefined) throw new Failure("failed", "not-running", "no agent runs here");
    await this.#desk?.settled();
    const changed = await open.seal();
    // What is thrown away in the next moment need not be checked.
    await this.#recordSeal(changed, this.#ending !== "discard");
    await this.#concludeAsAsked();
  }

  async #recordSeal(changed: readonly ChangedPath[], isChecked = true): Promise<void> {
    const changeSet = await buildChangeSet(this.#reader(), changed);
    const name = saveChangeSet(this.paths, changeSet);
    const counts = countsOf(changeSet.files.map(({ kind }) => ({ change: kind })));
    const entry = {
      kind: "transaction.sealed",
      source: "holdfast",
      counts,
      changeSet: name,
    } as const;
    await this.journal.append(entry).durable;
    if (isChecked) this.#startChecks(changed);
  }

  /** What happens by itself after the seal. */
  get #ending(): TransactionState["onExit"] | undefined {
    return this.#halted ? undefined : this.#state.onExit;
  }

  async #concludeAsAsked(): Promise<void> {
    const ending = this.#ending;
    try {
      if (ending === "discard") await this.#discard();
      if (ending !== "commit") return;
      if (this.#settings.commitOnlyWhenClean === true) await this.#requireClean();
      const { conflicts } = await this.reviewed().commit({});
      if (conflicts.length > 0)
        this.#alert("conflicts", "not committed by itself: there are conflicts");
    } catch (error) {
      const code = error instanceof Failure ? error.code : "not-concluded";
      const told = error instanceof Failure ? error.line : messageOf(error);
      const what = this.#state.onExit === "commit" ? "committed" : "discarded";
      if (code === "not-clean") this.#alert(code, told);
      else this.#alert("not-concluded", `not ${what} by itself: ${told}`);
    }
  }

  #alert(code: (typeof notConcluded)[number] | "emergency-stop", message: string): void {
    this.journal.append({ kind: "alert", source: "holdfast", code, message });
  }

  #scan(): Promise<readonly ChangedPath[]> {
    return this.adapters.workspaces.changes(this.#fork(), this.#state.workspace, this.paths);
  }

  #fork(): Fork {
    const fork = this.#open?.fork ?? loadFork(this.paths);
    if (fork === undefined) {
      throw new Failure(
        "failed",
        "no-fork",
        "this transaction never came to a fork",
        "holdfast discard",
      );
    }
    return fork;
  }

  #reader(): ReturnType<Adapters["workspaces"]["reader"]> {
    return this.adapters.workspaces.reader(this.#fork(), this.#state.workspace, this.paths);
  }

  reviewed(): Review {
    this.#review ??= this.#openReview();
    return this.#review;
  }

  #openReview(): Review {
    const { workspace, transaction } = this.#state;
    const target = this.adapters.openTarget(workspace, this.paths);
    const { journal } = this;
    const reader = this.#reader();
    return new Review({ transaction, journal, reader, target, changeSet: () => this.#changeSet() });
  }

  async #changeSet(): Promise<ChangeSet> {
    const name = this.#state.changeSet;
    if (name !== undefined) return loadChangeSet(this.paths, name);
    return buildChangeSet(this.#reader(), await this.#scan());
  }

  async #discard(): Promise<void> {
    const { state } = this.#state;
    if (state === "committed" || state === "publishing") {
      const fix = "`holdfast undo` takes the commit back first";
      throw new Failure("failed", "committed", `the transaction is ${state}`, fix);
    }
    await this.holds.abortAll("the transaction was discarded");
    if (this.#open !== undefined && state === "open") {
      await this.#open.seal();
    }
    await this.checks.close();
    const fork = loadFork(this.paths);
    await this.journal.append({ kind: "transaction.discarded", source: "person" }).durable;
    if (fork !== undefined) await this.adapters.workspaces.remove(fork, this.paths);
    // The journal stays, so that the transaction can still be named; nothing of the workspace's content does.
    for (const folder of [this.paths.state, this.paths.base]) {
      rmSync(folder, { recursive: true, force: true });
    }
    this.#idle.discarded();
  }

  #status(): StatusView {
    const running = this.#open !== undefined && this.#state.state === "open";
    const status = statusOf(
      this.#state,
      this.#state.state,
      running,
      path.basename(this.paths.root),
    );
    return running && this.#liveCounts !== undefined
      ? { ...status, changes: { ...this.#liveCounts } }
      : status;
  }

  #handlers(): ControlHandlers {
    return {
      status: () => this.#status(),
      holds: () => {
        const { transaction } = this.#state;
        return this.holds.open().map(({ seq, request, ...hold }) => ({ ...hold, transaction }));
      },
      decide: async ({ hold, decision, scope, reason, payloadSha256 }) => {
        await this.holds.decide(hold, decision, scope, reason, payloadSha256);
        return null;
      },
      halt: async () => {
        await this.#halt();
        return null;
      },
      stop: async () => {
        await this.seal();
        return this.#status();
      },
      changes: async () => this.reviewed().changes(),
      diff: async ({ paths }) => ({ patch: await this.reviewed().diff(paths) }),
      file: async ({ path: file, side }) =>
        side === "base" || side === "shadow"
          ? this.reviewed().file(file, side)
          : this.savepoints().file(file, side),
      check: ({ wait }) => (wait === false ? this.#checkSoFar() : this.#check()),
      commit: async ({ onlyWhenClean, ...selection }) => {
        this.#requireSealed("commit");
        if (onlyWhenClean === true) await this.#requireClean();
        return this.reviewed().commit(selection);
      },
      discard: () => this.#discard().then(() => null),
      undo: async ({ commit }) => this.reviewed().undo(commit),
      commits: async () => this.#commits().list(),
      bringCommits: async () => this.#commits().bring(),
      savepoint: ({ name }) => this.savepoints().take(name),
      savepoints: () => [...this.savepoints().list()],
      restore: ({ to }) => this.#restore(to),
      prompt: ({ text }) => this.#spoken().prompt(text),
      cancel: () => this.#spoken().cancel(),
      blob: ({ blob }) => ({ text: readBlob(this.paths.root, blob) }),
    };
  }

  #commits(): CommitDesk {
    this.#requireSealed("bring its commits");
    const { workspace, transaction } = this.#state;
    const request = { workspace, transaction, fork: this.#fork(), scratch: this.paths.state };
    return new CommitDesk(request, this.journal);
  }

  #spoken(): SessionDesk {
    if (this.#session !== undefined && this.#state.state === "open") return this.#session;
    const fix = "prompts go to agents that were started with `--agent acp` and still run";
    throw new Failure("failed", "no-session", "there is no session to prompt", fix);
  }

  async #check(): Promise<CheckView> {
    const told = lastCheckOf(this.journal.entries());
    const results = await this.checks.latest();
    if (results.length > 0 || told.length > 0)
      return checkViewOf(results.length > 0 ? results : told);
    if (this.#state.changeSet !== undefined || this.#state.state === "open") {
      this.#startChecks(await this.#scan());
    }
    return checkViewOf(await this.checks.latest());
  }

  /** What is journaled or known, without waiting for more. */
  #checkSoFar(): CheckView {
    const { answered } = this.checks;
    return checkViewOf(answered.length > 0 ? answered : lastCheckOf(this.journal.entries()));
  }

  async #requireClean(): Promise<void> {
    const { checks } = await this.#check();
    const reason = uncleanReason(uncleannessOf(checks));
    if (reason === undefined) return;
    const fix = "correct it and commit again, or `holdfast commit --allow-errors`";
    throw new Failure("failed", "not-clean", `not committed: ${reason}`, fix);
  }

  #requireSealed(verb: string): void {
    const { state } = this.#state;
    if (state === "open") {
      const fix = "wait for the agent to end, or `holdfast stop`";
      throw new Failure("failed", "still-open", `the agent still runs: cannot ${verb}`, fix);
    }
  }
}

function countsOf(files: readonly { readonly change: FileChangeKind }[]): ChangeCounts {
  const counts = { added: 0, modified: 0, deleted: 0 };
  for (const { change: kind } of files) {
    if (kind === "added" || kind === "deleted") counts[kind]++;
    else counts.modified++;
  }
  return counts;
}
