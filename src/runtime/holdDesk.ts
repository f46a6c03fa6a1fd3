import { Failure } from "../base/errors.ts";
import type { ApprovalScope } from "../core/journal/entry.ts";
import { foldTransaction, type OpenHold } from "../core/transaction/transactionState.ts";
import type { Journal } from "./journal.ts";
import type { Decision, HoldRequest } from "./ports.ts";

/** Makes the names of holds: short enough to type, unique on this machine. */
export type HoldIds = () => string;

/**
 * Where held calls wait for a person.
 *
 * - A decision is durable before the call goes on; the journal's order makes its hold durable before that.
 * - A hold never expires. A client that goes away leaves its hold open; what waits in this process is only a waiter.
 * - A hold is decided once. Nothing but `decide` decides, and only the control socket reaches it.
 */
export class HoldDesk {
  readonly #journal: Journal;
  readonly #newId: HoldIds;
  readonly #waiters = new Map<string, (decision: Decision) => void>();
  readonly #open = new Map<string, OpenHold>();

  constructor(journal: Journal, newId: HoldIds) {
    this.#journal = journal;
    this.#newId = newId;
    for (const hold of foldTransaction(journal.entries()).openHolds)
      this.#open.set(hold.hold, hold);
  }

  /** Holds that wait for a person, oldest first. */
  open(): readonly OpenHold[] {
    return [...this.#open.values()];
  }

  /** Opens a hold and waits without limit. Rejects with the signal's reason when the waiter gives up; the hold stays. */
  async hold(request: HoldRequest, signal: AbortSignal): Promise<Decision> {
    const hold = this.#newId();
    const { parent, source = "broker", ...members } = request;
    const { entry, durable } = this.#journal.append({
      kind: "hold.opened",
      source,
      ...(parent === undefined ? {} : { parent }),
      hold,
      ...members,
    });
    this.#open.set(hold, { hold, openedAt: entry.at, seq: entry.seq, ...members });
    await durable;
    return this.#wait(hold, signal);
  }

  /** Waits again for a hold that an earlier process of this transaction opened. */
  async rejoin(hold: string, signal: AbortSignal): Promise<Decision> {
    if (!this.#open.has(hold)) throw new Error(`the hold ${hold} is not open`);
    return await this.#wait(hold, signal);
  }

  #wait(hold: string, signal: AbortSignal): Promise<Decision> {
    return new Promise((resolve, reject) => {
      const abandon = (): void => {
        this.#waiters.delete(hold);
        reject(signal.reason instanceof Error ? signal.reason : new Error("the caller is gone"));
      };
      if (signal.aborted) {
        abandon();
        return;
      }
      signal.addEventListener("abort", abandon, { once: true });
      this.#waiters.set(hold, (decision) => {
        signal.removeEventListener("abort", abandon);
        resolve(decision);
      });
    });
  }

  /** Records a person's decision and lets the call go on. `shown` is the hash of what the person was shown: an approval is
   * of that and of nothing else. Throws a Failure when the hold is not open, or `hold-not-shown`. */
  async decide(
    hold: string,
    decision: Decision["decision"],
    scope: ApprovalScope,
    reason?: string,
    shown?: string,
  ): Promise<OpenHold> {
    const open = this.#open.get(hold);
    if (open === undefined) {
      const fix = "`holdfast holds` lists the open ones";
      throw new Failure("failed", "no-hold", `there is no open hold ${hold}`, fix);
    }
    if (decision === "approve" && shown !== open.payloadSha256) {
      const fix = "look at the call again, then decide";
      const message = `what was shown for the hold ${hold} is not what would be sent`;
      throw new Failure("failed", "hold-not-shown", message, fix);
    }
    this.#open.delete(hold);
    const because = reason === undefined ? {} : { reason };
    const { durable } = this.#journal.append({
      kind: "hold.decided",
      source: "person",
      parent: open.seq,
      hold,
      decision,
      scope,
      ...because,
    });
    await durable;
    this.#waiters.get(hold)?.({ decision, scope, ...because });
    this.#waiters.delete(hold);
    return open;
  }

  /** Ends every open hold without sending: the transaction is thrown away. */
  async abortAll(reason: string): Promise<void> {
    for (const hold of [...this.#open.keys()]) await this.decide(hold, "abort", "call", reason);
  }
}
