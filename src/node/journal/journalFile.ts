import * as crypto from "node:crypto";
import {
  closeSync,
  constants,
  existsSync,
  fdatasync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  renameSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import path from "node:path";
import { Failure, messageOf } from "../../base/errors.ts";
import { Emitter } from "../../base/lifecycle.ts";
import { parseJson } from "../../base/jsonl.ts";
import {
  observationKinds,
  turnKinds,
  type Entry,
  type EntryDraft,
  type Kept,
} from "../../core/journal/entry.ts";
import { genesis, parseEntry } from "../../core/journal/chain.ts";
import type { Appended, Journal } from "../../runtime/journal.ts";
import { journalPath } from "./journalHead.ts";

/** Values longer than this (bytes of JSON) go into a blob. */
const inlineLimit = 16 * 1024;

/** How long what was only seen may wait for an fsync that it shares with others. */
const observationWaitMs = 20;

/** Without an object for each line, where this Node has it (20.12). */
const hashAtOnce = (crypto as Partial<typeof crypto>).hash;

export function sha256(bytes: string | Uint8Array): string {
  return (
    hashAtOnce?.("sha256", bytes, "hex") ?? crypto.createHash("sha256").update(bytes).digest("hex")
  );
}

/** What reading a journal found. `torn` counts the bytes after the last whole line; `broken` names the first bad line. */
export interface JournalReading {
  readonly entries: readonly Entry[];
  readonly torn: number;
  readonly broken?: { readonly line: number; readonly reason: string };
  /** Hash of the last whole valid line: the `prev` of the next. */
  readonly head: string;
  /** Length of the valid part, bytes. */
  readonly length: number;
}

/** Reads and verifies a journal file's bytes; stops at the first line that does not hold. */
export function readJournalBytes(bytes: Buffer): JournalReading {
  const entries: Entry[] = [];
  let head = genesis;
  let at = 0;
  for (let line = 1; ; line++) {
    const end = bytes.indexOf(10, at);
    if (end < 0) return { entries, torn: bytes.length - at, head, length: at };
    const raw = bytes.subarray(at, end);
    const parsed = parseEntry(parseJson(raw.toString("utf8")), line, head);
    if (typeof parsed === "string") {
      return { entries, torn: 0, broken: { line, reason: parsed }, head, length: at };
    }
    entries.push(parsed);
    head = sha256(raw);
    at = end + 1;
  }
}

/** Reads the journal in a transaction's directory. Throws a Failure when there is none. */
export function readJournal(root: string): JournalReading {
  try {
    return readJournalBytes(readFileSync(journalPath(root)));
  } catch (error) {
    throw new Failure(
      "failed",
      "no-journal",
      `no readable journal in ${root}: ${messageOf(error)}`,
    );
  }
}

/**
 * The journal of one transaction, opened for appending by its only writer. Lines are written in order: those that come
 * by the thousand ({@link turnKinds}) together at the end of the turn of the event loop, any other at once, after those
 * that wait. fsync is shared by all that wait (group commit): one begins at the end of the turn in which somebody first
 * waits, so that all of that turn share it. After a failed write or fsync every further append throws: nothing may
 * happen that cannot be journaled.
 */
export class JournalFile implements Journal {
  readonly #fd: number;
  readonly #root: string;
  readonly #entries: Entry[];
  readonly #appended = new Emitter<Entry>();
  #head: string;
  #bytes: number;
  #failed: Failure | undefined;
  /** Lines that are not written yet. */
  #lines = "";
  /** Who waits for the next fsync. */
  #waiting: Batch | undefined;
  #intentWaits = false;
  #syncing = false;
  #again = false;
  #turnEnds: NodeJS.Immediate | undefined;
  #beginsLater: NodeJS.Timeout | undefined;
  #closed = false;
  readonly #now: () => string;

  private constructor(root: string, fd: number, reading: JournalReading, now: () => string) {
    this.#root = root;
    this.#fd = fd;
    this.#entries = [...reading.entries];
    this.#head = reading.head;
    this.#bytes = reading.length;
    this.#now = now;
  }

  /** Opens or creates. A torn last line is cut off; a broken chain is refused with its place. */
  static open(root: string, now: () => string = wallClock()): JournalFile {
    mkdirSync(path.join(root, "blobs"), { recursive: true, mode: 0o700 });
    const flags = constants.O_RDWR | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW;
    const fd = openSync(journalPath(root), flags, 0o600);
    const reading = readJournalBytes(readFileSync(fd));
    if (reading.broken !== undefined) {
      closeSync(fd);
      throw brokenChain(root, reading.broken);
    }
    if (reading.torn > 0) ftruncateSync(fd, reading.length);
    return new JournalFile(root, fd, reading, now);
  }

  get bytes(): number {
    return this.#bytes;
  }

  append(draft: EntryDraft): Appended {
    if (this.#failed !== undefined) throw this.#failed;
    if (this.#closed) throw new Failure("failed", "journal-closed", "the journal is closed");
    const { kind } = draft;
    const head = { seq: this.#entries.length + 1, at: this.#now() };
    // Not by spreading, which takes ten times as long: calls wait for this.
    const entry = Object.assign(head, draft, { prev: this.#head }) as unknown as Entry;
    const line = JSON.stringify(entry);
    this.#lines += `${line}\n`;
    if (!turnKinds.has(kind)) this.#write();
    this.#bytes += Buffer.byteLength(line) + 1;
    this.#head = sha256(line);
    this.#entries.push(entry);
    const durable = this.#sync(observationKinds.has(kind));
    this.#appended.fire(entry);
    return { entry, durable };
  }

  keep(value: unknown): Kept {
    const text = JSON.stringify(value ?? null);
    const bytes = Buffer.from(text, "utf8");
    if (bytes.length <= inlineLimit) return JSON.parse(text) as Kept;
    const whole = typeof value === "string" ? Buffer.from(value, "utf8") : bytes;
    const blob = sha256(whole);
    const file = path.join(this.#root, "blobs", blob);
    const fd = openSync(`${file}.new`, "w", 0o600);
    this.#bytes += whole.length;
    try {
      writeFileSync(fd, whole);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(`${file}.new`, file);
    return { $blob: { blob, bytes: whole.length, preview: whole.toString("utf8", 0, 200) } };
  }

  entries(): readonly Entry[] {
    return this.#entries;
  }

  onAppend(listener: (entry: Entry) => void): Disposable {
    return this.#appended.event(listener);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    const durable = this.#sync(false);
    this.#begin();
    await durable;
    closeSync(this.#fd);
  }

  /** Throws when the disk does not take it. */
  #write(): void {
    if (this.#lines === "") return;
    const lines = Buffer.from(this.#lines, "utf8");
    this.#lines = "";
    try {
      for (let at = 0; at < lines.length;) at += writeSync(this.#fd, lines, at);
    } catch (error) {
      this.#fail(error);
      throw this.#failed ?? error;
    }
  }

  #fail(error: unknown): void {
    const fix = "free some space, then `holdfast resume` reopens the transaction";
    const message = `the journal cannot be written: ${messageOf(error)}`;
    this.#failed ??= new Failure("failed", "journal-failed", message, fix, error);
  }

  #sync(mayWait: boolean): Promise<void> {
    if (!mayWait) this.#intentWaits = true;
    this.#turnEnds ??= setImmediate(() => this.#endTurn());
    this.#waiting ??= new Batch();
    return this.#waiting.durable;
  }

  #endTurn(): void {
    this.#turnEnds = undefined;
    if (this.#intentWaits) this.#begin();
    else {
      this.#tryWrite();
      this.#beginsLater ??= setTimeout(() => this.#begin(), observationWaitMs).unref();
    }
  }

  /** A failure reaches those that wait, and every later append. */
  #tryWrite(): void {
    try {
      if (this.#failed === undefined) this.#write();
    } catch {
      // Kept in #failed.
    }
  }

  /** One fsync at a time; what comes during one shares the next. */
  #begin(): void {
    clearTimeout(this.#beginsLater);
    clearImmediate(this.#turnEnds);
    this.#beginsLater = this.#turnEnds = undefined;
    this.#tryWrite();
    if (this.#syncing) {
      this.#again = true;
      return;
    }
    const batch = this.#waiting;
    this.#waiting = undefined;
    this.#intentWaits = false;
    this.#syncing = true;
    fdatasync(this.#fd, (error) => {
      this.#syncing = false;
      if (error !== null) this.#fail(error);
      batch?.settle(this.#failed);
      if (!this.#again) return;
      this.#again = false;
      this.#begin();
    });
  }
}

/** The time as an entry has it; made anew once a millisecond. */
function wallClock(): () => string {
  let at = 0;
  let text = "";
  return () => {
    const now = Date.now();
    if (now !== at) {
      at = now;
      text = new Date(now).toISOString();
    }
    return text;
  };
}

/** Entries that share one fsync, and one promise. */
class Batch {
  readonly durable: Promise<void>;
  #resolve!: () => void;
  #reject!: (error: Error) => void;

  constructor() {
    this.durable = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // Most callers do not wait; a failure still stops every later append.
    this.durable.catch(() => undefined);
  }

  settle(failed: Error | undefined): void {
    if (failed === undefined) this.#resolve();
    else this.#reject(failed);
  }
}

/** The failure for a chain that does not hold. */
export function brokenChain(root: string, broken: { line: number; reason: string }): Failure {
  const where = `${journalPath(root)} line ${broken.line}`;
  const fix = "the entries before that line are intact; export them with `holdfast journal export`";
  return new Failure(
    "failed",
    "journal-broken",
    `the journal's chain is broken at ${where}: ${broken.reason}`,
    fix,
  );
}

/** Reads a blob as UTF-8 text. Throws a Failure for a name that is not a hash or a blob that is missing or altered. */
export function readBlob(root: string, blob: string): string {
  if (!/^[0-9a-f]{64}$/.test(blob))
    throw new Failure("usage", "bad-blob", `not a blob name: ${blob}`);
  let bytes: Buffer;
  try {
    bytes = readFileSync(path.join(root, "blobs", blob));
  } catch (error) {
    throw new Failure("failed", "no-blob", `blob ${blob} cannot be read: ${messageOf(error)}`);
  }
  if (sha256(bytes) !== blob)
    throw new Failure("failed", "blob-altered", `blob ${blob} was altered`);
  return bytes.toString("utf8");
}

/** Names of the blobs of a transaction whose content is not what their name says. */
export function alteredBlobs(root: string): readonly string[] {
  const blobs = path.join(root, "blobs");
  if (!existsSync(blobs)) return [];
  return readdirSync(blobs).filter(
    (name) => /^[0-9a-f]{64}$/.test(name) && sha256(readFileSync(path.join(blobs, name))) !== name,
  );
}
