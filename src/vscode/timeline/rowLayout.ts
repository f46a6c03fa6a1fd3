import type { Splice } from "../../protocol/webview.ts";

/** A row below a root: what the layout must know of it. Blocks have lines. */
export interface SubRow {
  readonly id: string;
  readonly lines: number;
}

interface Group {
  readonly key: string;
  /** Root ids by rank. */
  readonly roots: number[];
  /** Rows below each open root of this group. */
  readonly open: Map<number, readonly SubRow[]>;
}

/** What a position shows. */
export type Placed =
  | {
      readonly kind: "group";
      readonly key: string;
      readonly place: number;
      readonly groups: number;
    }
  | { readonly kind: "root"; readonly id: number }
  | { readonly kind: "sub"; readonly root: number; readonly index: number };

/**
 * The flat list of rows that the webview shows, without an object per row: groups in order, each with the ids of its roots
 * in order of rank, and the rows below the few roots that are open.
 *
 * - A group without roots has no row. With headings, a group's first row is its heading; a closed group is only that.
 * - Every change is told as splices, each in terms of the layout that the one before it left.
 */
export class RowLayout {
  readonly #headings: boolean;
  readonly #rank: (root: number) => number;
  readonly #groups = new Map<string, Group>();
  readonly #placed = new Map<number, string>();
  readonly #closed: ReadonlySet<string>;

  /** `order` names the groups that come first; others follow in order of appearance. */
  constructor(options: {
    readonly headings: boolean;
    readonly order: readonly string[];
    readonly closed: ReadonlySet<string>;
    readonly rank: (root: number) => number;
  }) {
    this.#headings = options.headings;
    this.#closed = options.closed;
    this.#rank = options.rank;
    for (const key of options.order) this.#groups.set(key, { key, roots: [], open: new Map() });
  }

  get total(): number {
    let sum = 0;
    for (const group of this.#groups.values()) sum += this.#rowsOf(group);
    return sum;
  }

  get shownRoots(): number {
    return this.#placed.size;
  }

  groupOf(root: number): string | undefined {
    return this.#placed.get(root);
  }

  sizeOf(key: string): number {
    return this.#groups.get(key)?.roots.length ?? 0;
  }

  /** Positions and lines of all blocks. */
  tall(): [number, number][] {
    const tall: [number, number][] = [];
    for (const group of this.#groups.values()) {
      if (group.open.size === 0 || this.#isClosed(group)) continue;
      for (const root of [...group.open.keys()].sort((a, b) => this.#rank(a) - this.#rank(b))) {
        const at = this.positionOf(root);
        if (at !== undefined) tall.push(...tallOf(group.open.get(root) ?? [], at + 1));
      }
    }
    return tall;
  }

  /** Adds a root at the place of its rank, without telling: for building a layout. Ranks should ascend. */
  load(root: number, key: string, below: readonly SubRow[] | undefined): void {
    const group = this.#group(key);
    const index = this.#indexFor(group, root);
    if (index === group.roots.length) group.roots.push(root);
    else group.roots.splice(index, 0, root);
    if (below !== undefined) group.open.set(root, below);
    this.#placed.set(root, key);
  }

  insert(root: number, key: string, below: readonly SubRow[] | undefined): Splice[] {
    const group = this.#group(key);
    const before = this.#rowsOf(group);
    this.load(root, key, below);
    const after = this.#rowsOf(group);
    if (after === before) return [];
    const start = this.#startOf(group);
    const at = before === 0 ? start : (this.positionOf(root) ?? start);
    const tall = this.#isClosed(group)
      ? []
      : tallOf(below ?? [], (this.positionOf(root) ?? at) + 1);
    return [{ at, removed: 0, inserted: after - before, tall }];
  }

  remove(root: number): Splice[] {
    const key = this.#placed.get(root);
    const group = key === undefined ? undefined : this.#groups.get(key);
    if (group === undefined) return [];
    const start = this.#startOf(group);
    const at = this.positionOf(root) ?? start;
    const before = this.#rowsOf(group);
    group.roots.splice(this.#indexFor(group, root), 1);
    group.open.delete(root);
    this.#placed.delete(root);
    const after = this.#rowsOf(group);
    if (after === before) return [];
    return [{ at: after === 0 ? start : at, removed: before - after, inserted: 0, tall: [] }];
  }

  /** Opens, closes (`undefined`) or refreshes a root; only what differs is told. */
  setBelow(root: number, below: readonly SubRow[] | undefined): Splice[] {
    const key = this.#placed.get(root);
    const group = key === undefined ? undefined : this.#groups.get(key);
    if (group === undefined) return [];
    const old = group.open.get(root) ?? [];
    if (below === undefined) group.open.delete(root);
    else group.open.set(root, below);
    const position = this.positionOf(root);
    if (position === undefined || this.#isClosed(group)) return [];
    return differences(old, below ?? [], position + 1);
  }

  below(root: number): readonly SubRow[] | undefined {
    const key = this.#placed.get(root);
    return key === undefined ? undefined : this.#groups.get(key)?.open.get(root);
  }

  /** Where a root's own row is; undefined when it has none. */
  positionOf(root: number): number | undefined {
    const key = this.#placed.get(root);
    const group = key === undefined ? undefined : this.#groups.get(key);
    if (group === undefined || this.#isClosed(group)) return undefined;
    const index = this.#indexFor(group, root);
    let position = this.#startOf(group) + this.#headingRows + index;
    const rank = this.#rank(root);
    for (const [open, rows] of group.open) if (this.#rank(open) < rank) position += rows.length;
    return position;
  }

  positionOfGroup(key: string): number | undefined {
    const group = this.#groups.get(key);
    if (group === undefined || !this.#headings || group.roots.length === 0) return undefined;
    return this.#startOf(group);
  }

  /** At most `limit` roots of the same group, from a root on. */
  rootsAround(root: number, limit: number): readonly number[] {
    const key = this.#placed.get(root);
    const group = key === undefined ? undefined : this.#groups.get(key);
    if (group === undefined) return [];
    const first = this.#indexFor(group, root);
    return group.roots.slice(first, first + limit);
  }

  /** What the positions `from` to `to` (excluded) show. */
  slice(from: number, to: number): Placed[] {
    const placed: Placed[] = [];
    let start = 0;
    const groups = [...this.#groups.values()].filter((group) => group.roots.length > 0);
    groups.forEach((group, index) => {
      const rows = this.#rowsOf(group);
      if (start < to && start + rows > from) {
        if (this.#headings && start >= from)
          placed.push({ kind: "group", key: group.key, place: index + 1, groups: groups.length });
        if (!this.#isClosed(group))
          this.#sliceGroup(group, start + this.#headingRows, from, to, placed);
      }
      start += rows;
    });
    return placed;
  }

  #sliceGroup(group: Group, start: number, from: number, to: number, placed: Placed[]): void {
    const siblings = group.roots.length;
    const open = [...group.open.keys()].sort((a, b) => this.#rank(a) - this.#rank(b));
    // Skip to the first root that can reach the window: open roots before it are passed one by one.
    let index = 0;
    let position = start;
    for (const root of open) {
      const at = this.#indexFor(group, root);
      const end = position + (at - index) + 1 + (group.open.get(root)?.length ?? 0);
      if (end > from) break;
      index = at + 1;
      position = end;
    }
    const next = open.find((root) => this.#indexFor(group, root) >= index);
    const limit = next === undefined ? siblings : this.#indexFor(group, next);
    const skip = Math.max(0, Math.min(from - position, limit - index));
    index += skip;
    position += skip;
    for (; index < siblings && position < to; index++) {
      const id = group.roots[index];
      if (id === undefined) break;
      if (position >= from) placed.push({ kind: "root", id });
      position++;
      const below = group.open.get(id);
      for (let sub = 0; below !== undefined && sub < below.length && position < to; sub++) {
        if (position >= from) placed.push({ kind: "sub", root: id, index: sub });
        position++;
      }
    }
  }

  get #headingRows(): number {
    return this.#headings ? 1 : 0;
  }

  #isClosed(group: Group): boolean {
    return this.#headings && this.#closed.has(group.key);
  }

  #rowsOf(group: Group): number {
    if (group.roots.length === 0) return 0;
    if (this.#isClosed(group)) return 1;
    let sum = this.#headingRows + group.roots.length;
    for (const rows of group.open.values()) sum += rows.length;
    return sum;
  }

  #startOf(wanted: Group): number {
    let start = 0;
    for (const group of this.#groups.values()) {
      if (group === wanted) break;
      start += this.#rowsOf(group);
    }
    return start;
  }

  #group(key: string): Group {
    let group = this.#groups.get(key);
    if (group === undefined) {
      group = { key, roots: [], open: new Map() };
      this.#groups.set(key, group);
    }
    return group;
  }

  /** Index of a root by its rank, or where it belongs. */
  #indexFor(group: Group, root: number): number {
    const rank = this.#rank(root);
    let low = 0;
    let high = group.roots.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const other = group.roots[middle];
      if (other !== undefined && this.#rank(other) < rank) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function tallOf(rows: readonly SubRow[], start: number): [number, number][] {
  return rows.flatMap((row, index): [number, number][] =>
    row.lines > 0 ? [[start + index, row.lines]] : [],
  );
}

/** One splice for the stretch between what two lists have in common at both ends; none when they are alike. */
function differences(old: readonly SubRow[], next: readonly SubRow[], start: number): Splice[] {
  const alike = (a: SubRow | undefined, b: SubRow | undefined): boolean =>
    a !== undefined && a.id === b?.id && a.lines === b.lines;
  let head = 0;
  while (head < next.length && alike(old[head], next[head])) head++;
  let tail = 0;
  while (
    tail < Math.min(old.length, next.length) - head &&
    alike(old[old.length - 1 - tail], next[next.length - 1 - tail])
  )
    tail++;
  const removed = old.length - head - tail;
  const inserted = next.slice(head, next.length - tail);
  if (removed === 0 && inserted.length === 0) return [];
  const at = start + head;
  return [{ at, removed, inserted: inserted.length, tall: tallOf(inserted, at) }];
}
