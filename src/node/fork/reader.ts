import path from "node:path";
import { Failure } from "../../base/errors.ts";
import { textLimit } from "../../core/change/lines.ts";
import type {
  Fork,
  ForkReader,
  ForkSide,
  ForkStat,
  TransactionPaths,
} from "../../runtime/ports.ts";
import { Beneath } from "./beneath.ts";
import { Manifest, readPack, type ManifestEntry } from "./manifest.ts";
import { OverlayView, type Tree } from "./overlayView.ts";
import { SecretMasks } from "./secretMasks.ts";
import { createReadStream, type BigIntStats } from "node:fs";

const noBytes = Buffer.alloc(0);
const none: ReadonlySet<string> = new Set();

/**
 * The base of a file is its saved copy; where none was saved (large files on a filesystem without shared blocks), the
 * host's file while inode, size, mtime and ctime are those of the fork; else the shadow's while it is untouched.
 */
export class Reader implements ForkReader {
  readonly #fork: Fork;
  readonly #paths: TransactionPaths;
  readonly #shadow: Beneath;
  readonly #host: Beneath;
  readonly #overlays: readonly {
    readonly prefix: string;
    readonly view: Tree;
    readonly lower: Beneath;
  }[];
  /** By the prefix of an overlay: its directories, relative to it, whose lower entries do not show through. */
  readonly #opaque = new Map<string, ReadonlySet<string>>();
  #loaded: Manifest | undefined;
  #loadedMasks: SecretMasks | undefined;

  constructor(fork: Fork, workspace: string, paths: TransactionPaths) {
    this.#fork = fork;
    this.#paths = paths;
    this.#shadow = new Beneath(fork.shadow);
    this.#host = new Beneath(fork.baseTree ?? workspace);
    this.#overlays = fork.overlays.map(({ at, lower, upper }) => {
      const prefix = at === "." ? "" : `${at}/`;
      const low = new Beneath(lower);
      const view = new OverlayView(low, new Beneath(upper), () => this.#opaque.get(prefix) ?? none);
      return { prefix, view, lower: low };
    });
  }

  /** Directories (relative to the workspace) that the last scan found opaque in an overlay. */
  scanned(opaque: ReadonlySet<string>): void {
    for (const { prefix } of this.#overlays) {
      const inside = [...opaque].filter((one) => `${one}/`.startsWith(prefix));
      this.#opaque.set(prefix, new Set(inside.map((one) => one.slice(prefix.length))));
    }
  }

  get manifest(): Manifest {
    return (this.#loaded ??= Manifest.open(this.#fork.manifest));
  }

  get masks(): SecretMasks {
    return (this.#loadedMasks ??= SecretMasks.open(this.#paths.state));
  }

  stat(side: ForkSide, relative: string): Promise<ForkStat | undefined> {
    return attempt(() => (side === "base" ? this.#baseStat(relative) : this.#shadowStat(relative)));
  }

  read(side: ForkSide, relative: string): Promise<Uint8Array | undefined> {
    return attempt(() =>
      side === "base"
        ? this.readBase(relative)
        : this.#inShadow((tree, at) => tree.read(at), relative)?.bytes,
    );
  }

  pieces(side: ForkSide, relative: string): Promise<AsyncIterable<Uint8Array> | undefined> {
    return attempt(() => {
      if (side === "shadow") return this.#inShadow((tree, at) => tree.pieces(at), relative);
      const large = this.#largeBase(relative);
      if (large !== undefined) return large;
      const bytes = this.readBase(relative);
      return bytes === undefined ? undefined : oneByOne(bytes);
    });
  }

  /** The base of a file too large for memory, from wherever it still is; undefined for any other. */
  #largeBase(relative: string): AsyncIterable<Uint8Array> | undefined {
    const below = this.#lowerOf(relative);
    if (below !== undefined) return below.lower.pieces(below.at);
    const entry = this.#lookup(relative);
    if (entry?.type !== "file" || entry.absent || entry.size <= textLimit) return undefined;
    if (entry.saved !== undefined) {
      const { pack, offset } = entry.saved;
      const part = { start: offset, end: offset + entry.size - 1, highWaterMark: 1 << 20 };
      const file = path.join(this.#paths.base, `pack.${pack}`);
      return createReadStream(file, part) as AsyncIterable<Uint8Array>;
    }
    const host = this.#host.stat(relative);
    if (host !== undefined && isHostUnchanged(entry, host)) return this.#host.pieces(relative);
    const shadow = this.#shadow.stat(relative);
    return shadow !== undefined && isUntouched(entry, shadow)
      ? this.#shadow.pieces(relative)
      : undefined;
  }

  list(side: ForkSide, relative: string): Promise<readonly string[] | undefined> {
    return attempt(() =>
      side === "base"
        ? this.#baseList(relative)
        : this.#inShadow((tree, at) => tree.list(at), relative),
    );
  }

  unmask(relative: string, bytes: Uint8Array, from?: string): Promise<Uint8Array> {
    return attempt(() => this.masks.unmask(relative, bytes, from));
  }

  /** What the manifest has at a path. Attributes of an earlier listing count as far as the file has not changed since the fork
   * began; they are those that it has now. */
  #lookup(relative: string): ManifestEntry | undefined {
    const entry = this.manifest.lookup(relative);
    if (entry?.earlier !== true) return entry;
    const now = this.#host.stat(relative);
    const isSame =
      now?.isFile() === true && now.ino === entry.host.ino && now.ctimeNs < this.manifest.begun;
    if (!isSame) return entry;
    const at = { ino: now.ino, ctime: now.ctimeNs };
    return {
      ...entry,
      earlier: false,
      mode: Number(now.mode & 0o7777n),
      size: Number(now.size),
      mtime: now.mtimeNs,
      host: at,
      shadow: { ...entry.shadow, ...at },
    };
  }

  /** The base as the agent sees it. */
  readBase(relative: string): Buffer | undefined {
    return this.masks.masked(relative) ?? this.readRealBase(relative);
  }

  /** The tree in which a path of the shadow stands, and the path in it. */
  #inShadow<T>(use: (tree: Tree, at: string) => T, relative: string): T {
    const overlay = this.#overlays.find(
      ({ prefix }) => relative.startsWith(prefix) || `${relative}/` === prefix,
    );
    return overlay === undefined
      ? use(this.#shadow, relative)
      : use(overlay.view, relative.slice(overlay.prefix.length));
  }

  /** The lower directory that stands for the base of a path inside a heavy directory. */
  #lowerOf(relative: string): { readonly lower: Beneath; readonly at: string } | undefined {
    const overlay = this.#overlays.find(
      ({ prefix }) => prefix !== "" && (relative.startsWith(prefix) || `${relative}/` === prefix),
    );
    return overlay && { lower: overlay.lower, at: relative.slice(overlay.prefix.length) };
  }

  #baseList(relative: string): readonly string[] | undefined {
    const below = this.#lowerOf(relative);
    return below === undefined ? this.manifest.list(relative) : below.lower.list(below.at);
  }

  #baseStat(relative: string): ForkStat | undefined {
    const below = this.#lowerOf(relative);
    const stat =
      below === undefined ? baseStat(this.#lookup(relative)) : statOf(below.lower, below.at);
    const masked = stat?.type === "file" ? this.masks.masked(relative) : undefined;
    return stat?.type === "file" && masked !== undefined ? { ...stat, size: masked.length } : stat;
  }

  /** When names in the nearest directory of the shadow above a path last changed, milliseconds since 1970. */
  namesChangedMs(relative: string): number | undefined {
    const above = relative.slice(0, Math.max(0, relative.lastIndexOf("/")));
    const stat = this.#inShadow((tree, at) => tree.stat(at), above);
    if (stat?.isDirectory() === true) return Number(stat.ctimeNs / 1_000_000n);
    return above === "" ? undefined : this.namesChangedMs(above);
  }

  #shadowStat(relative: string): ForkStat | undefined {
    return this.#inShadow((tree, at) => statOf(tree, at), relative);
  }

  /** Of a path in an overlay it is the lower layer that counts, since it shows through. */
  baseHasDirectory(relative: string): boolean {
    const overlay = this.#overlays.find(({ prefix }) => relative.startsWith(prefix));
    if (overlay === undefined) return this.manifest.lookup(relative)?.type === "directory";
    return overlay.lower.stat(relative.slice(overlay.prefix.length))?.isDirectory() === true;
  }

  /** The base with its secrets: for masking only. */
  readRealBase(relative: string): Buffer | undefined {
    const below = this.#lowerOf(relative);
    if (below !== undefined) return below.lower.read(below.at)?.bytes;
    const entry = this.#lookup(relative);
    if (entry?.type !== "file" || entry.absent) return undefined;
    if (entry.size === 0 && !entry.earlier) return noBytes;
    if (entry.saved !== undefined) return readPack(this.#paths.base, entry.saved, entry.size);
    const host = this.#host.read(relative);
    if (host !== undefined && isHostUnchanged(entry, host.stat)) return host.bytes;
    const shadow = this.#shadow.read(relative);
    if (shadow !== undefined && isUntouched(entry, shadow.stat)) return shadow.bytes;
    const isOverlaid = this.#fork.overlays.some(({ at }) => at === ".");
    const why = isOverlaid ? "it, and an overlay keeps no copy" : "a file too large to be saved";
    throw new Failure(
      "failed",
      "base-lost",
      `the base of ${JSON.stringify(path.basename(relative))} is gone: both sides changed ${why}`,
      "compare the two versions by hand",
    );
  }

  /** What the workspace has now. */
  readHost(relative: string): Buffer | undefined {
    return this.#host.read(relative)?.bytes;
  }
}

/** A synchronous answer as a promise, so that what it throws rejects. */
function attempt<T>(answer: () => T): Promise<T> {
  return new Promise((resolve) => resolve(answer()));
}

async function* oneByOne(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(bytes);
}

function statOf(tree: Tree, at: string): ForkStat | undefined {
  const stat = tree.stat(at);
  if (stat === undefined) return undefined;
  const mode = Number(stat.mode & 0o7777n);
  if (stat.isFile()) return { type: "file", mode, size: Number(stat.size) };
  if (stat.isDirectory()) return { type: "directory", mode };
  if (!stat.isSymbolicLink()) return { type: "other", mode };
  const target = tree.readlink(at);
  return target === undefined ? undefined : { type: "symlink", mode, target };
}

function baseStat(entry: ManifestEntry | undefined): ForkStat | undefined {
  if (entry === undefined) return undefined;
  const { mode, size } = entry;
  if (entry.absent || entry.type === "other") return { type: "other", mode };
  if (entry.type === "file") return { type: "file", mode, size };
  if (entry.type === "directory") return { type: "directory", mode };
  return { type: "symlink", mode, target: entry.target ?? "" };
}

function isHostUnchanged(entry: ManifestEntry, stat: BigIntStats): boolean {
  return (
    stat.ino === entry.host.ino &&
    stat.size === BigInt(entry.size) &&
    stat.mtimeNs === entry.mtime &&
    stat.ctimeNs === entry.host.ctime
  );
}

function isUntouched(entry: ManifestEntry, stat: BigIntStats): boolean {
  return (
    stat.ino === entry.shadow.ino &&
    stat.size === BigInt(entry.size) &&
    stat.ctimeNs === entry.shadow.ctime
  );
}
