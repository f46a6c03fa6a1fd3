import type { BigIntStats } from "node:fs";
import type { Fork } from "../../runtime/ports.ts";
import { Beneath } from "./beneath.ts";
import type { Reader } from "./reader.ts";

/** What stands at a path. `target` of links, `mtime` in nanoseconds where it is known, `ino` in the shadow. */
export interface BaseState {
  readonly type: "file" | "symlink" | "directory" | "fifo" | "socket";
  readonly mode: number;
  readonly target: string;
  readonly mtime: bigint | undefined;
  readonly ino: bigint;
  /** Names of one inode have the same. */
  readonly link: string;
}

interface Place {
  readonly tree: Beneath;
  readonly at: string;
  readonly prefix: string;
  /** Of an overlay. */
  readonly isLower: boolean;
}

function typeOf(stat: BigIntStats): BaseState["type"] | undefined {
  if (stat.isFile()) return "file";
  if (stat.isDirectory()) return "directory";
  if (stat.isSymbolicLink()) return "symlink";
  if (stat.isFIFO()) return "fifo";
  return stat.isSocket() ? "socket" : undefined;
}

/**
 * The base that a shadow goes back to: below an overlay what its lower layer has now, since that shows through; of a
 * snapshot the frozen one; else what was cloned, without FIFOs and sockets.
 */
export class RestoredBase {
  readonly #reader: Reader;
  readonly #trees: readonly Omit<Place, "at">[];
  /** The manifest is a listing of the base itself, and not of a clone. */
  readonly #listed: boolean;

  constructor(reader: Reader, fork: Fork) {
    this.#reader = reader;
    this.#listed = fork.backend === "overlay" || fork.backend === "snapshot";
    this.#trees = [
      ...fork.overlays.map(({ at, lower }) => ({
        prefix: at === "." ? "" : `${at}/`,
        tree: new Beneath(lower),
        isLower: true,
      })),
      ...(fork.baseTree === undefined
        ? []
        : [{ prefix: "", tree: new Beneath(fork.baseTree), isLower: false }]),
    ];
  }

  /** Undefined when there is nothing, or nothing that is ever in a shadow. */
  state(relative: string): BaseState | undefined {
    const place = this.#place(relative);
    if (place === undefined) return this.#cloned(relative);
    const stat = place.tree.stat(place.at);
    const type = stat && typeOf(stat);
    if (stat === undefined || type === undefined) return undefined;
    return {
      type,
      mode: Number(stat.mode & 0o7777n),
      target: type === "symlink" ? (place.tree.readlink(place.at) ?? "") : "",
      mtime: stat.mtimeNs,
      ino: stat.ino,
      link: this.#isParted(place, relative)
        ? `base alone ${relative}`
        : `base ${place.prefix} ${stat.ino}`,
    };
  }

  #cloned(relative: string): BaseState | undefined {
    const entry = this.#reader.manifest.lookup(relative);
    if (entry === undefined || entry.absent || entry.type === "other") return undefined;
    const { type, mode, target = "", shadow } = entry;
    const mtime = entry.mtime === 0n ? undefined : entry.mtime; // of the top folder of an older manifest
    return { type, mode, target, mtime, ino: shadow.ino, link: `base ${shadow.ino}` };
  }

  /** Each name of a file that hides secrets is a file of its own in an overlay's upper layer, from the start. */
  #isParted(place: Place, relative: string): boolean {
    return place.isLower && this.#reader.masks.masked(relative) !== undefined;
  }

  /** Every path at which the base has the same inode as here, this one among them, as far as its manifest goes. */
  names(relative: string): readonly string[] {
    const place = this.#place(relative);
    if (place === undefined) {
      const { manifest } = this.#reader;
      const entry = manifest.lookup(relative);
      return entry?.linked === true ? manifest.namesOf(entry.shadow.ino, false) : [relative];
    }
    const isKnown = this.#listed && place.prefix === "" && !this.#isParted(place, relative);
    const stat = isKnown ? place.tree.stat(place.at) : undefined;
    if (stat === undefined || stat.isDirectory() || stat.nlink < 2n) return [relative];
    const names = this.#reader.manifest.namesOf(stat.ino, true);
    return names.includes(relative) ? names : [relative, ...names];
  }

  /** With its secrets hidden, as ever. */
  async content(relative: string): Promise<Uint8Array | undefined> {
    const place = this.#place(relative);
    if (place?.isLower !== true) return this.#reader.read("base", relative);
    return this.#reader.masks.masked(relative) ?? place.tree.read(place.at)?.bytes;
  }

  #place(relative: string): Place | undefined {
    const found = this.#trees.find(({ prefix }) => relative.startsWith(prefix));
    return found && { ...found, at: relative.slice(found.prefix.length) };
  }
}
