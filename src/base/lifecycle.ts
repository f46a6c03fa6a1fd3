/** Something that must be ended. */
export interface Ending {
  dispose(): void;
}

/** Hears of everything that is made to be ended, and of its end. */
export interface LifecycleWitness {
  made(owned: Ending): void;
  ended(owned: Ending): void;
}

let witness: LifecycleWitness | undefined;

/** Sets who hears of what is made and ended from now on: leak checks of the suites, nobody else. */
export function setLifecycleWitness(heard: LifecycleWitness | undefined): void {
  witness = heard;
}

/** Makes an ending of a function; calling it twice calls the function once. */
export function toDisposable(end: () => void): Ending & Disposable {
  let ended = false;
  const dispose = (): void => {
    if (ended) return;
    ended = true;
    witness?.ended(made);
    end();
  };
  const made = { dispose, [Symbol.dispose]: dispose };
  witness?.made(made);
  return made;
}

/** Owns endings and disposes them in reverse order; whatever is created is added on the next line. */
export class DisposableStore implements Ending, Disposable {
  readonly #owned = new Set<Ending>();
  #disposed = false;

  constructor() {
    witness?.made(this);
  }

  get isDisposed(): boolean {
    return this.#disposed;
  }

  /** Takes ownership and hands the thing back. After disposal it is ended at once. */
  add<T extends Ending>(owned: T): T {
    if (this.#disposed) owned.dispose();
    else this.#owned.add(owned);
    return owned;
  }

  /** Ends one thing before the rest. */
  delete(owned: Ending): void {
    if (this.#owned.delete(owned)) owned.dispose();
  }

  clear(): void {
    const all = [...this.#owned].reverse();
    this.#owned.clear();
    for (const owned of all) owned.dispose();
  }

  dispose(): void {
    if (!this.#disposed) witness?.ended(this);
    this.#disposed = true;
    this.clear();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

/** Announces something to listeners, in the order they came. A listener that throws does not stop the others; the
 * first error is thrown after all have been called. */
export class Emitter<T> implements Ending {
  readonly #listeners = new Set<(value: T) => void>();
  #disposed = false;

  constructor() {
    witness?.made(this);
  }

  readonly event = (listener: (value: T) => void): Ending & Disposable => {
    this.#listeners.add(listener);
    return toDisposable(() => this.#listeners.delete(listener));
  };

  fire(value: T): void {
    const errors: unknown[] = [];
    for (const listener of [...this.#listeners]) {
      try {
        listener(value);
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw errors[0];
  }

  dispose(): void {
    if (!this.#disposed) witness?.ended(this);
    this.#disposed = true;
    this.#listeners.clear();
  }
}
