import type { Entry, EntryDraft, Kept } from "../../src/core/journal/entry.ts";
import type { Appended, Journal } from "../../src/runtime/journal.ts";

/** A journal in memory, for use cases whose own rules are under test. Times are given by the test. */
export class MemoryJournal implements Journal {
  readonly written: Entry[] = [];
  readonly bytes = 0;
  readonly #listeners = new Set<(entry: Entry) => void>();
  nowMs = Date.UTC(2026, 0, 1, 12);

  append(draft: EntryDraft): Appended {
    const at = new Date(this.nowMs).toISOString();
    const entry = { ...draft, seq: this.written.length + 1, at, prev: "" } as unknown as Entry;
    this.written.push(entry);
    for (const listener of this.#listeners) listener(entry);
    return { entry, durable: Promise.resolve() };
  }

  keep(value: unknown): Kept {
    return value as Kept;
  }

  entries(): readonly Entry[] {
    return this.written;
  }

  onAppend(listener: (entry: Entry) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => this.#listeners.delete(listener) };
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  /** Entries of one kind, as `parent: words`. */
  lines(kind: Entry["kind"], words: (entry: Entry) => string): string[] {
    return this.written
      .filter((entry) => entry.kind === kind)
      .map((entry) => `${entry.parent ?? "-"}: ${words(entry)}`);
  }
}
