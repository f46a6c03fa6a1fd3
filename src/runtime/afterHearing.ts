/** How long what the kernel told waits, milliseconds: longer than a line of the agent takes through its socket. */
const defaultDelayMs = 20;

/** The same for an agent whose words come by way of its own interface: it may say that a call begins long after it began. */
export const indirectDelayMs = 5000;

/** How long a request of such an agent waits for its call, milliseconds: real ones tell some 30 ms late. A request that no
 * call is made for, such as the agent's own for an update, waits in vain; one that is held waits for a person anyway. */
export const callToComeMs = { held: 2000, other: 250 } as const;

/**
 * Hands the kernel's events on a moment later, in order. An agent says that a call begins before it starts the call's
 * program, but the two come by different ways and may be read the other way round: the program would be laid to the call
 * before it. Nothing waits for these events, so the moment costs nothing; where something does (`isAwaited`), they come
 * at once.
 */
export class AfterHearing<Event> {
  readonly #take: (event: Event) => void;
  readonly #delayMs: number;
  readonly #isAwaited: () => boolean;
  readonly #waiting: Event[] = [];
  readonly #timers = new Set<ReturnType<typeof setTimeout>>();
  #flushed = false;

  constructor(
    take: (event: Event) => void,
    delayMs = defaultDelayMs,
    isAwaited: () => boolean = () => false,
  ) {
    this.#take = take;
    this.#delayMs = delayMs;
    this.#isAwaited = isAwaited;
  }

  push(event: Event): void {
    this.#waiting.push(event);
    if (this.#flushed || this.#isAwaited()) this.drain();
    // Timers of one length end in the order in which they were set.
    else this.#after(this.#delayMs, () => this.#next());
  }

  /** A call has begun: what waited for its beginning waits no more than for others that begin beside it. */
  hasten(): void {
    if (this.#delayMs > defaultDelayMs) this.#after(defaultDelayMs, () => this.drain());
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

  #after(ms: number, act: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      act();
    }, ms);
    this.#timers.add(timer);
  }

  #next(): void {
    const [event] = this.#waiting.splice(0, 1);
    if (event !== undefined) this.#take(event);
  }
}
