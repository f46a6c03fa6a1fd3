import type { Journal } from "../runtime/journal.ts";

/** Milliseconds without a word: the agent thinks, or waits for its model. */
const quietMs = 400;

/** Longest wait for a pause, milliseconds: some agents make none. */
const longestMs = 3000;

/**
 * Keeps work that can wait until the agent pauses. While an agent acts the journal grows, and what is done beside it takes
 * processor time from it; while it waits for its model there is plenty. An agent that never pauses does not keep the work
 * waiting for ever.
 */
export class AgentPause {
  readonly #quietMs: number;
  readonly #longestMs: number;
  readonly #listening: Disposable;
  #work: (() => void) | undefined;
  #waitingSince = 0;
  #heardAt = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(journal: Journal, quiet = quietMs, longest = longestMs) {
    this.#quietMs = quiet;
    this.#longestMs = longest;
    this.#listening = journal.onAppend(({ kind }) => {
      // What checks tell is no word of the agent.
      if (!kind.startsWith("check.")) this.#heardAt = performance.now();
    });
  }

  /** Does `work` in the next pause; it takes the place of what waits for one. */
  await(work: () => void): void {
    const now = performance.now();
    if (this.#work === undefined) this.#waitingSince = now;
    this.#work = work;
    this.#heardAt = now;
    this.#timer ??= setTimeout(() => this.#look(), this.#leftMs(now));
  }

  /** Forgets what waits. */
  cancel(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#work = undefined;
  }

  dispose(): void {
    this.cancel();
    this.#listening[Symbol.dispose]();
  }

  #leftMs(now: number): number {
    const quiet = this.#heardAt + this.#quietMs;
    const longest = this.#waitingSince + this.#longestMs;
    return Math.max(0, Math.min(quiet, longest) - now);
  }

  #look(): void {
    this.#timer = undefined;
    const left = this.#leftMs(performance.now());
    if (left > 0) {
      this.#timer = setTimeout(() => this.#look(), left);
      return;
    }
    const work = this.#work;
    this.#work = undefined;
    work?.();
  }
}
