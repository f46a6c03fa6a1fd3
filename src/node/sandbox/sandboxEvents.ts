import { Emitter } from "../../base/lifecycle.ts";
import type { SandboxEvent } from "../../runtime/ports.ts";

/** The events of one sandbox. Those that come before anybody listens wait for the first who does. */
export class SandboxEvents {
  readonly #events = new Emitter<SandboxEvent>();
  #early: SandboxEvent[] | undefined = [];

  tell(event: SandboxEvent): void {
    if (this.#early !== undefined) this.#early.push(event);
    else this.#events.fire(event);
  }

  listen(listener: (event: SandboxEvent) => void): Disposable {
    const listening = this.#events.event(listener);
    const early = this.#early ?? [];
    this.#early = undefined;
    early.forEach(listener);
    return listening;
  }
}
