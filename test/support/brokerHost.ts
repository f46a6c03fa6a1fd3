import type { Entry, EntryDraft, EntryKind, Kept } from "../../src/core/journal/entry.ts";
import type { BrokerHost, Decision, HoldRequest } from "../../src/runtime/ports.ts";

/** One hold as a test sees it. */
export interface TestHold {
  readonly hold: string;
  readonly request: HoldRequest;
  decide(decision: Decision): void;
}

/** A broker's host in memory: keeps what was recorded, and lets a test decide holds. Made from another one, it is the
 * host of a later process over the same journal. */
export class MemoryHost implements BrokerHost {
  readonly drafts: EntryDraft[] = [];
  readonly holds: TestHold[] = [];
  readonly #earlier: readonly EntryDraft[];
  readonly #waiting: (() => void)[] = [];
  readonly #rejoined = new Map<string, (decision: Decision) => void>();

  constructor(earlier: readonly EntryDraft[] = []) {
    this.#earlier = earlier;
  }

  record(draft: EntryDraft): Promise<number> {
    this.drafts.push(draft);
    this.#wake();
    return Promise.resolve(this.drafts.length);
  }

  keep(value: unknown): Kept {
    return value as Kept;
  }

  hold(request: HoldRequest): Promise<Decision> {
    const hold = `h${String(this.#earlier.length + this.holds.length)}`;
    this.drafts.push({ kind: "hold.opened", source: "broker", hold, ...request });
    return new Promise((resolve) => {
      const decide = (decision: Decision): void => {
        this.drafts.push({ kind: "hold.decided", source: "person", hold, ...decision });
        resolve(decision);
      };
      this.holds.push({ hold, request, decide });
      this.#wake();
    });
  }

  rejoin(hold: string): Promise<Decision> {
    return new Promise((resolve) => this.#rejoined.set(hold, resolve));
  }

  /** Decides a hold that an earlier process opened. */
  decideEarlier(hold: string, decision: Decision): void {
    this.#rejoined.get(hold)?.(decision);
  }

  earlier(): readonly Entry[] {
    return this.#earlier as readonly Entry[];
  }

  currentToolCall(): number | undefined {
    return undefined;
  }

  of<K extends EntryKind>(kind: K): Extract<EntryDraft, { kind: K }>[] {
    return this.drafts.filter((draft) => draft.kind === kind) as Extract<EntryDraft, { kind: K }>[];
  }

  /** Resolves once `condition` holds; looked at after every record and hold. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }
}
