import { createHash } from "node:crypto";
import { readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/** Which side of the change set a view shows. */
export type View = "base" | "shadow";

/** A text and the hash that names it. */
export interface VersionedText {
  readonly text: string;
  readonly version: string;
}

/** What stands in the base at a path that the change set touches: where to read it, or nothing. */
export type BaseFile = { readonly at: string } | "absent";

interface CachedText extends VersionedText {
  readonly stamp: string;
}

/** What the base run saw at a path: the version that it read, or whether the path was there. */
type Seen = string | boolean;

/**
 * The files of the workspace as one side of the change set sees them. The shadow is the file system itself; the base is
 * the same with the base's content in the place of every changed path. What a base run saw is kept, so that it can be
 * told later whether the agent wrote into it while it ran ({@link baseHolds}).
 *
 * Stamps and listings are cached until {@link begin}; texts are kept as long as size, times and inode stay the same.
 */
export class ViewFiles {
  #view: View = "shadow";
  #changed: ReadonlyMap<string, BaseFile> = new Map();
  #baseDirectories: ReadonlyMap<string, ReadonlySet<string>> = new Map();
  readonly #texts = new Map<string, CachedText>();
  #baseSeen = new Map<string, Seen>();
  #knownAtBase: ReadonlyMap<string, BaseFile> = new Map();
  #stamps = new Map<string, string | undefined>();
  #listings = new Map<string, Listing | undefined>();
  #canonical = new Map<string, string>();

  /** Starts a generation: forgets what may have changed on disk. `changed` is keyed by absolute path. */
  begin(changed: ReadonlyMap<string, BaseFile>): void {
    this.#changed = changed;
    this.#baseDirectories = parentsOf(changed);
    this.#stamps = new Map();
    this.#listings = new Map();
    this.#canonical = new Map();
  }

  get view(): View {
    return this.#view;
  }

  show(view: View): void {
    this.#view = view;
  }

  /** The content, decoded like the compiler does it; undefined when there is no file. */
  read(path: string): VersionedText | undefined {
    const place = this.#place(path);
    const instead = this.#instead(place);
    const found =
      instead === "absent"
        ? undefined
        : instead === undefined
          ? this.#readAt(place)
          : this.#readAt(instead.at);
    if (this.#view === "base") this.#baseSeen.set(place, found?.version ?? false);
    return found;
  }

  fileExists(path: string): boolean {
    const place = this.#place(path);
    const instead = this.#instead(place);
    const there =
      instead === undefined
        ? this.#listing(dirname(place))?.files.has(basename(place)) === true
        : instead !== "absent";
    if (this.#view === "base" && !this.#baseSeen.has(place)) this.#baseSeen.set(place, there);
    return there;
  }

  directoryExists(path: string): boolean {
    const place = this.#place(path);
    if (this.#view === "base" && this.#baseDirectories.has(place)) return true;
    return (
      place === "/" || this.#listing(dirname(place))?.directories.has(basename(place)) === true
    );
  }

  /** Names of files and directories in a directory, sorted. */
  entries(path: string): { readonly files: string[]; readonly directories: string[] } {
    const place = this.#canonicalDirectory(path);
    const listing = this.#listing(place);
    const files = new Set(listing?.files);
    const directories = new Set(listing?.directories);
    if (this.#view === "base") {
      for (const name of this.#baseDirectories.get(place) ?? []) {
        const instead = this.#changed.get(join(place, name));
        if (instead === undefined) directories.add(name);
        else if (instead === "absent") files.delete(name);
        else files.add(name);
      }
      for (const [at, instead] of this.#changed) {
        if (instead === "absent" && dirname(at) === place) files.delete(basename(at));
      }
    }
    return { files: [...files].sort(), directories: [...directories].sort() };
  }

  realpath(path: string): string {
    try {
      return realpathSync(path);
    } catch (error) {
      if (isMissing(error)) return path;
      throw error;
    }
  }

  /** Starts base runs: what they see is kept from here. */
  beginBase(): void {
    this.#baseSeen = new Map();
    this.#knownAtBase = this.#changed;
  }

  /**
   * Says whether what the base runs since {@link beginBase} saw is the base indeed, for the changes known now. A deleted file
   * that no run read may have been gone before the listing, so it counts as not held.
   */
  baseHolds(): boolean {
    for (const [path, base] of this.#changed) {
      if (this.#knownAtBase.has(path)) continue;
      const seen = this.#baseSeen.get(path);
      if (base === "absent") {
        if (seen !== undefined && seen !== false) return false;
        continue;
      }
      if (seen === undefined) {
        if (this.#stamp(path) === undefined && /\.[cm]?[jt]sx?$/.test(path)) return false;
        continue;
      }
      if (seen === true) continue;
      if (seen === false || seen !== this.#readAt(base.at)?.version) return false;
    }
    return true;
  }

  #instead(place: string): BaseFile | undefined {
    return this.#view === "base" ? this.#changed.get(place) : undefined;
  }

  /** The path with its directory resolved: a changed file can be reached through a linked package. */
  #place(path: string): string {
    return join(this.#canonicalDirectory(dirname(path)), basename(path));
  }

  #canonicalDirectory(directory: string): string {
    const known = this.#canonical.get(directory);
    if (known !== undefined) return known;
    let result = directory;
    try {
      result = realpathSync(directory);
    } catch (error) {
      if (!isMissing(error)) throw error;
      const parent = dirname(directory);
      if (parent !== directory)
        result = join(this.#canonicalDirectory(parent), basename(directory));
    }
    this.#canonical.set(directory, result);
    return result;
  }

  #readAt(place: string): VersionedText | undefined {
    const stamp = this.#stamp(place);
    if (stamp === undefined) return undefined;
    const cached = this.#texts.get(place);
    if (cached?.stamp === stamp) return cached;
    const bytes = readOrMissing(place);
    if (bytes === undefined) return undefined;
    const text = decode(bytes);
    const version = createHash("sha256").update(bytes).digest("hex");
    const entry = { text, version, stamp };
    this.#texts.set(place, entry);
    return entry;
  }

  /** Size, times and inode of a regular file; ctime cannot be set back by the agent. */
  #stamp(place: string): string | undefined {
    if (this.#stamps.has(place)) return this.#stamps.get(place);
    const stat = statSync(place, { bigint: true, throwIfNoEntry: false });
    const stamp =
      stat?.isFile() === true
        ? `${stat.ino.toString()} ${stat.size.toString()} ${stat.mtimeNs.toString()} ${stat.ctimeNs.toString()}`
        : undefined;
    this.#stamps.set(place, stamp);
    return stamp;
  }

  #listing(directory: string): Listing | undefined {
    if (this.#listings.has(directory)) return this.#listings.get(directory);
    const listing = list(directory);
    this.#listings.set(directory, listing);
    return listing;
  }
}

interface Listing {
  readonly files: ReadonlySet<string>;
  readonly directories: ReadonlySet<string>;
}

function list(directory: string): Listing | undefined {
  const files = new Set<string>();
  const directories = new Set<string>();
  try {
    for (const entry of readdirSync(directory, { withFileTypes: true })) {
      const kind = entry.isSymbolicLink()
        ? statSync(join(directory, entry.name), { throwIfNoEntry: false })
        : entry;
      if (kind?.isFile() === true) files.add(entry.name);
      else if (kind?.isDirectory() === true) directories.add(entry.name);
    }
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
  return { files, directories };
}

/** Directory → the names in it that lead to base files, for every changed path that the base has. */
function parentsOf(
  changed: ReadonlyMap<string, BaseFile>,
): ReadonlyMap<string, ReadonlySet<string>> {
  const parents = new Map<string, Set<string>>();
  for (const [path, base] of changed) {
    if (base === "absent") continue;
    for (let at = path; dirname(at) !== at; at = dirname(at)) {
      const directory = dirname(at);
      const names = parents.get(directory) ?? new Set();
      if (names.has(basename(at))) break;
      parents.set(directory, names.add(basename(at)));
    }
  }
  return parents;
}

function readOrMissing(place: string): Buffer | undefined {
  try {
    return readFileSync(place);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function decode(bytes: Buffer): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return bytes.toString("utf16le", 2);
  if (bytes[0] === 0xfe && bytes[1] === 0xff) {
    return Buffer.from(bytes.subarray(2, bytes.length - (bytes.length % 2)))
      .swap16()
      .toString("utf16le");
  }
  const start = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
  return bytes.toString("utf8", start);
}

const missingCodes = new Set(["ENOENT", "ENOTDIR", "EACCES", "ELOOP", "EISDIR"]);

/** Paths that cannot be followed read as absent, as they do for the compiler. */
function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && missingCodes.has(String(error.code));
}
