import {
  chmodSync,
  closeSync,
  constants,
  createReadStream,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  type BigIntStats,
} from "node:fs";
import { decodePath, encodePath } from "./pathBytes.ts";

/** Linux: names a place without opening what is there. Node has no constant for it. */
const openAsPlace = 0o10000000;

const absentCodes: ReadonlySet<string> = new Set(["ENOENT", "ENOTDIR", "ELOOP", "ENXIO"]);

function isAbsent(error: unknown): boolean {
  return absentCodes.has((error as NodeJS.ErrnoException).code ?? "");
}

/**
 * Reads below a directory that somebody untrusted has written: no symbolic link is followed in any component and `..`
 * is refused. Each component is opened from the descriptor of the one before (what `openat2` with
 * `RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS` does), so that a rename meanwhile leads nowhere else. Paths are relative,
 * decoded by pathBytes.ts.
 */
export class Beneath {
  readonly #root: string;
  readonly #held: HeldFolders | undefined;

  /** `held`: for many paths in order, in a tree that stands still; see {@link HeldFolders}. */
  constructor(root: string, held?: "held") {
    this.#root = root;
    this.#held = held === undefined ? undefined : new HeldFolders(root);
  }

  /** Lets go of what is held. */
  close(): void {
    this.#held?.close();
  }

  /** Undefined when nothing is there. */
  stat(path: string): BigIntStats | undefined {
    return this.#at(path, (place) => lstatSync(place, { bigint: true }));
  }

  /** Target of a symbolic link, verbatim; undefined when it is none. */
  readlink(path: string): string | undefined {
    return this.#at(path, (place) => decodePath(readlinkSync(place, { encoding: "buffer" })));
  }

  /** Whole content of a regular file, with what `fstat` said of the very descriptor that was read. */
  read(path: string): { readonly bytes: Buffer; readonly stat: BigIntStats } | undefined {
    return this.#at(path, (place) => {
      const fd = this.#openFile(place);
      if (fd === undefined) return undefined;
      try {
        const stat = fstatSync(fd, { bigint: true });
        return { bytes: readFileSync(fd), stat };
      } finally {
        closeSync(fd);
      }
    });
  }

  /** The content in pieces; undefined when there is no regular file. */
  pieces(path: string): AsyncIterable<Uint8Array> | undefined {
    const fd = this.#at(path, (place) => this.#openFile(place));
    return fd === undefined
      ? undefined
      : (createReadStream("", { fd, highWaterMark: 1 << 20 }) as AsyncIterable<Uint8Array>);
  }

  /** Names in a directory, sorted by bytes; undefined when there is none. */
  list(path: string): readonly string[] | undefined {
    return this.#at(path, (place) => {
      if (!lstatSync(place).isDirectory()) return undefined;
      const fd = openSync(place, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
      try {
        const names = readdirSync(descriptorPath(fd, place), { encoding: "buffer" });
        return names.sort((a, b) => Buffer.compare(a, b)).map((name) => decodePath(name));
      } finally {
        closeSync(fd);
      }
    });
  }

  /** Lets us, the owner, into a directory whose mode shuts its owner out. False when there is no directory. */
  unlock(path: string): boolean {
    const done = this.#at(path, (place) => {
      const fd = openSync(place, openAsPlace | constants.O_DIRECTORY | constants.O_NOFOLLOW);
      try {
        chmodSync(`/proc/self/fd/${fd}`, (fstatSync(fd).mode & 0o7777) | 0o700);
        return true;
      } finally {
        closeSync(fd);
      }
    });
    return done === true;
  }

  /** O_NONBLOCK: a FIFO must not hang us. */
  #openFile(place: Buffer): number | undefined {
    const fd = openReadable(place);
    if (fstatSync(fd).isFile()) return fd;
    closeSync(fd);
    return undefined;
  }

  /** Calls `use` with a name of the last component that leads through the opened parent. */
  #at<T>(path: string, use: (place: Buffer) => T | undefined): T | undefined {
    const parts = path === "" ? [] : path.split("/");
    if (parts.some((part) => part === "" || part === "." || part === ".." || part.includes("\0")))
      throw new Error(`not a path below a root: ${JSON.stringify(path)}`);
    const last = parts.pop();
    let parent: number | undefined;
    let held: number | undefined;
    try {
      const known = this.#held?.reach(parts);
      held = known?.fd;
      parent = held ?? openSync(this.#root, openAsPlace | constants.O_DIRECTORY);
      for (const part of parts.slice(known?.count ?? 0)) {
        const next = openFolder(parent, part);
        if (parent !== held) closeSync(parent);
        parent = next;
      }
      return use(inside(parent, last ?? "."));
    } catch (error) {
      if (isAbsent(error)) return undefined;
      throw error;
    } finally {
      if (parent !== undefined && parent !== held) closeSync(parent);
    }
  }
}

/** The folders above the last path: the next one in order is mostly in the same. A few levels, a descriptor each. */
class HeldFolders {
  readonly #root: string;
  readonly #open: { readonly name: string; readonly fd: number }[] = [];

  constructor(root: string) {
    this.#root = root;
  }

  /** The folder at the first `count` of these names, which stays open until the next call. */
  reach(names: readonly string[]): { readonly fd: number; readonly count: number } {
    const wanted = ["", ...names.slice(0, mostHeld)];
    const same = wanted.findIndex((name, i) => this.#open[i]?.name !== name);
    this.#leave(same < 0 ? wanted.length : same);
    for (const name of wanted.slice(this.#open.length)) {
      const above = this.#open.at(-1);
      const fd =
        above === undefined
          ? openSync(this.#root, openAsPlace | constants.O_DIRECTORY)
          : openFolder(above.fd, name);
      this.#open.push({ name, fd });
    }
    return { fd: this.#open.at(-1)?.fd ?? -1, count: wanted.length - 1 };
  }

  close(): void {
    this.#leave(0);
  }

  #leave(count: number): void {
    for (const { fd } of this.#open.splice(count)) closeSync(fd);
  }
}

const mostHeld = 16;

function openFolder(above: number, name: string): number {
  return openSync(inside(above, name), openAsPlace | constants.O_DIRECTORY | constants.O_NOFOLLOW);
}

/** A file of ours that its own mode keeps us from reading is read all the same; the mode stays. */
function openReadable(place: Buffer): number {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  try {
    return openSync(place, flags);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EACCES") throw error;
    const held = openSync(place, openAsPlace | constants.O_NOFOLLOW);
    const name = `/proc/self/fd/${held}`;
    const { mode } = fstatSync(held);
    try {
      if ((mode & 0o170000) === 0o120000) throw error;
      chmodSync(name, (mode & 0o7777) | 0o400);
      try {
        return openSync(place, flags);
      } finally {
        chmodSync(name, mode & 0o7777);
      }
    } finally {
      closeSync(held);
    }
  }
}

function inside(parent: number, name: string): Buffer {
  return Buffer.concat([Buffer.from(`/proc/self/fd/${parent}/`), encodePath(name)]);
}

function descriptorPath(fd: number, place: Buffer): string | Buffer {
  return process.platform === "linux" ? `/proc/self/fd/${fd}` : place;
}
