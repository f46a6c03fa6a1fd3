import type { Entry, EntryDraft, Kept } from "../../src/core/journal/entry.ts";
import type { Appended, Journal } from "../../src/runtime/journal.ts";

/** A journal in memory for the tests of commits; `failAt` makes the append of that kind throw. */
export class CommitJournal implements Journal {
  readonly bytes = 0;
  readonly #entries: Entry[] = [];
  failAt: string | undefined;

  append(draft: EntryDraft): Appended {
    if (draft.kind === this.failAt) throw new Error("the journal's disk is full");
    const head = { seq: this.#entries.length + 1, at: "2026-11-29T12:00:00.000Z", prev: "" };
    const entry = { ...head, ...draft } as Entry;
    this.#entries.push(entry);
    return { entry, durable: Promise.resolve() };
  }

  keep(value: unknown): Kept {
    return value as Kept;
  }

  entries(): readonly Entry[] {
    return this.#entries;
  }

  onAppend(): Disposable {
    return { [Symbol.dispose]: () => undefined };
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  /** The kinds so far, without `commit.`. */
  get kinds(): readonly string[] {
    return this.#entries.map(({ kind }) => kind.replace("commit.", ""));
  }
}
