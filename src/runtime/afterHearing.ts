/** How long what the kernel told waits, milliseconds: longer than a line of the agent takes through its socket. */
const defaultDelayMs = 20;

/**
 * Hands the kernel's events on a moment later, in order. An agent says that a call begins before it starts the call's
 * program, but the two come by different ways and may be read the other way round: the program would be laid to the call
 * before it. Nothing waits for these events, so the moment costs nothing.
 */
export class AfterHearing<Event> {
  readonly #take: (event: Event) => void;
  readonly #delayMs: number;
  readonly #waiting: Event[] = [];
  readonly #timers = new Set<ReturnType<typeof setTimeout>>();
  #flushed = false;

  constructor(take: (event: Event) => void, delayMs = defaultDelayMs) {
    this.#take = take;
    this.#delayMs = delayMs;
  }

  push(event: Event): void {
    if (this.#flushed) {
      this.#take(event);
      return;
    }
    this.#waiting.push(event);
    // Timers of one length end in the order in which they were set.
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.#next();
    }, this.#delayMs);
    this.#timers.add(timer);
  }

  /** Hands on everything that waits, and from now on without waiting. */
  flush(): void {
    this.#flushed = true;
    this.drain();
  }

  /** Hands on everything that waits: a call ends, and what was seen until then was seen while it ran. */
  drain(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
    while (this.#waiting.length > 0) this.#next();
  }

  #next(): void {
    const [event] = this.#waiting.splice(0, 1);
    if (event !== undefined) this.#take(event);
  }
}
