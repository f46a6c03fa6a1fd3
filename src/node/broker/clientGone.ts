/** Tells when a client breaks off before its answer is complete. Every call has one, so it is light: an AbortSignal is
 * made only where one is asked for. */
export class ClientGone {
  #reason: Error | undefined;
  #controller: AbortController | undefined;
  readonly #listeners = new Set<(reason: Error) => void>();

  /** Why the client is gone; `undefined` while it is there. */
  get reason(): Error | undefined {
    return this.#reason;
  }

  /** Calls the listener once, when the client is gone; at once when it is already. */
  listen(listener: (reason: Error) => void): void {
    if (this.#reason === undefined) this.#listeners.add(listener);
    else listener(this.#reason);
  }

  unlisten(listener: (reason: Error) => void): void {
    this.#listeners.delete(listener);
  }

  /** The client is gone. */
  happened(reason: Error): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#controller?.abort(reason);
    const listeners = [...this.#listeners];
    this.#listeners.clear();
    for (const listener of listeners) listener(reason);
  }

  /** The same as a signal. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }
}
