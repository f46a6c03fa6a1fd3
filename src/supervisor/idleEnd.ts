import { existsSync } from "node:fs";
import type { TransactionState } from "../core/transaction/transactionState.ts";
import { journalPath } from "../node/journal/journalHead.ts";
import type { TransactionPaths } from "../runtime/ports.ts";
import type { Adapters } from "./adapters.ts";

/** How often a supervisor looks whether it still has something to do, milliseconds. */
const lookMs = 10_000;

/** How long a supervisor without clients and without work stays, milliseconds. */
const idleMs = 10 * 60_000;

/** Of the supervisor whose end this is. */
export interface Idler {
  readonly paths: TransactionPaths;
  readonly makeSpare: Adapters["makeSpare"];
  readonly state: () => TransactionState;
  readonly clients: () => number;
  readonly onEnd: (reason: string) => void;
}

/**
 * Ends a supervisor that has nothing left to do. Before that, when nobody waits for anything, it makes the spare clone
 * with which the next transaction of the workspace starts at once.
 */
export class IdleEnd {
  readonly #idler: Idler;
  readonly #stopping = new AbortController();
  #busyAt = performance.now();
  #timer: NodeJS.Timeout | undefined;
  #spare: Promise<unknown> | undefined;

  constructor(idler: Idler) {
    this.#idler = idler;
  }

  watch(): void {
    this.#timer = setInterval(() => this.#look(), lookMs);
  }

  /** Ends soon, clients or not. */
  discarded(): void {
    setTimeout(() => void this.#prepare().finally(() => this.#idler.onEnd("discarded")), 200);
  }

  /** A spare that is being made is given up. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#stopping.abort();
    await this.#spare;
  }

  #look(): void {
    const { paths, onEnd } = this.#idler;
    if (!existsSync(journalPath(paths.root))) onEnd("its state was removed");
    else if (this.#isBusy()) this.#busyAt = performance.now();
    else if (performance.now() - this.#busyAt > this.#patienceMs())
      void this.#prepare().finally(() => {
        if (!this.#isBusy()) onEnd("idle"); // somebody may have come meanwhile
      });
  }

  #isBusy(): boolean {
    return this.#idler.state().state === "open" || this.#idler.clients() > 0;
  }

  /** What is over need not be kept ready: it can be reopened. */
  #patienceMs(): number {
    const { state } = this.#idler.state();
    return state === "committed" || state === "discarded" || state === "undone" ? 0 : idleMs;
  }

  #prepare(): Promise<unknown> {
    const { workspace, backend, files, bytes } = this.#idler.state();
    if (backend === undefined) return Promise.resolve();
    const last = { backend, files: files ?? 0, bytes: bytes ?? 0 };
    const { paths, makeSpare } = this.#idler;
    this.#spare ??= makeSpare({ workspace, paths, last, signal: this.#stopping.signal });
    return this.#spare;
  }
}
