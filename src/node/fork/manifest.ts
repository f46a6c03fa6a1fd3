import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs";
import path from "node:path";
import { Failure, messageOf } from "../../base/errors.ts";
import { decodePath, encodePath } from "./pathBytes.ts";

/** Layout: native/src/manifest.h. */
const headerBytes = 64;
const recordBytes = 112;
const magic = "HFMANI01";
const flag = { saved: 1, mount: 2, absent: 4, unreadable: 8, linked: 16, suspect: 32 } as const;

const lookedEarlier = 2n;

export type EntryType = "file" | "symlink" | "directory" | "other";

/** One path of the base. Times in nanoseconds. */
export interface ManifestEntry {
  readonly index: number;
  readonly type: EntryType;
  readonly mode: number;
  readonly size: number;
  readonly mtime: bigint;
  readonly host: { readonly ino: bigint; readonly ctime: bigint };
  readonly shadow: { readonly ino: bigint; readonly ctime: bigint; readonly btime: bigint };
  /** Where the content is saved. */
  readonly saved?: { readonly pack: number; readonly offset: number };
  readonly target?: string;
  /** Other entries have the same inode; of a listing it is said of secrets only. */
  readonly linked: boolean;
  /** A directory that an overlay covers. */
  readonly mount: boolean;
  /** A file whose attributes were taken from an earlier listing: they may have changed before this one began. */
  readonly earlier: boolean;
  /** In the base, but never put into the shadow (FIFO, socket, device, unreadable). */
  readonly absent: boolean;
}

const types: Readonly<Record<string, EntryType>> = {
  f: "file",
  l: "symlink",
  d: "directory",
  o: "other",
};

const pieceBytes = 1 << 17;

/** The bytes of a file that never changes, read in pieces as they are asked for: most of a large manifest never is. */
class LazyBytes {
  readonly length: number;
  readonly #file: string;
  readonly #bytes: Buffer;
  readonly #there: Uint8Array;

  constructor(file: string) {
    this.#file = file;
    this.length = reading(file, (fd) => fstatSync(fd).size);
    this.#bytes = Buffer.allocUnsafeSlow(this.length);
    this.#there = new Uint8Array(Math.ceil(this.length / pieceBytes));
  }

  /** A buffer as large as the file, in which the `count` bytes at `offset` are the file's. */
  with(offset: number, count: number): Buffer {
    for (let piece = Math.floor(offset / pieceBytes); piece * pieceBytes < offset + count; piece++)
      if (this.#there[piece] === 0) this.#read(piece);
    return this.#bytes;
  }

  #read(piece: number): void {
    const start = piece * pieceBytes;
    const end = Math.min(start + pieceBytes, this.length);
    reading(this.#file, (fd) => {
      for (let at = start; at < end;) {
        const got = readSync(fd, this.#bytes, at, end - at, at);
        if (got === 0) throw new Error("it is cut off");
        at += got;
      }
    });
    this.#there[piece] = 1;
  }
}

function reading<T>(file: string, use: (fd: number) => T): T {
  try {
    const fd = openSync(file, "r");
    try {
      return use(fd);
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    const fix = "the transaction's state was moved or deleted; `holdfast discard` clears it away";
    throw new Failure("failed", "manifest-missing", messageOf(error), fix, error);
  }
}

/** The base at the fork, looked up by path. */
export class Manifest {
  readonly #bytes: LazyBytes;
  readonly #count: number;
  readonly #texts: number;
  #names: ReadonlyMap<bigint, readonly number[]> | undefined;

  private constructor(bytes: LazyBytes) {
    this.#bytes = bytes;
    this.#count = Number(bytes.with(8, 8).readBigUInt64LE(8));
    this.#texts = headerBytes + this.#count * recordBytes;
  }

  /** One that is held already is given again: a manifest that exists is whole and never written again. */
  static open(file: string): Manifest {
    const identity = identityOf(file);
    const held = identity === lastOpened?.identity ? lastOpened.manifest.deref() : undefined;
    if (held !== undefined) return held;
    const manifest = Manifest.#read(file);
    lastOpened = { identity, manifest: new WeakRef(manifest) };
    return manifest;
  }

  static #read(file: string): Manifest {
    const bytes = new LazyBytes(file);
    const isWhole =
      bytes.length >= headerBytes + recordBytes &&
      bytes.with(0, headerBytes).toString("latin1", 0, 8) === magic &&
      Number(bytes.with(8, 8).readBigUInt64LE(8)) * recordBytes + headerBytes <= bytes.length;
    if (!isWhole) {
      throw new Failure("failed", "manifest-damaged", `${file} is not a manifest of a fork`);
    }
    return new Manifest(bytes);
  }

  /** Number of entries, the root included. */
  get count(): number {
    return this.#count;
  }

  /** When the fork began, by the clock of file times: nanoseconds. */
  get begun(): bigint {
    return this.#bytes.with(40, 8).readBigInt64LE(40);
  }

  /** Undefined when the base has nothing there. `""` is the root. */
  lookup(relativePath: string): ManifestEntry | undefined {
    let index = 0;
    for (const part of relativePath === "" ? [] : relativePath.split("/")) {
      const child = this.#child(index, encodePath(part));
      if (child === undefined) return undefined;
      index = child;
    }
    return this.#entry(index);
  }

  /** Names in a directory, sorted by bytes; undefined when it is none. */
  list(relativePath: string): readonly string[] | undefined {
    const entry = this.lookup(relativePath);
    if (entry?.type !== "directory") return undefined;
    const [first, count] = this.#children(entry.index);
    return Array.from({ length: count }, (_, i) => decodePath(this.#name(first + i)));
  }

  /** Every `.git`, in order of depth. */
  gitDirectories(): readonly string[] {
    const wanted = Buffer.from(".git");
    return this.#noted()
      .filter((index) => this.#name(index).equals(wanted))
      .map((index) => this.#path(index));
  }

  /** Symbolic links whose names say that a secret is behind them. */
  suspectLinks(): readonly string[] {
    return this.#noted()
      .filter((index) => this.#isSuspect(index, "symlink"))
      .map((index) => this.#path(index));
  }

  /**
   * Regular files that may hold secrets and those at `more`, with the other paths of each one's inode. `listed`: it is a listing,
   * which does not say which other entries share one.
   */
  suspects(
    more: Iterable<string> = [],
    listed = false,
  ): readonly {
    readonly path: string;
    readonly size: number;
    readonly links: readonly string[];
  }[] {
    const found: number[] = [];
    const byInode = new Map<bigint, number[]>();
    for (const index of this.#noted()) {
      const record = this.#record(index);
      const flags = record[29] ?? 0;
      if ((flags & flag.linked) !== 0) {
        const inode = record.readBigUInt64LE(72);
        byInode.set(inode, [...(byInode.get(inode) ?? []), index]);
      }
      if (this.#isSuspect(index, "file")) found.push(index);
    }
    for (const path of more) {
      const entry = this.lookup(path);
      if (entry?.type === "file" && !entry.absent && !found.includes(entry.index))
        found.push(entry.index);
    }
    if (listed) this.#addNames(byInode, found);
    const taken = new Set<number>();
    return found.flatMap((index) => {
      if (taken.has(index)) return [];
      const { size, shadow } = this.#entry(index);
      const same = (byInode.get(shadow.ino) ?? []).filter((one) => one !== index);
      for (const one of same) taken.add(one);
      return [{ path: this.#path(index), size, links: same.map((one) => this.#path(one)) }];
    });
  }

  /** Every name of the inodes that have several, or may have. */
  #addNames(byInode: Map<bigint, number[]>, found: readonly number[]): void {
    const wanted = new Map<bigint, number[]>();
    for (const index of found) {
      const record = this.#record(index);
      const flags = record[29] ?? 0;
      if ((flags & flag.linked) !== 0 || (flags & flag.suspect) === 0)
        wanted.set(record.readBigUInt64LE(72), []);
    }
    if (wanted.size === 0) return;
    for (let index = 1; index < this.#count; index++) {
      const record = this.#record(index);
      if (record[28] === "f".charCodeAt(0)) wanted.get(record.readBigUInt64LE(72))?.push(index);
    }
    for (const [inode, names] of wanted) byInode.set(inode, names);
  }

  /** Paths of the entries whose inode in the shadow this is; `listed` as in {@link suspects}. */
  namesOf(inode: bigint, listed: boolean): readonly string[] {
    this.#names ??= this.#namesByInode(listed ? undefined : this.#noted());
    return (this.#names.get(inode) ?? []).map((index) => this.#path(index));
  }

  /** The entries of every inode that has several, of those at `among` or of all. */
  #namesByInode(among: readonly number[] | undefined): ReadonlyMap<bigint, readonly number[]> {
    const first = new Map<bigint, number>();
    const several = new Map<bigint, number[]>();
    const count = among?.length ?? this.#count;
    for (let i = 0; i < count; i++) {
      const index = among?.[i] ?? i;
      const { type, absent } = this.#kind(index);
      if (absent || (type !== "file" && type !== "symlink")) continue;
      const inode = this.#record(index).readBigUInt64LE(72);
      const other = first.get(inode);
      if (other === undefined) first.set(inode, index);
      else several.set(inode, [...(several.get(inode) ?? [other]), index]);
    }
    return several;
  }

  #isSuspect(index: number, type: EntryType): boolean {
    const { [29]: flags = 0 } = this.#record(index);
    const kind = this.#kind(index);
    return (flags & flag.suspect) !== 0 && !kind.absent && kind.type === type;
  }

  #kind(index: number): { readonly type: EntryType | undefined; readonly absent: boolean } {
    const { [28]: code = 0, [29]: flags = 0 } = this.#record(index);
    return { type: types[String.fromCharCode(code)], absent: (flags & flag.absent) !== 0 };
  }

  /** Every entry but the root, parents first. */
  *entries(): Generator<{ readonly path: string; readonly entry: ManifestEntry }> {
    for (let index = 1; index < this.#count; index++)
      yield { path: this.#path(index), entry: this.#entry(index) };
  }

  /** Numbers of the entries that a fork asks for. */
  #noted(): readonly number[] {
    const header = this.#bytes.with(0, headerBytes);
    const start = this.#texts + Number(header.readBigUInt64LE(16));
    const count = Number(header.readBigUInt64LE(48));
    const bytes = this.#bytes.with(start, count * 4);
    return Array.from({ length: count }, (_, i) => bytes.readUInt32LE(start + i * 4));
  }

  #record(index: number): Buffer {
    const at = headerBytes + index * recordBytes;
    return this.#bytes.with(at, recordBytes).subarray(at, at + recordBytes);
  }

  /** The number of the first entry in a directory, and how many there are. */
  #children(index: number): readonly [first: number, count: number] {
    const record = this.#record(index);
    return [record.readUInt32LE(16), record.readUInt32LE(20)];
  }

  #name(index: number): Buffer {
    const record = this.#record(index);
    return this.#text(Number(record.readBigUInt64LE(0)), record.readUInt32LE(8));
  }

  #text(offset: number, length: number): Buffer {
    const start = this.#texts + offset;
    return this.#bytes.with(start, length).subarray(start, start + length);
  }

  #path(index: number): string {
    const parts: string[] = [];
    for (let at = index; at !== 0; at = this.#record(at).readUInt32LE(12))
      parts.unshift(decodePath(this.#name(at)));
    return parts.join("/");
  }

  /** Binary search among the sorted children. */
  #child(parent: number, name: Buffer): number | undefined {
    const [first, count] = this.#children(parent);
    let low = first;
    let high = first + count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const order = Buffer.compare(this.#name(middle), name);
      if (order === 0) return middle;
      if (order < 0) low = middle + 1;
      else high = middle;
    }
    return undefined;
  }

  #entry(index: number): ManifestEntry {
    const record = this.#record(index);
    const flags = record[29] ?? 0;
    const type = types[String.fromCharCode(record[28] ?? 0)] ?? "other";
    const size = Number(record.readBigUInt64LE(32));
    const offset = Number(record.readBigUInt64LE(96));
    return {
      index,
      type,
      mode: record.readUInt32LE(24),
      size,
      mtime: record.readBigInt64LE(40),
      host: { ino: record.readBigUInt64LE(48), ctime: record.readBigInt64LE(56) },
      shadow: {
        ino: record.readBigUInt64LE(72),
        ctime: record.readBigInt64LE(80),
        btime: record.readBigInt64LE(88),
      },
      ...((flags & flag.saved) !== 0 && { saved: { pack: record.readUInt16LE(30), offset } }),
      ...(type === "symlink" && { target: decodePath(this.#text(offset, size)) }),
      linked: (flags & flag.linked) !== 0,
      mount: (flags & flag.mount) !== 0,
      absent: (flags & flag.absent) !== 0,
      earlier: type === "file" && record.readBigUInt64LE(104) === lookedEarlier,
    };
  }
}

/** A process works on one fork: the scan, savepoints and review share what they have of it. */
let lastOpened: { readonly identity: string; readonly manifest: WeakRef<Manifest> } | undefined;

function identityOf(file: string): string {
  const stat = statSync(file, { bigint: true, throwIfNoEntry: false });
  return stat === undefined ? file : [file, stat.ino, stat.size, stat.mtimeNs].join("\0");
}

/** Reads a saved content. Throws a Failure `base-lost` when the pack is gone or short. */
export function readPack(
  directory: string,
  saved: { readonly pack: number; readonly offset: number },
  size: number,
): Buffer {
  const file = path.join(directory, `pack.${saved.pack}`);
  const bytes = Buffer.alloc(size);
  try {
    const fd = openSync(file, "r");
    try {
      for (let done = 0; done < size;) {
        const got = readSync(fd, bytes, done, size - done, saved.offset + done);
        if (got === 0) throw new Error("it is too short");
        done += got;
      }
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    throw new Failure(
      "failed",
      "base-lost",
      `the saved base in ${file} cannot be read: ${messageOf(error)}`,
    );
  }
  return bytes;
}
