/** Heights in CSS pixels: a line of the list, a line of text in a block, and what a block has around its text. */
export interface RowMetrics {
  readonly row: number;
  readonly line: number;
  readonly blockPadding: number;
}

/** A block that is taller than a line: where it is and how many lines it has. */
export type Tall = readonly [position: number, lines: number];

/**
 * Where each row is, without a number per row: every row has the same height but the few blocks, whose extra height is
 * kept as prefix sums. Both look-ups are binary searches over the blocks.
 */
export class RowOffsets {
  readonly total: number;
  readonly metrics: RowMetrics;
  readonly #positions: readonly number[];
  /** Extra pixels of the blocks before the n-th, one longer than the blocks. */
  readonly #extra: readonly number[];

  constructor(total: number, tall: readonly Tall[], metrics: RowMetrics) {
    this.total = total;
    this.metrics = metrics;
    this.#positions = tall.map(([position]) => position);
    const extra = [0];
    let sum = 0;
    for (const [, lines] of tall) {
      sum += lines * metrics.line + metrics.blockPadding - metrics.row;
      extra.push(sum);
    }
    this.#extra = extra;
  }

  /** Height of everything. */
  get height(): number {
    return this.topOf(this.total);
  }

  /** Distance of a row's upper edge from the top; `total` gives the end. */
  topOf(position: number): number {
    return position * this.metrics.row + (this.#extra[this.#tallBefore(position)] ?? 0);
  }

  heightOf(position: number): number {
    return this.topOf(position + 1) - this.topOf(position);
  }

  /** The row that covers a distance from the top, kept within the list. */
  positionAt(top: number): number {
    let low = 0;
    let high = Math.max(0, this.total - 1);
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.topOf(middle) <= top) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** Number of blocks that lie before a position. */
  #tallBefore(position: number): number {
    let low = 0;
    let high = this.#positions.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#positions[middle] ?? 0) < position) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Applies one splice to a list of blocks. */
export function spliceTall(
  tall: readonly Tall[],
  splice: {
    readonly at: number;
    readonly removed: number;
    readonly inserted: number;
    readonly tall: readonly Tall[];
  },
): readonly Tall[] {
  const shift = splice.inserted - splice.removed;
  return [
    ...tall.filter(([position]) => position < splice.at),
    ...splice.tall,
    ...tall
      .filter(([position]) => position >= splice.at + splice.removed)
      .map(([position, lines]): Tall => [position + shift, lines]),
  ];
}
