import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  fchmodSync,
  fstatSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  unlinkSync,
} from "node:fs";
import { randomBytes } from "node:crypto";
import { runNative } from "./runNative.ts";
import { encodePath } from "./pathBytes.ts";

const openAsPlace = 0o10000000;
const gone: ReadonlySet<string> = new Set(["ENOENT", "ENOTDIR"]);

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? "";
}

function inside(parent: number, name: string): Buffer {
  return Buffer.concat([Buffer.from(`/proc/self/fd/${parent}/`), encodePath(name)]);
}

/**
 * Writes below a directory that an agent has written, following no symbolic link in any component: each is opened from
 * the descriptor of the one before. A file appears whole, by rename.
 */
export class BeneathWriter {
  readonly #root: string;
  readonly #nativePath: string;

  constructor(root: string, nativePath: string) {
    this.#root = root;
    this.#nativePath = nativePath;
  }

  /** Removes what stands there, whatever it is. */
  async remove(path: string): Promise<void> {
    const parent = this.#open(path, false);
    if (parent === undefined) return;
    try {
      const place = inside(parent, lastOf(path));
      const stat = lstatSync(place, { throwIfNoEntry: false });
      if (stat === undefined) return;
      if (!stat.isDirectory()) {
        unlinkSync(place);
        return;
      }
      const aside = inside(parent, `.holdfast-${randomBytes(6).toString("hex")}`);
      try {
        renameSync(place, aside); // under a name that our own program can be given, whatever bytes the old one had
      } catch (error) {
        if (codeOf(error) !== "EXDEV") throw error;
        removeTree(place); // a directory of an overlay's lower layer cannot be renamed
        return;
      }
      await runNative(this.#nativePath, "remove", [
        `/proc/${process.pid}/fd/${parent}/${nameOf(aside)}`,
      ]);
    } finally {
      closeSync(parent);
    }
  }

  /** Removes a directory when it is empty. False when it is not, or not there. */
  removeEmpty(path: string): boolean {
    const parent = this.#open(path, false);
    if (parent === undefined) return false;
    try {
      rmdirSync(inside(parent, lastOf(path)));
      return true;
    } catch (error) {
      if (["ENOTEMPTY", "EEXIST", ...gone].includes(codeOf(error))) return false;
      throw error;
    } finally {
      closeSync(parent);
    }
  }

  makeDirectory(path: string, mode: number): void {
    this.#with(path, (place) => {
      if (lstatSync(place, { throwIfNoEntry: false })?.isDirectory() !== true) mkdirSync(place);
      chmodSync(place, mode);
    });
  }

  /** Copies a file of ours there; blocks are shared where they can be. */
  putFile(path: string, source: string, mode: number): void {
    this.#with(path, (place, beside) => {
      copyFileSync(source, beside, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL);
      const fd = openSync(beside, constants.O_RDWR | constants.O_NOFOLLOW);
      try {
        fchmodSync(fd, mode);
      } finally {
        closeSync(fd);
      }
      renameSync(beside, place);
    });
  }

  putLink(path: string, target: string): void {
    this.#with(path, (place, beside) => {
      symlinkSync(encodePath(target), beside);
      renameSync(beside, place);
    });
  }

  /** Makes the file (or link) at `first` stand there too. False where the filesystem does not let that be. */
  putName(path: string, first: string): boolean {
    const above = this.#open(first, false);
    if (above === undefined) return false;
    let made = false;
    try {
      this.#with(path, (place, beside) => {
        made = link(inside(above, lastOf(first)), beside);
        if (!made) return;
        renameSync(beside, place);
        rmSync(beside, { force: true }); // which is left where both are names of one file already
      });
    } finally {
      closeSync(above);
    }
    return made;
  }

  #with(path: string, use: (place: Buffer, beside: Buffer) => void): void {
    const parent = this.#open(path, true);
    if (parent === undefined) throw new Error(`no directory for ${JSON.stringify(path)}`);
    try {
      const beside = inside(parent, `.holdfast-${randomBytes(6).toString("hex")}`);
      use(inside(parent, lastOf(path)), beside);
    } finally {
      closeSync(parent);
    }
  }

  /** The parent of the last component, made where it is missing and asked for. */
  #open(path: string, make: boolean): number | undefined {
    const flags = openAsPlace | constants.O_DIRECTORY | constants.O_NOFOLLOW;
    let at = openSync(this.#root, openAsPlace | constants.O_DIRECTORY);
    for (const part of path.split("/").slice(0, -1)) {
      if (part === "" || part === "." || part === "..")
        throw new Error(`not below a root: ${path}`);
      const place = inside(at, part);
      try {
        if (make && lstatSync(place, { throwIfNoEntry: false }) === undefined) mkdirSync(place);
        const next = openSync(place, flags);
        closeSync(at);
        at = next;
      } catch (error) {
        closeSync(at);
        if (!make && gone.has(codeOf(error))) return undefined;
        throw error;
      }
    }
    return at;
  }
}

/** On another filesystem, with too many names, of somebody else, or of none that has names: there is no further one. */
const unlinkable: ReadonlySet<string> = new Set([
  "EXDEV",
  "EMLINK",
  "EPERM",
  "EOPNOTSUPP",
  "ENOENT",
]);

function link(from: Buffer, to: Buffer): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (unlinkable.has(codeOf(error))) return false;
    throw error;
  }
}

/** Removes a directory and all in it where it stands. */
function removeTree(place: Buffer): void {
  const fd = openSync(place, openAsPlace | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    const held = `/proc/self/fd/${fd}`;
    const { mode } = fstatSync(fd);
    if ((mode & 0o700) !== 0o700) chmodSync(held, (mode & 0o7777) | 0o700);
    for (const name of readdirSync(held, { encoding: "buffer" })) {
      const below = Buffer.concat([Buffer.from(`${held}/`), name]);
      if (lstatSync(below).isDirectory()) removeTree(below);
      else unlinkSync(below);
    }
  } finally {
    closeSync(fd);
  }
  rmdirSync(place);
}

function lastOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

function nameOf(place: Buffer): string {
  const text = place.toString("utf8");
  return text.slice(text.lastIndexOf("/") + 1);
}
