import { writeFileSync } from "node:fs";
import path from "node:path";
import type { MountedShadow } from "./mountedShadow.ts";
import { encodePath } from "./pathBytes.ts";
import type { RestoredBase } from "./restoredBase.ts";
import type { HeldState, RestorePlan } from "./restorePlan.ts";
import { runNative } from "./runNative.ts";

/**
 * Writes a saved state into a shadow by a plan: removals deepest first, then everything else from the top down, then times.
 * `directory` holds the blobs and takes a temporary file.
 */
export class ShadowRestore {
  readonly #plan: RestorePlan;
  readonly #base: RestoredBase;
  readonly #shadow: MountedShadow;
  readonly #nativePath: string;
  readonly #directory: string;
  /** Directories and the modes that they get when nothing more is put into them. */
  readonly #modes = new Map<string, number>();

  constructor(
    plan: RestorePlan,
    at: {
      readonly base: RestoredBase;
      readonly shadow: MountedShadow;
      readonly nativePath: string;
    },
    directory: string,
  ) {
    this.#plan = plan;
    this.#base = at.base;
    this.#shadow = at.shadow;
    this.#nativePath = at.nativePath;
    this.#directory = directory;
  }

  async bringBack(): Promise<void> {
    const { gone, made } = this.#plan;
    for (const one of gone.toReversed()) await this.#remove(one);
    for (const one of made) await this.#put(one);
    await this.#settle();
    for (const [one, mode] of [...this.#modes].reverse()) {
      const { tree, writer, at } = this.#shadow.place(one);
      if (tree.stat(at)?.isDirectory() === true) writer.makeDirectory(at, mode); // it may have gone since
    }
  }

  /** Open to its owner until all is in it. */
  #makeDirectory(one: string, mode: number): void {
    const { writer, at } = this.#shadow.place(one);
    writer.makeDirectory(at, mode | 0o700);
    if ((mode & 0o700) === 0o700) this.#modes.delete(one);
    else this.#modes.set(one, mode);
  }

  /** Directories that neither the base nor the savepoint knows go with their last entry. */
  async #remove(one: string): Promise<void> {
    const { writer, at } = this.#shadow.place(one);
    this.#openAbove(one);
    await writer.remove(at);
    for (let above = one; above.includes("/");) {
      above = above.slice(0, above.lastIndexOf("/"));
      const known = this.#base.state(above)?.type === "directory";
      const place = this.#shadow.place(above);
      const isTold = this.#plan.target.saved.differences.has(above);
      if (known || isTold || !place.writer.removeEmpty(place.at)) return;
      this.#modes.delete(above);
    }
  }

  async #put(one: string): Promise<void> {
    const state = this.#plan.target.state(one);
    if (state === undefined) return;
    await this.#prepare(one, state.type);
    const first = this.#plan.links.get(one);
    if (first !== undefined && this.#link(one, first)) return;
    const { writer, at } = this.#shadow.place(one);
    if (state.type === "directory") this.#makeDirectory(one, state.mode);
    else if (state.type === "symlink") writer.putLink(at, state.target);
    else if (state.type === "file") await this.#putFile(one, state);
    else await writer.remove(at); // what comes in its place is made when all else is there
  }

  /** False where there can be no further name: the file is written once more. */
  #link(one: string, first: string): boolean {
    const from = this.#shadow.place(first);
    const { writer, at } = this.#shadow.place(one);
    return writer === from.writer && writer.putName(at, from.at);
  }

  async #putFile(one: string, { blob, mode }: HeldState): Promise<void> {
    const { writer, at } = this.#shadow.place(one);
    if (blob !== undefined) {
      writer.putFile(at, path.join(this.#directory, "blobs", blob), mode);
      return;
    }
    const bytes = await this.#base.content(one);
    if (bytes === undefined) return;
    const temporary = path.join(this.#directory, `.base-${process.pid}`);
    writeFileSync(temporary, bytes, { mode: 0o600 });
    writer.putFile(at, temporary, mode);
  }

  /** Takes away what is of another type (rename replaces the rest), and makes the directories above as they were. */
  async #prepare(one: string, type: HeldState["type"]): Promise<void> {
    const { tree, writer, at } = this.#shadow.place(one);
    this.#openAbove(one);
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
    const known = this.#plan.target.state(above);
    this.#makeDirectory(above, known?.type === "directory" ? known.mode : 0o755);
  }

  /** A directory whose mode keeps its owner from writing is opened meanwhile. */
  #openAbove(one: string): void {
    const end = one.lastIndexOf("/");
    if (end < 0) return;
    const above = one.slice(0, end);
    const { tree, writer, at } = this.#shadow.place(above);
    const stat = tree.stat(at);
    if (stat?.isDirectory() !== true || (stat.mode & 0o300n) === 0o300n) return;
    const mode = Number(stat.mode & 0o7777n);
    writer.makeDirectory(at, mode | 0o700);
    this.#modes.set(above, mode);
  }

  /** FIFOs and sockets, then times: nothing is put into a directory any more. */
  async #settle(): Promise<void> {
    const plans = new Map<string, Buffer[]>();
    const add = (one: string, verb: string, value: string): void => {
      const { root, at } = this.#shadow.top(one);
      const fields = Buffer.concat([Buffer.from(`${verb}\0${value}\0`), encodePath(`${at}\0`)]);
      const plan = plans.get(root);
      if (plan === undefined) plans.set(root, [fields]);
      else plan.push(fields);
    };
    for (const one of this.#plan.made) {
      const state = this.#plan.target.state(one);
      if (state?.type === "fifo" || state?.type === "socket")
        add(one, state.type, state.mode.toString(8));
    }
    for (const [one, time] of this.#plan.times) add(one, "time", String(time));
    for (const [root, plan] of plans)
      await runNative(this.#nativePath, "settle", ["--tree", root], { input: Buffer.concat(plan) });
  }
}
