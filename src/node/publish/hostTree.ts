import { createHash } from "node:crypto";
import {
  closeSync,
  constants,
  createReadStream,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  readlinkSync,
  type BigIntStats,
} from "node:fs";
import type { FileState } from "../../core/change/changeSet.ts";
import type { Standing } from "../../runtime/commit/publishPort.ts";
import { Beneath } from "../fork/beneath.ts";
import { decodePath, encodePath } from "../fork/pathBytes.ts";

/** What `fstat` says of a thing, in the form that native/src/publish.h compares; of a directory without size and times. */
export function identityOf(stat: BigIntStats): string {
  const times = stat.isDirectory() ? "0:0/0" : `${stat.size}:${stat.mtimeNs}/${stat.ctimeNs}`;
  return `${stat.dev}:${stat.ino}:${stat.mode.toString(8)}:${times}`;
}

/** Linux: names a place without opening what is there. Node has no constant for it. */
const openAsPlace = 0o10000000;
const openToRead = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

const absentCodes: ReadonlySet<string> = new Set(["ENOENT", "ENOTDIR", "ELOOP", "ENXIO"]);

function isAbsent(error: unknown): boolean {
  return absentCodes.has((error as NodeJS.ErrnoException).code ?? "");
}

/** How often a file that is being written is read again. */
const rereads = 5;

/**
 * The workspace as it is now, read beneath its root without following links. The directory that was last looked into
 * stays open for the rest of this turn of the event loop: neighbours are read one after the other.
 */
export class HostTree {
  readonly #root: string;
  readonly #beneath: Beneath;
  readonly #memoryLimit: number;
  #parent: { readonly path: string; readonly fd: number } | undefined;
  /** Directories as they were when something in them was first looked at. */
  readonly #looked = new Map<string, string>();

  /** Files above `memoryLimit` bytes are hashed in pieces and come without their bytes. */
  constructor(root: string, memoryLimit: number) {
    this.#root = root;
    this.#beneath = new Beneath(root);
    this.#memoryLimit = memoryLimit;
  }

  stat(path: string): BigIntStats | undefined {
    return this.#beneath.stat(path);
  }

  list(path: string): readonly string[] | undefined {
    return this.#beneath.list(path);
  }

  /** From now on {@link directoryIdentity} tells of looks that come. */
  forgetDirectories(): void {
    this.#forget();
    this.#looked.clear();
  }

  /** Identity of a directory as it was when something in it was first looked at, else as it is now; empty for none. */
  directoryIdentity(path: string): string {
    const looked = this.#looked.get(path);
    if (looked !== undefined) return looked;
    const fd = this.#openDirectory(path);
    if (fd === undefined) return "";
    try {
      return identityOf(fstatSync(fd, { bigint: true }));
    } finally {
      closeSync(fd);
    }
  }

  /** Closes what is open; the next look resolves its path anew. */
  #forget(): void {
    const parent = this.#parent;
    this.#parent = undefined;
    try {
      if (parent !== undefined) closeSync(parent.fd);
    } catch {
      // Nothing was written through it, so there is nothing to lose; and in a turn of its own there is nobody to tell.
    }
  }

  /** Undefined when nothing stands there. What is no file, link or directory reads as a link to nothing. */
  async look(path: string): Promise<Standing | undefined> {
    for (let attempt = 0; ; attempt++) {
      const place = this.#placeOf(path);
      const found = place === undefined ? undefined : this.#lookAt(place);
      if (found === undefined) return undefined;
      const standing =
        typeof found !== "string" && "large" in found ? await this.#hashLarge(found.large) : found;
      if (standing !== "changing") return standing;
      if (attempt === rereads) throw new Error(`${path} changes faster than it can be read`);
    }
  }

  /** A name of the last component that leads through the opened parent directory. */
  #placeOf(path: string): string | Buffer | undefined {
    const slash = path.lastIndexOf("/");
    const parent = slash === -1 ? "" : path.slice(0, slash);
    if (this.#parent?.path !== parent) {
      if (this.#parent === undefined) setImmediate(() => this.#forget());
      else this.#forget();
      const fd = this.#openDirectory(parent);
      if (fd === undefined) return undefined;
      this.#parent = { path: parent, fd };
      if (!this.#looked.has(parent))
        this.#looked.set(parent, identityOf(fstatSync(fd, { bigint: true })));
    }
    return inside(this.#parent.fd, path.slice(slash + 1));
  }

  #openDirectory(path: string): number | undefined {
    let at = openSync(this.#root, openAsPlace | constants.O_DIRECTORY);
    const flags = openAsPlace | constants.O_DIRECTORY | constants.O_NOFOLLOW;
    for (const part of path === "" ? [] : path.split("/")) {
      const above = at;
      try {
        at = openSync(inside(above, part), flags);
      } catch (error) {
        if (isAbsent(error)) return undefined;
        throw error;
      } finally {
        closeSync(above);
      }
    }
    return at;
  }

  #lookAt(
    place: string | Buffer,
  ): Standing | "changing" | { readonly large: string | Buffer } | undefined {
    let fd: number;
    try {
      fd = openSync(place, openToRead);
    } catch (error) {
      return this.#lookUnopened(place, error);
    }
    try {
      const stat = fstatSync(fd, { bigint: true });
      if (!stat.isFile()) return stateOfOther(stat, "");
      if (stat.size > BigInt(this.#memoryLimit)) return { large: place };
      const bytes = readFileSync(fd);
      if (BigInt(bytes.length) !== stat.size) return "changing";
      const sha256 = createHash("sha256").update(bytes).digest("hex");
      const mode = Number(stat.mode & 0o777n);
      const state: FileState = { type: "file", mode, size: bytes.length, sha256 };
      return { state, bytes, identity: identityOf(stat) };
    } finally {
      closeSync(fd);
    }
  }

  /** A link, something that cannot be opened (a socket), or nothing. */
  #lookUnopened(place: string | Buffer, problem: unknown): Standing | "changing" | undefined {
    try {
      const stat = lstatSync(place, { bigint: true });
      if (stat.isFile()) {
        if (isAbsent(problem)) return "changing";
        throw problem;
      }
      const target = stat.isSymbolicLink()
        ? decodePath(readlinkSync(place, { encoding: "buffer" }))
        : "";
      return stateOfOther(stat, target);
    } catch (error) {
      if (isAbsent(error)) return undefined;
      throw error;
    }
  }

  async #hashLarge(place: string | Buffer): Promise<Standing | "changing"> {
    const fd = openSync(place, openToRead);
    try {
      const before = fstatSync(fd, { bigint: true });
      const hash = createHash("sha256");
      const options = { fd, autoClose: false, start: 0, highWaterMark: 1 << 20 };
      let size = 0;
      for await (const piece of createReadStream("", options) as AsyncIterable<Buffer>) {
        hash.update(piece);
        size += piece.length;
      }
      const identity = identityOf(before);
      if (identityOf(fstatSync(fd, { bigint: true })) !== identity) return "changing";
      const mode = Number(before.mode & 0o777n);
      return { state: { type: "file", mode, size, sha256: hash.digest("hex") }, identity };
    } finally {
      closeSync(fd);
    }
  }
}

function stateOfOther(stat: BigIntStats, target: string): Standing {
  const identity = identityOf(stat);
  return stat.isDirectory()
    ? { state: { type: "directory", mode: Number(stat.mode & 0o777n) }, identity }
    : { state: { type: "symlink", target }, identity };
}

const loneSurrogate = /[\uD800-\uDFFF]/u;

function inside(parent: number, name: string): string | Buffer {
  const directory = `/proc/self/fd/${parent}/`;
  return loneSurrogate.test(name)
    ? Buffer.concat([Buffer.from(directory), encodePath(name)])
    : `${directory}${name}`;
}
