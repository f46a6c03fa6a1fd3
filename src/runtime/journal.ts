import type { Entry, EntryDraft, Kept } from "../core/journal/entry.ts";

/** What `append` gives back: the entry as written, and a promise that settles after fsync (rejects when it failed). */
export interface Appended {
  readonly entry: Entry;
  readonly durable: Promise<void>;
}

/** The port to one transaction's journal. Appends are serial; a journal whose disk failed refuses further appends. */
export interface Journal {
  append(draft: EntryDraft): Appended;
  /** Keeps a value whole: in place when small, as a blob when over 16 KiB. */
  keep(value: unknown): Kept;
  /** All entries so far, in order. */
  entries(): readonly Entry[];
  /** What it takes on disk, with the blobs that this process kept. */
  readonly bytes: number;
  /** Calls `listener` for every later entry, in order. */
  onAppend(listener: (entry: Entry) => void): Disposable;
  close(): Promise<void>;
}
