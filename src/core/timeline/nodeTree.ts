import type { Entry } from "../journal/entry.ts";
import { stricter, type GrowingNode } from "./timelineNode.ts";

/**
 * The nodes of a timeline and what hangs under what. Counts and classes of what is below are kept at every node, so that
 * nothing is ever summed over the whole; each change costs the depth of its node.
 */
export class NodeTree {
  readonly #nodes = new Map<number, GrowingNode>();
  readonly #roots: number[] = [];

  get(id: number | undefined): GrowingNode | undefined {
    return id === undefined ? undefined : this.#nodes.get(id);
  }

  get size(): number {
    return this.#nodes.size;
  }

  /** Root nodes in order of appearance. */
  get roots(): readonly number[] {
    return this.#roots;
  }

  /** Adds a node under its parent, or as a root, and lifts what is above it to its class; returns the way up from it. */
  add(node: GrowingNode, register?: (id: number) => void): readonly number[] {
    this.#nodes.set(node.id, node);
    if (node.parent === undefined) this.#roots.push(node.id);
    else this.#nodes.get(node.parent)?.children.push(node.id);
    register?.(node.id);
    this.#lift(node);
    return this.upwards(node.id);
  }

  /** Adds an entry to a node that exists; returns the way up from it, nothing where there is no such node. */
  join(
    id: number | undefined,
    entry: Entry,
    change?: (node: GrowingNode) => void,
  ): readonly number[] {
    const node = this.get(id);
    if (node === undefined) return [];
    node.entries.push(entry.seq);
    change?.(node);
    return this.upwards(node.id);
  }

  /** A node and everything above it. */
  upwards(id: number): readonly number[] {
    const path: number[] = [];
    for (let at: number | undefined = id; at !== undefined; at = this.#nodes.get(at)?.parent) {
      path.push(at);
    }
    return path;
  }

  /** Ends what still runs. A request has failed: it may have gone out, as where a connection broke; the end of a commit is
   * told. Returns the way up from each, the newest first. */
  cancelRunning(): readonly number[] {
    const running = [...this.#nodes.values()].filter(
      ({ status, kind }) => status === "running" && kind !== "commit",
    );
    for (const node of running) node.status = node.kind === "request" ? "failed" : "cancelled";
    return running.reverse().flatMap(({ id }) => this.upwards(id));
  }

  /** Counts an effect at a node and everything above it. */
  count(id: number, what: keyof GrowingNode["effects"], by: number): void {
    for (const at of this.upwards(id)) {
      const node = this.#nodes.get(at);
      if (node !== undefined) node.effects[what] += by;
    }
  }

  /** Works out a class again from the children, upwards: after something turned out not to have happened. */
  reclass(id: number | undefined): void {
    for (let at = id; at !== undefined; at = this.#nodes.get(at)?.parent) {
      const node = this.#nodes.get(at);
      if (node === undefined || node.kind === "disclosures" || node.kind === "model") return;
      const classes = node.children.map(
        (child) => this.#nodes.get(child)?.reversibility ?? "reversible",
      );
      node.reversibility = classes.reduce(stricter, "reversible");
    }
  }

  /** Raises the class of everything above a node. */
  #lift(node: GrowingNode): void {
    for (const at of this.upwards(node.id)) {
      const above = this.#nodes.get(at);
      if (above !== undefined)
        above.reversibility = stricter(above.reversibility, node.reversibility);
    }
  }
}
