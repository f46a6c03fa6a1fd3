import { createHash } from "node:crypto";
import {
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import type { Fork, Savepoints, TransactionPaths } from "../../runtime/ports.ts";
import { forkKey } from "./backend.ts";
import { Beneath } from "./beneath.ts";
import { keepContents, keyOf, type WrittenFile } from "./keepContents.ts";
import { MountedShadow } from "./mountedShadow.ts";
import { Reader } from "./reader.ts";
import { ShadowRestore } from "./restoreShadow.ts";
import {
  loadSavepoint,
  pathsThatDiffer,
  savepointNumbers,
  savepointsIn,
  storeSavepoint,
  viewOf,
  type Difference,
  type Saved,
} from "./savepointFile.ts";
import { scanFork } from "./scanFork.ts";
import type { ScanRecord } from "./scanRecords.ts";
import { writeSparsely } from "./sparseFile.ts";

/*
 * A savepoint is what differs from the base, in `state/savepoints/<number>.json`, with contents by hash in `blobs/`; so it
 * costs what has changed, and a file that is the same as in the savepoint before (same inode, ctime and size) is not read
 * again; small ones that are many are read by the native program. `.git` is in it: going back takes the agent's commits back too. So is what an overlay's upper layer changes (heavy
 * ignored directories, git's objects, or the whole tree): the base is the lower layer there, the upper one is only read.
 *
 * Invariants: a savepoint file appears whole, after its blobs. Restoring first takes a savepoint, writes only paths that
 * differ, and so leaves everything else alone, mtimes and all. Nothing that the base had is removed, unless the savepoint
 * itself had it removed. What lies in an overlay is written through its mount (see {@link MountedShadow}).
 */

/** What a call works on. */
interface Subject {
  readonly fork: Fork;
  readonly workspace: string;
  readonly paths: TransactionPaths;
}

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
class Saving {
  readonly #reader: Reader;
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
      if (["E", "O", "L"].includes(record.code) || record.type === "other") continue;
      const one = await this.#differenceOf(record);
      // A path that became another type has a record for each: what is there now has the last word.
      if (one === undefined || (one.is === "absent" && found.has(record.path))) continue;
      if (record.code === "A") this.#addMade(record.path, found);
      if (record.code === "D") await this.#addGone(record.path, found);
      found.set(record.path, one);
    }
    return found;
  }

  #isSmallAndNew(record: ScanRecord): boolean {
    const { code, type, size, path: at } = record;
    if (type !== "file" || ["D", "E", "O", "L"].includes(code) || size > mostTogether) return false;
    const before = this.#before.get(at);
    const isKnown = before?.is === "file" && before.stamp === stampOf(record);
    return !isKnown && this.#reader.masks.masked(at) === undefined;
  }

  async #differenceOf(record: ScanRecord): Promise<Difference | undefined> {
    if (record.code === "D") return { is: "absent" };
    const { type, mode } = record;
    if (type === "directory") return { is: "directory", mode };
    const place = this.#trees.place(record.path);
    const { tree, at } = place;
    if (type === "symlink") {
      const target = tree.readlink(at);
      return target === undefined ? undefined : { is: "symlink", target };
    }
    if (await this.#isOnlyMasked(record, tree, at)) return undefined;
    const stamp = stampOf(record);
    const before = this.#before.get(record.path);
    if (before?.is === "file" && before.stamp === stamp) return { ...before, mode };
    const blob = this.#kept.get(keyOf(place)) ?? (await this.#keep(tree, at, record.size));
    return blob === undefined ? undefined : { is: "file", mode, blob, stamp };
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
      found.set(above, { is: "directory", mode: Number(stat.mode & 0o7777n) });
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

/** Files that changed: directories alone, and what is in git's own, are not counted. */
function countFiles(
  changed: readonly string[],
  before: ReadonlyMap<string, Difference>,
  now: ReadonlyMap<string, Difference>,
): number {
  return changed.filter((one) => {
    const states = [before.get(one), now.get(one)].filter((state) => state !== undefined);
    const isDirectory = states.every(
      (state) => state.is === "directory" || (state.is === "absent" && state.directory === true),
    );
    return !isDirectory && !one.split("/").includes(".git");
  }).length;
}

/** Savepoints over the native scan. */
export function savepoints(options: { readonly nativePath: string }): Savepoints {
  const { nativePath } = options;
  const readers = new Map<string, Reader>();

  function readerOf({ fork, workspace, paths }: Subject): Reader {
    const known = readers.get(forkKey(fork)) ?? new Reader(fork, workspace, paths);
    readers.set(forkKey(fork), known);
    return known;
  }

  async function take(
    subject: Subject,
    at: string,
    name: string | undefined,
    always: boolean,
  ): Promise<Saved | undefined> {
    const { fork, workspace, paths } = subject;
    const number = savepointNumbers(paths).at(-1) ?? 0;
    const last = number === 0 ? undefined : loadSavepoint(paths, `s${number}`);
    const before = last?.differences ?? new Map<string, Difference>();
    const blobs = path.join(savepointsIn(paths), "blobs");
    mkdirSync(blobs, { recursive: true, mode: 0o700 });
    const records = await scanFork(nativePath, fork, workspace, paths, true);
    const reader = readerOf(subject);
    reader.scanned(new Set(records.filter(({ code }) => code === "O").map((one) => one.path)));
    const saving = new Saving(fork, reader, blobs, before);
    const differences = await saving.differences(nativePath, records);
    const changed = pathsThatDiffer(before, differences);
    if (changed.length === 0 && !always) return undefined;
    const saved: Saved = {
      savepoint: `s${number + 1}`,
      at,
      ...(name !== undefined && { name }),
      files: countFiles(changed, before, differences),
      overlays: true,
      differences,
    };
    storeSavepoint(paths, saved);
    return saved;
  }

  return {
    async take(fork, workspace, paths, { at, name }) {
      const saved = await take({ fork, workspace, paths }, at, name, name !== undefined);
      return saved && viewOf(saved);
    },
    list: (paths) =>
      savepointNumbers(paths).map((number) => viewOf(loadSavepoint(paths, `s${number}`))),
    async read(fork, workspace, paths, { savepoint, path: at }) {
      const found = loadSavepoint(paths, savepoint).differences.get(at);
      if (found === undefined) return readerOf({ fork, workspace, paths }).read("base", at);
      if (found.is === "symlink") return Buffer.from(found.target);
      if (found.is !== "file") return undefined;
      return readFileSync(path.join(savepointsIn(paths), "blobs", found.blob));
    },
    async restore(fork, workspace, paths, { at, to, hostView }) {
      const target = loadSavepoint(paths, to);
      const subject = { fork, workspace, paths };
      const shadow = await MountedShadow.open(nativePath, fork, hostView);
      try {
        const before = await take(subject, at, `before going back to ${to}`, true);
        if (before === undefined) throw new Error("a savepoint that is always taken was not");
        const changed = pathsThatDiffer(before.differences, target.differences).filter(
          (one) => target.overlays || !isInOverlay(fork, one),
        );
        const reader = readerOf(subject);
        const restoring = new ShadowRestore(target, { fork, reader }, shadow, savepointsIn(paths));
        await restoring.bringBack(changed);
        return viewOf(before);
      } finally {
        await shadow.close();
      }
    },
  };
}

function isInOverlay(fork: Fork, one: string): boolean {
  return fork.overlays.some(({ at }) => one.startsWith(`${at}/`));
}
