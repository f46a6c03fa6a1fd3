import { shiftWindow, type RowWindow } from "../src/protocol/rowWindow.ts";
import type { Row, Splice } from "../src/protocol/webview.ts";

const missing: unique symbol = Symbol("missing");

/** The rows of one window, by position. Splices move them; a position whose row has not come yet is `undefined`. */
export class RowCache {
  #window: RowWindow = { from: 0, to: 0 };
  #rows: (Row | typeof missing)[] = [];

  get window(): RowWindow {
    return this.#window;
  }

  at(position: number): Row | undefined {
    const row = this.#rows[position - this.#window.from];
    return row === missing ? undefined : row;
  }

  /** Replaces the window. */
  fill(from: number, rows: readonly Row[]): void {
    this.#window = { from, to: from + rows.length };
    this.#rows = [...rows];
  }

  set(position: number, row: Row): void {
    if (position >= this.#window.from && position < this.#window.to) {
      this.#rows[position - this.#window.from] = row;
    }
  }

  clear(): void {
    this.fill(0, []);
  }

  splice(splice: Splice): void {
    const next = shiftWindow(this.#window, splice);
    const rows: (Row | typeof missing)[] = [];
    for (let position = next.from; position < next.to; position++) {
      const before = this.#before(position, splice);
      rows.push(before === undefined ? missing : (this.at(before) ?? missing));
    }
    this.#window = next;
    this.#rows = rows;
  }

  /** Where a position of the layout after the splice was before it, if it was. */
  #before(position: number, splice: Splice): number | undefined {
    if (position < splice.at) return position;
    if (position < splice.at + splice.inserted) return undefined;
    return position - splice.inserted + splice.removed;
  }
}
