import type { BigIntStats } from "node:fs";
import type { Beneath } from "./beneath.ts";

/** What reads a tree by relative path: see {@link Beneath}. */
export type Tree = Pick<Beneath, "stat" | "readlink" | "read" | "pieces" | "list">;

function isWhiteout(stat: BigIntStats): boolean {
  return stat.isCharacterDevice() && stat.rdev === 0n;
}

/**
 * An overlay's two layers read as one, without mounting it. `opaque` holds the directories (relative to the overlay) whose
 * lower entries do not show through; only the native scan can see that mark, so it is as fresh as the last scan.
 */
export class OverlayView implements Tree {
  readonly #lower: Beneath;
  readonly #upper: Beneath;
  readonly #opaque: () => ReadonlySet<string>;

  constructor(lower: Beneath, upper: Beneath, opaque: () => ReadonlySet<string>) {
    this.#lower = lower;
    this.#upper = upper;
    this.#opaque = opaque;
  }

  stat(path: string): BigIntStats | undefined {
    return this.#layerOf(path)?.stat(path);
  }

  readlink(path: string): string | undefined {
    return this.#layerOf(path)?.readlink(path);
  }

  read(path: string): ReturnType<Beneath["read"]> {
    return this.#layerOf(path)?.read(path);
  }

  pieces(path: string): AsyncIterable<Uint8Array> | undefined {
    return this.#layerOf(path)?.pieces(path);
  }

  list(path: string): readonly string[] | undefined {
    const names = new Set<string>();
    const found = this.#look(path);
    const upper = found?.upper === true ? this.#upper.list(path) : undefined;
    const lower = found?.lower === true ? this.#lower.list(path) : undefined;
    if (upper === undefined && lower === undefined) return undefined;
    for (const name of lower ?? []) names.add(name);
    for (const name of upper ?? []) {
      const stat = this.#upper.stat(path === "" ? name : `${path}/${name}`);
      if (stat !== undefined && isWhiteout(stat)) names.delete(name);
      else names.add(name);
    }
    return [...names].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  }

  #layerOf(path: string): Beneath | undefined {
    const found = this.#look(path);
    if (found === undefined) return undefined;
    return found.upper ? this.#upper : this.#lower;
  }

  /** In which layers a path shows; undefined when it does not. */
  #look(path: string): { readonly upper: boolean; readonly lower: boolean } | undefined {
    let lower = !this.#opaque().has("");
    const parts = path === "" ? [] : path.split("/");
    for (let depth = 1; depth <= parts.length; depth++) {
      const at = parts.slice(0, depth).join("/");
      const stat = this.#upper.stat(at);
      if (stat === undefined) return lower ? { upper: false, lower: true } : undefined;
      if (isWhiteout(stat)) return undefined;
      if (!stat.isDirectory())
        return depth === parts.length ? { upper: true, lower: false } : undefined;
      if (this.#opaque().has(at)) lower = false;
    }
    return { upper: true, lower };
  }
}
