import type { MountedShadow } from "./mountedShadow.ts";
import type { BaseState, RestoredBase } from "./restoredBase.ts";
import type { Saved } from "./savepointFile.ts";

/** What a savepoint has at a path. `blob`: a content that it has kept, else the base's is meant. */
export interface HeldState extends Omit<BaseState, "type"> {
  readonly type: BaseState["type"] | "other";
  readonly blob?: string;
}

/** A savepoint and the base that it differs from, as one tree. */
class HeldTree {
  readonly saved: Saved;
  readonly #base: RestoredBase;
  readonly #known = new Map<string, HeldState | undefined>();

  constructor(saved: Saved, base: RestoredBase) {
    this.saved = saved;
    this.#base = base;
  }

  state(one: string): HeldState | undefined {
    if (!this.#known.has(one)) this.#known.set(one, this.#look(one));
    return this.#known.get(one);
  }

  #look(one: string): HeldState | undefined {
    const told = this.saved.differences.get(one);
    if (told === undefined) return this.#base.state(one);
    if (told.is === "absent") return undefined;
    const mtime = told.mtime === undefined ? undefined : BigInt(told.mtime);
    const stamp = "stamp" in told ? told.stamp : undefined;
    const ino = BigInt(stamp?.split(".")[0] ?? 0);
    if (told.is === "same") {
      const base = this.#base.state(one);
      return base && { ...base, mtime, ...(stamp !== undefined && { ino, link: stamp }) };
    }
    const link = stamp ?? `alone ${one}`;
    const found = { mode: 0o777, target: "", mtime, ino, link };
    if (told.is === "symlink") return { ...found, type: told.is, target: told.target };
    const { is: type, mode } = told;
    return told.is === "file"
      ? { ...found, type, mode, blob: told.blob }
      : { ...found, type, mode };
  }

  /** By what names of one inode have in common: those of these paths that have it. */
  groups(paths: readonly string[]): ReadonlyMap<string, readonly string[]> {
    const groups = new Map<string, string[]>();
    for (const one of paths) {
      const state = this.state(one);
      if (!canBeLinked(state)) continue;
      const known = groups.get(state.link);
      if (known === undefined) groups.set(state.link, [one]);
      else known.push(one);
    }
    return groups;
  }
}

function canBeLinked(state: HeldState | undefined): state is HeldState {
  return state?.type === "file" || state?.type === "symlink";
}

function isAlike(a: HeldState | undefined, b: HeldState | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  const isLink = a.type === "symlink";
  return (
    a.type === b.type && (isLink || a.mode === b.mode) && a.target === b.target && a.blob === b.blob
  );
}

/** The directories that a path lies in, the nearest first; the top one is "". */
function directoriesAbove(one: string): readonly string[] {
  const parts = one.split("/");
  return parts.map((_, i) => parts.slice(0, parts.length - 1 - i).join("/"));
}

/**
 * What is to be done to bring the state `before`, which a shadow has now, back to `target`; paths in order, parents first.
 *
 * Names of one inode stay so and become so again. An inode that stands in the shadow already, with the right content, gets the
 * names that it lacks when it is the very one that `before` tells of; else all its names are written anew. No inode serves two groups of
 * names, and a name that is to leave an inode is written anew: so nothing is put into a file that others have.
 */
export class RestorePlan {
  readonly target: HeldTree;
  /** What is in the way, or is to be gone. */
  readonly gone: readonly string[];
  /** What is to be made. */
  readonly made: readonly string[];
  /** Of what is to be made: the path, there by then, whose inode it gets. */
  readonly links = new Map<string, string>();
  /** The times that are to be set at the end, in nanoseconds. */
  readonly times: ReadonlyMap<string, bigint>;
  readonly #before: HeldTree;
  readonly #shadow: MountedShadow;

  constructor(from: {
    readonly before: Saved;
    readonly target: Saved;
    readonly base: RestoredBase;
    readonly shadow: MountedShadow;
    /** Whether a path is brought back at all. */
    readonly inPlace: (one: string) => boolean;
  }) {
    const { base, inPlace } = from;
    this.#before = new HeldTree(from.before, base);
    this.target = new HeldTree(from.target, base);
    this.#shadow = from.shadow;
    const told = [...from.before.differences.keys(), ...from.target.differences.keys()];
    const paths = [...new Set(told.flatMap((one) => [one, ...base.names(one)]))]
      .filter(inPlace)
      .sort();
    const made = this.#makeGroups(paths);
    for (const one of paths) if (this.#isMadeAlone(one)) made.add(one);
    this.made = paths.filter((one) => made.has(one));
    this.gone = paths.filter((one) => this.#isGone(one));
    this.times = this.#timesOf(paths);
  }

  /** Files and links that are to be made. */
  #makeGroups(paths: readonly string[]): Set<string> {
    const made = new Set<string>();
    const before = this.#before.groups(paths);
    const taken = new Set<string>();
    for (const group of this.target.groups(paths).values()) {
      const names = group.join("\0");
      const stands = group.filter((one) =>
        isAlike(this.#before.state(one), this.target.state(one)),
      );
      const linksNow = (one: string): readonly string[] =>
        before.get(this.#before.state(one)?.link ?? "") ?? [];
      const isWhole =
        stands.length === group.length && group.every((one) => linksNow(one).join("\0") === names);
      if (isWhole) continue;
      const kept = stands.find((one) => {
        const link = this.#before.state(one)?.link ?? "";
        return !taken.has(link) && this.#isThere(one);
      });
      const link = kept && this.#before.state(kept)?.link;
      if (link !== undefined) taken.add(link);
      const first = kept ?? group[0] ?? "";
      for (const one of group) {
        if (link !== undefined && this.#before.state(one)?.link === link) continue;
        made.add(one);
        if (one !== first) this.links.set(one, first);
      }
    }
    return made;
  }

  /** What stands there is the inode that was told of, and not one that has got its number. */
  #isThere(one: string): boolean {
    const { tree, at } = this.#shadow.place(one);
    const stat = tree.stat(at);
    return stat !== undefined && !stat.isDirectory() && stat.ino === this.#before.state(one)?.ino;
  }

  #isMadeAlone(one: string): boolean {
    const state = this.target.state(one);
    if (state === undefined || state.type === "other" || canBeLinked(state)) return false;
    return !isAlike(this.#before.state(one), state);
  }

  /** What a savepoint does not tell of, since none did then, is left alone. */
  #isGone(one: string): boolean {
    const now = this.#before.state(one);
    if (this.target.state(one) !== undefined || now === undefined) return false;
    return this.target.saved.exact || ["file", "symlink", "directory"].includes(now.type);
  }

  #timesOf(paths: readonly string[]): ReadonlyMap<string, bigint> {
    const times = new Map<string, bigint>();
    const add = (one: string): void => {
      const mtime = this.target.state(one)?.mtime;
      if (mtime !== undefined) times.set(one, mtime);
    };
    const { exact } = this.target.saved;
    const written = new Set([...this.made, ...this.gone]);
    for (const one of paths) {
      const isSame = this.#before.state(one)?.mtime === this.target.state(one)?.mtime;
      if (written.has(one) || (exact && !isSame)) add(one);
    }
    if (!exact) return times;
    for (const one of written) for (const above of directoriesAbove(one)) add(above);
    return times;
  }
}
