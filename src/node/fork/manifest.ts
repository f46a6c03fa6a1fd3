import { closeSync, openSync, readFileSync, readSync, statSync } from "node:fs";
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

/** The base at the fork, looked up by path. */
export class Manifest {
  readonly #bytes: Buffer;
  readonly #count: number;
  readonly #names: number;

  private constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.#count = Number(bytes.readBigUInt64LE(8));
    this.#names = headerBytes + this.#count * recordBytes;
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
    const bytes = readManifest(file);
    if (
      bytes.length < headerBytes + recordBytes ||
      bytes.toString("latin1", 0, 8) !== magic ||
      Number(bytes.readBigUInt64LE(8)) * recordBytes + headerBytes > bytes.length
    ) {
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
    return this.#bytes.readBigInt64LE(40);
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
    const at = this.#at(entry.index);
    const first = this.#bytes.readUInt32LE(at + 16);
    const count = this.#bytes.readUInt32LE(at + 20);
    return Array.from({ length: count }, (_, i) => decodePath(this.#name(first + i)));
  }

  /** Every path with this name, in order of depth. Cheap: compares bytes only. */
  named(name: string): readonly string[] {
    const wanted = encodePath(name);
    const found: string[] = [];
    for (let index = 1; index < this.#count; index++) {
      const at = this.#at(index);
      if (this.#bytes.readUInt32LE(at + 8) === wanted.length && this.#name(index).equals(wanted))
        found.push(this.#path(index));
    }
    return found;
  }

  /** Regular files that may hold secrets, with the other paths of each one's inode. */
  suspects(): readonly {
    readonly path: string;
    readonly size: number;
    readonly links: readonly string[];
  }[] {
    const found: number[] = [];
    const byInode = new Map<bigint, number[]>();
    for (let index = 1; index < this.#count; index++) {
      const flags = this.#bytes[this.#at(index) + 29] ?? 0;
      if ((flags & flag.linked) !== 0) {
        const inode = this.#bytes.readBigUInt64LE(this.#at(index) + 72);
        byInode.set(inode, [...(byInode.get(inode) ?? []), index]);
      }
      if ((flags & flag.suspect) !== 0 && (flags & flag.absent) === 0) found.push(index);
    }
    const taken = new Set<number>();
    return found.flatMap((index) => {
      if (taken.has(index)) return [];
      const { size, shadow } = this.#entry(index);
      const same = (byInode.get(shadow.ino) ?? []).filter((one) => one !== index);
      for (const one of same) taken.add(one);
      return [{ path: this.#path(index), size, links: same.map((one) => this.#path(one)) }];
    });
  }

  /** Every entry but the root, parents first. */
  *entries(): Generator<{ readonly path: string; readonly entry: ManifestEntry }> {
    for (let index = 1; index < this.#count; index++)
      yield { path: this.#path(index), entry: this.#entry(index) };
  }

  #at(index: number): number {
    return headerBytes + index * recordBytes;
  }

  #name(index: number): Buffer {
    const at = this.#at(index);
    const start = this.#names + Number(this.#bytes.readBigUInt64LE(at));
    return this.#bytes.subarray(start, start + this.#bytes.readUInt32LE(at + 8));
  }

  #path(index: number): string {
    const parts: string[] = [];
    for (let at = index; at !== 0; at = this.#bytes.readUInt32LE(this.#at(at) + 12))
      parts.unshift(decodePath(this.#name(at)));
    return parts.join("/");
  }

  /** Binary search among the sorted children. */
  #child(parent: number, name: Buffer): number | undefined {
    const at = this.#at(parent);
    let low = this.#bytes.readUInt32LE(at + 16);
    let high = low + this.#bytes.readUInt32LE(at + 20);
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
    const bytes = this.#bytes;
    const at = this.#at(index);
    const flags = bytes[at + 29] ?? 0;
    const type = types[String.fromCharCode(bytes[at + 28] ?? 0)] ?? "other";
    const size = Number(bytes.readBigUInt64LE(at + 32));
    const offset = Number(bytes.readBigUInt64LE(at + 96));
    const link = this.#names + offset;
    return {
      index,
      type,
      mode: bytes.readUInt32LE(at + 24),
      size,
      mtime: bytes.readBigInt64LE(at + 40),
      host: { ino: bytes.readBigUInt64LE(at + 48), ctime: bytes.readBigInt64LE(at + 56) },
      shadow: {
        ino: bytes.readBigUInt64LE(at + 72),
        ctime: bytes.readBigInt64LE(at + 80),
        btime: bytes.readBigInt64LE(at + 88),
      },
      ...((flags & flag.saved) !== 0 && { saved: { pack: bytes.readUInt16LE(at + 30), offset } }),
      ...(type === "symlink" && { target: decodePath(bytes.subarray(link, link + size)) }),
      mount: (flags & flag.mount) !== 0,
      absent: (flags & flag.absent) !== 0,
      earlier: type === "file" && bytes.readBigUInt64LE(at + 104) === lookedEarlier,
    };
  }
}

/** A process works on one fork: the scan, savepoints and review share what they have of it. */
let lastOpened: { readonly identity: string; readonly manifest: WeakRef<Manifest> } | undefined;

function identityOf(file: string): string {
  const stat = statSync(file, { bigint: true, throwIfNoEntry: false });
  return stat === undefined ? file : [file, stat.ino, stat.size, stat.mtimeNs].join("\0");
}

function readManifest(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    const fix = "the transaction's state was moved or deleted; `holdfast gc` clears it away";
    throw new Failure("failed", "manifest-missing", messageOf(error), fix, error);
  }
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
