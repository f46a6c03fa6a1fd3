import { createHash } from "node:crypto";
import { closeSync, openSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Fork } from "../../runtime/ports.ts";
import { Beneath } from "./beneath.ts";
import { keepContents, keyOf, type WrittenFile } from "./keepContents.ts";
import type { Reader } from "./reader.ts";
import { RestoredBase } from "./restoredBase.ts";
import type { Difference } from "./savepointFile.ts";
import type { ScanRecord } from "./scanRecords.ts";
import { writeSparsely } from "./sparseFile.ts";

/** Larger contents are copied in pieces. */
const mostAtOnce = 8 << 20;

/** Up to here they are kept many at once (native/src/contents.c). */
const mostTogether = 1 << 20;

function stampOf({ ino, ctime, size }: ScanRecord): string {
  return `${ino}.${ctime}.${size}`;
}

/** Where the writes to a path lie: the upper layer where there is one, else the shadow. */
class WrittenTrees {
  readonly #shadow: Beneath;
  readonly #root: string;
  readonly #uppers: readonly {
    readonly prefix: string;
    readonly root: string;
    readonly tree: Beneath;
  }[];

  constructor(fork: Fork) {
    this.#root = fork.shadow;
    this.#shadow = new Beneath(fork.shadow, "held");
    this.#uppers = fork.overlays.map(({ at, upper }) => ({
      prefix: at === "." ? "" : `${at}/`,
      root: upper,
      tree: new Beneath(upper, "held"),
    }));
  }

  close(): void {
    for (const tree of [this.#shadow, ...this.#uppers.map((one) => one.tree)]) tree.close();
  }

  place(relative: string): WrittenFile & { readonly tree: Beneath } {
    const found = this.#uppers.find(({ prefix }) => relative.startsWith(prefix));
    return found === undefined
      ? { root: this.#root, tree: this.#shadow, at: relative }
      : { root: found.root, tree: found.tree, at: relative.slice(found.prefix.length) };
  }
}

/** Turns the records of a scan into the differences of a savepoint, and keeps their contents. */
export class Saving {
  readonly #reader: Reader;
  readonly #base: RestoredBase;
  readonly #blobs: string;
  readonly #before: ReadonlyMap<string, Difference>;
  readonly #trees: WrittenTrees;
  readonly #inBase = new Map<string, boolean>();
  /** Directories of the base that are in the shadow yet. */
  readonly #still = new Set<string>();
  /** Names of contents that are kept already, by file. */
  #kept: ReadonlyMap<string, string> = new Map();

  constructor(fork: Fork, reader: Reader, blobs: string, before: ReadonlyMap<string, Difference>) {
    this.#trees = new WrittenTrees(fork);
    this.#reader = reader;
    this.#base = new RestoredBase(reader, fork);
    this.#blobs = blobs;
    this.#before = before;
  }

  /** Small contents are kept all at once, if they are many; those that only hide secrets may be none. */
  async differences(
    nativePath: string,
    records: readonly ScanRecord[],
  ): Promise<Map<string, Difference>> {
    try {
      const fresh = records.filter((record) => this.#isSmallAndNew(record));
      const files = fresh.map((record) => this.#trees.place(record.path));
      this.#kept = await keepContents(nativePath, this.#blobs, files);
      return await this.#differencesOf(records);
    } finally {
      this.#trees.close();
    }
  }

  async #differencesOf(records: readonly ScanRecord[]): Promise<Map<string, Difference>> {
    const found = new Map<string, Difference>();
    for (const record of records) {
      if (["E", "O", "L"].includes(record.code)) continue;
      if (this.#isBasesOwn(record)) {
        found.delete(record.path); // told as gone a moment ago
        continue;
      }
      const one = await this.#differenceOf(record);
      // A path that became another type has a record for each: what is there now has the last word.
      if (one === undefined || (one.is === "absent" && found.has(record.path))) continue;
      if (record.code === "A") this.#addMade(record.path, found);
      if (record.code === "D") await this.#addGone(record.path, found);
      found.set(record.path, one);
    }
    this.#settleLinks(found);
    return found;
  }

  /** What is no regular file, link or directory is told wherever it is, and what a clone never had is told as gone. */
  #isBasesOwn({ code, type, path: at, mode, mtime }: ScanRecord): boolean {
    if (["file", "symlink", "directory"].includes(type)) return false;
    const base = this.#base.state(at);
    if (code === "D") return base === undefined;
    return base?.type === type && base.mode === mode && base.mtime === BigInt(mtime);
  }

  /** What is the base's, and has the names that the base's inode has: only another time is worth telling. */
  #settleLinks(found: Map<string, Difference>): void {
    const names = new Map<string, Set<string>>();
    for (const [one, state] of found) {
      const stamp = "stamp" in state ? state.stamp : undefined;
      if (stamp !== undefined) names.set(stamp, (names.get(stamp) ?? new Set()).add(one));
    }
    for (const [one, state] of found) {
      if (state.is !== "same" || state.stamp === undefined) continue;
      const now = names.get(state.stamp) ?? new Set();
      const before = this.#base.names(one);
      if (before.length !== now.size || !before.every((name) => now.has(name))) continue;
      if (this.#base.state(one)?.mtime === BigInt(state.mtime)) found.delete(one);
      else found.set(one, { is: "same", mtime: state.mtime });
    }
  }

  #isSmallAndNew(record: ScanRecord): boolean {
    const { code, type, size, path: at } = record;
    if (type !== "file" || ["D", "S", "E", "O", "L"].includes(code) || size > mostTogether)
      return false;
    const before = this.#before.get(at);
    const isKnown = before?.is === "file" && before.stamp === stampOf(record);
    return !isKnown && this.#reader.masks.masked(at) === undefined;
  }

  async #differenceOf(record: ScanRecord): Promise<Difference | undefined> {
    const { code, type, mode, mtime } = record;
    if (code === "D") return { is: "absent" };
    const stamp = stampOf(record);
    if (type === "directory")
      return code === "S" ? { is: "same", mtime } : { is: "directory", mode, mtime };
    if (type !== "file" && type !== "symlink") return { is: type, mode, mtime };
    if (code === "S") return { is: "same", stamp, mtime };
    const place = this.#trees.place(record.path);
    const { tree, at } = place;
    if (type === "symlink") {
      const target = tree.readlink(at);
      return target === undefined ? undefined : { is: "symlink", target, stamp, mtime };
    }
    if (await this.#isOnlyMasked(record, tree, at)) return { is: "same", stamp, mtime };
    const before = this.#before.get(record.path);
    if (before?.is === "file" && before.stamp === stamp) return { ...before, mode, mtime };
    const blob = this.#kept.get(keyOf(place)) ?? (await this.#keep(tree, at, record.size));
    return blob === undefined ? undefined : { is: "file", mode, blob, stamp, mtime };
  }

  /** A file whose secrets are hidden differs from the workspace's by that alone. */
  async #isOnlyMasked(record: ScanRecord, tree: Beneath, at: string): Promise<boolean> {
    const masked = this.#reader.masks.masked(record.path);
    if (masked === undefined || tree.read(at)?.bytes.equals(masked) !== true) return false;
    return (await this.#reader.stat("base", record.path))?.mode === record.mode;
  }

  /** The scan tells directories only when they are empty: those that are new have a mode too. */
  #addMade(one: string, found: Map<string, Difference>): void {
    for (const above of directoriesAbove(one)) {
      if (found.get(above)?.is === "directory" || this.#isInBase(above)) return;
      const { tree, at } = this.#trees.place(above);
      const stat = tree.stat(at);
      if (stat?.isDirectory() !== true) return;
      const mtime = String(stat.mtimeNs);
      found.set(above, { is: "directory", mode: Number(stat.mode & 0o7777n), mtime });
    }
  }

  /** Those that are gone with all that was in them are gone themselves. */
  async #addGone(one: string, found: Map<string, Difference>): Promise<void> {
    for (const above of directoriesAbove(one)) {
      if (found.has(above) || this.#still.has(above) || !this.#isInBase(above)) return;
      if ((await this.#reader.stat("shadow", above)) !== undefined) {
        this.#still.add(above);
        return;
      }
      found.set(above, { is: "absent", directory: true });
    }
  }

  #isInBase(directory: string): boolean {
    const known = this.#inBase.get(directory) ?? this.#reader.baseHasDirectory(directory);
    this.#inBase.set(directory, known);
    return known;
  }

  /** Copies a content to the blobs; gives its hash, undefined when the file went away meanwhile. */
  async #keep(tree: Beneath, at: string, size: number): Promise<string | undefined> {
    if (size > mostAtOnce) return keepPieces(this.#blobs, tree.pieces(at));
    const bytes = tree.read(at)?.bytes;
    if (bytes === undefined) return undefined;
    const blob = createHash("sha256").update(bytes).digest("hex");
    keepBytes(path.join(this.#blobs, blob), bytes);
    return blob;
  }
}

/** One that is there already is whole when it has its size: who died over it has written less. */
function keepBytes(file: string, bytes: Uint8Array): void {
  try {
    writeFileSync(file, bytes, { mode: 0o600, flag: "wx" });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") {
      rmSync(file, { force: true }); // a full disk, say: what was written of it is no content
      throw error;
    }
    if (statSync(file).size === bytes.length) return;
    const temporary = `${file}.new-${process.pid}`;
    writeFileSync(temporary, bytes, { mode: 0o600 });
    renameSync(temporary, file);
  }
}

/** The directories that a path lies in, the nearest first. */
function directoriesAbove(one: string): readonly string[] {
  const parts = one.split("/");
  return parts.slice(1).map((_, i) => parts.slice(0, parts.length - 1 - i).join("/"));
}

async function keepPieces(
  blobs: string,
  pieces: AsyncIterable<Uint8Array> | undefined,
): Promise<string | undefined> {
  if (pieces === undefined) return undefined;
  const hash = createHash("sha256");
  const temporary = path.join(blobs, `.new-${process.pid}`);
  const fd = openSync(temporary, "w", 0o600);
  try {
    await writeSparsely(fd, pieces, (piece) => hash.update(piece));
  } finally {
    closeSync(fd);
  }
  const blob = hash.digest("hex");
  renameSync(temporary, path.join(blobs, blob));
  return blob;
}
