import { writeFileSync } from "node:fs";
import path from "node:path";
import type { Fork } from "../../runtime/ports.ts";
import { Beneath } from "./beneath.ts";
import type { MountedShadow } from "./mountedShadow.ts";
import type { Reader } from "./reader.ts";
import type { Saved } from "./savepointFile.ts";

/** What the base has at a path. `mtimeMs` of files. */
interface BaseState {
  readonly type: "file" | "symlink" | "directory";
  readonly mode: number;
  readonly target: string;
  readonly mtimeMs: number;
}

/** The base that a shadow goes back to: below an overlay what its lower layer has now, since that shows through. */
class RestoredBase {
  readonly #reader: Reader;
  readonly #lowers: readonly { readonly prefix: string; readonly tree: Beneath }[];

  constructor(reader: Reader, fork: Fork) {
    this.#reader = reader;
    this.#lowers = fork.overlays.map(({ at, lower }) => ({
      prefix: at === "." ? "" : `${at}/`,
      tree: new Beneath(lower),
    }));
  }

  /** Undefined when there is nothing, or nothing that is ever in a shadow. */
  state(relative: string): BaseState | undefined {
    const below = this.#below(relative);
    if (below === undefined) {
      const entry = this.#reader.manifest.lookup(relative);
      if (entry === undefined || entry.absent || entry.type === "other") return undefined;
      const { type, mode, target = "" } = entry;
      return { type, mode, target, mtimeMs: Number(entry.mtime / 1000n) / 1000 };
    }
    const stat = below.tree.stat(below.at);
    if (stat === undefined) return undefined;
    const common = {
      mode: Number(stat.mode & 0o7777n),
      mtimeMs: Number(stat.mtimeNs / 1000n) / 1e3,
    };
    if (stat.isDirectory()) return { ...common, type: "directory", target: "" };
    if (stat.isFile()) return { ...common, type: "file", target: "" };
    if (!stat.isSymbolicLink()) return undefined;
    return { ...common, type: "symlink", target: below.tree.readlink(below.at) ?? "" };
  }

  /** With its secrets hidden, as ever. */
  async content(relative: string): Promise<Uint8Array | undefined> {
    const below = this.#below(relative);
    if (below === undefined) return this.#reader.read("base", relative);
    return this.#reader.masks.masked(relative) ?? below.tree.read(below.at)?.bytes;
  }

  #below(relative: string): { readonly tree: Beneath; readonly at: string } | undefined {
    const found = this.#lowers.find(({ prefix }) => relative.startsWith(prefix));
    return found && { tree: found.tree, at: relative.slice(found.prefix.length) };
  }
}

/**
 * Writes a saved state into a shadow, at the paths where it has another: removals deepest first, then everything else from
 * the top down. `directory` holds the blobs and takes a temporary file.
 */
export class ShadowRestore {
  readonly #target: Saved;
  readonly #base: RestoredBase;
  readonly #shadow: MountedShadow;
  readonly #directory: string;
  /** Directories and the modes that they get when nothing more is put into them. */
  readonly #modes = new Map<string, number>();

  constructor(
    target: Saved,
    subject: { readonly fork: Fork; readonly reader: Reader },
    shadow: MountedShadow,
    directory: string,
  ) {
    this.#target = target;
    this.#base = new RestoredBase(subject.reader, subject.fork);
    this.#shadow = shadow;
    this.#directory = directory;
  }

  async bringBack(changed: readonly string[]): Promise<void> {
    for (const one of changed.toReversed()) if (!this.#stays(one)) await this.#remove(one);
    for (const one of changed) await this.#put(one);
    for (const [one, mode] of [...this.#modes].reverse()) {
      const { writer, at } = this.#shadow.place(one);
      writer.makeDirectory(at, mode);
    }
  }

  /** Open to its owner until all is in it. */
  #makeDirectory(one: string, mode: number): void {
    const { writer, at } = this.#shadow.place(one);
    writer.makeDirectory(at, mode | 0o700);
    if ((mode & 0o700) !== 0o700) this.#modes.set(one, mode);
  }

  #stays(one: string): boolean {
    const state = this.#target.differences.get(one);
    return state === undefined ? this.#base.state(one) !== undefined : state.is !== "absent";
  }

  /** Directories that neither the base nor the savepoint knows go with their last entry. */
  async #remove(one: string): Promise<void> {
    const { writer, at } = this.#shadow.place(one);
    await writer.remove(at);
    for (let above = one; above.includes("/");) {
      above = above.slice(0, above.lastIndexOf("/"));
      const known = this.#base.state(above)?.type === "directory";
      const place = this.#shadow.place(above);
      if (known || this.#target.differences.has(above) || !place.writer.removeEmpty(place.at))
        return;
    }
  }

  async #put(one: string): Promise<void> {
    const state = this.#target.differences.get(one);
    if (state === undefined) return this.#putBase(one);
    if (state.is === "absent") return;
    await this.#prepare(one, state.is);
    const { writer, at } = this.#shadow.place(one);
    if (state.is === "directory") this.#makeDirectory(one, state.mode);
    else if (state.is === "symlink") writer.putLink(at, state.target);
    else writer.putFile(at, path.join(this.#directory, "blobs", state.blob), state.mode);
  }

  async #putBase(one: string): Promise<void> {
    const base = this.#base.state(one);
    if (base === undefined) return;
    await this.#prepare(one, base.type);
    const { writer, at } = this.#shadow.place(one);
    if (base.type === "directory") this.#makeDirectory(one, base.mode);
    else if (base.type === "symlink") writer.putLink(at, base.target);
    else {
      const bytes = await this.#base.content(one);
      if (bytes === undefined) return;
      const temporary = path.join(this.#directory, `.base-${process.pid}`);
      writeFileSync(temporary, bytes, { mode: 0o600 });
      writer.putFile(at, temporary, base.mode, base.mtimeMs);
    }
  }

  /** Takes away what is of another type (rename replaces the rest), and makes the directories above as they were. */
  async #prepare(one: string, type: BaseState["type"]): Promise<void> {
    const { tree, writer, at } = this.#shadow.place(one);
    const stat = tree.stat(at);
    if (stat === undefined) await this.#makeAbove(one);
    else if (stat.isDirectory() !== (type === "directory")) await writer.remove(at);
  }

  async #makeAbove(one: string): Promise<void> {
    const end = one.lastIndexOf("/");
    if (end < 0) return;
    const above = one.slice(0, end);
    const { tree, at } = this.#shadow.place(above);
    if (tree.stat(at)?.isDirectory() === true) return;
    await this.#makeAbove(above);
    const state = this.#target.differences.get(above);
    const base = this.#base.state(above);
    const known = state?.is === "directory" ? state : base?.type === "directory" ? base : undefined;
    this.#makeDirectory(above, known?.mode ?? 0o755);
  }
}
