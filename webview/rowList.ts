import type { Row, RowAction, Splice } from "../src/protocol/webview.ts";
import { element } from "./dom.ts";
import { BlankRows } from "./blankRows.ts";
import { RowCache } from "./rowCache.ts";
import { RowOffsets, spliceTall, type RowMetrics, type Tall } from "./rowOffsets.ts";
import { RowView, type Span } from "./rowView.ts";

/** What the list asks of its surroundings. */
export interface RowListHost {
  /** Rows `from` … `from + count` are wanted. */
  want(from: number, count: number): void;
  toggle(id: string, expanded: boolean): void;
  move(id: string, to: "parent" | "siblings"): void;
  act(id: string, action: RowAction): void;
}

const ahead = 12;
const windowRows = 240;
/** So many rows before the window's end in the direction of a scroll the next window is asked for, with so many behind. */
const leadRows = 60;
const behindRows = 40;
/** A list that has not been scrolled for so long stands still. */
const restMs = 150;
const pageRows = 10;

/**
 * The list of rows: hand-made windowing over a pooled set of elements.
 *
 * - Only rows in sight, a few beyond, and the focused one have an element; elements are reused, never rebuilt.
 * - What a frame of a scroll costs is styling. So an element that is out of sight stays where it is until the list stands
 *   still, and a row that has not come yet is an element without content, which is not filled and emptied again.
 * - Positions come from the host; the list knows no tree. Where the row at a position lies is {@link RowOffsets}.
 * - A change above the first row in sight moves the scroll position by as much, so that what is read stays put. At the
 *   very end of the list the end stays in sight.
 */
export class RowList {
  readonly root = element("div", { class: "list" });
  readonly #spacer: HTMLElement;
  readonly #host: RowListHost;
  readonly #metrics: RowMetrics;
  readonly #cache = new RowCache();
  readonly #used = new Map<number, RowView>();
  readonly #free: RowView[] = [];
  readonly #blanks = new BlankRows();
  #tall: readonly Tall[] = [];
  #offsets: RowOffsets;
  #span: Span = { ms: 1, shown: false };
  #focus = 0;
  #wanted = false;
  #frame = 0;
  /** Where the list was scrolled to when it was drawn last. */
  #drawnTop = 0;
  #rest: ReturnType<typeof setTimeout> | undefined;

  constructor(host: RowListHost, metrics: RowMetrics) {
    this.#host = host;
    this.#metrics = metrics;
    this.#offsets = new RowOffsets(0, [], metrics);
    this.#spacer = element("div", { class: "rows", role: "tree", "aria-label": "Timeline" });
    this.#spacer.append(this.#blanks.root);
    this.root.append(this.#spacer);
    this.root.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    this.root.addEventListener("keydown", (event) => this.#key(event));
    this.root.addEventListener("click", (event) => this.#click(event));
    this.root.addEventListener("focusin", (event) => this.#focusIn(event));
    this.root.addEventListener("mouseover", (event) => this.#viewOf(event.target)?.[1].explain());
    new ResizeObserver(() => this.#soon()).observe(this.root);
  }

  get total(): number {
    return this.#offsets.total;
  }

  /** Takes a whole new layout; the scroll position is kept as far as there are rows. */
  setLayout(total: number, tall: readonly Tall[], span: Span): void {
    this.#setSpan(span);
    this.#tall = tall;
    this.#offsets = new RowOffsets(total, tall, this.#metrics);
    this.#cache.clear();
    this.#wanted = false;
    this.#focus = Math.min(this.#focus, Math.max(0, total - 1));
    this.#resize();
    this.#draw();
  }

  /** Takes the next layout as splices, with the rows inside the window that are new or different. */
  change(splices: readonly Splice[], rows: readonly (readonly [number, Row])[], span: Span): void {
    const before = this.#offsets;
    const atEnd = this.#isAtEnd();
    const first = before.positionAt(this.root.scrollTop);
    const inside = this.root.scrollTop - before.topOf(first);
    let anchor = first;
    let total = before.total;
    for (const splice of splices) {
      this.#cache.splice(splice);
      this.#tall = spliceTall(this.#tall, splice);
      total += splice.inserted - splice.removed;
      anchor = moved(anchor, splice);
      this.#focus = moved(this.#focus, splice);
    }
    for (const [position, row] of rows) this.#cache.set(position, row);
    this.#setSpan(span);
    this.#offsets = new RowOffsets(total, this.#tall, this.#metrics);
    this.#focus = Math.max(0, Math.min(this.#focus, total - 1));
    if (splices.length > 0) {
      this.#wanted = false;
      this.#resize();
      if (atEnd) this.root.scrollTop = this.#offsets.height;
      else if (anchor !== first && before.topOf(first) + inside > 0)
        this.root.scrollTop = this.#offsets.topOf(anchor) + inside;
    }
    this.#soon();
  }

  setRows(from: number, rows: readonly Row[]): void {
    this.#cache.fill(from, rows);
    this.#wanted = false;
    this.#soon();
  }

  /** Brings a row into sight and, on request, the focus to it. */
  reveal(position: number, focus: boolean): void {
    this.#scrollTo(position);
    this.#setFocus(position, focus);
  }

  focus(): void {
    this.#setFocus(this.#focus, true);
  }

  /** Rows are drawn anew for another span only where it is seen. */
  #setSpan(span: Span): void {
    if (span.shown === this.#span.shown && (!span.shown || span.ms === this.#span.ms)) return;
    this.#span = span;
  }

  #isAtEnd(): boolean {
    const { scrollTop, clientHeight } = this.root;
    return scrollTop > 0 && scrollTop + clientHeight >= this.#offsets.height - 2;
  }

  #resize(): void {
    this.#spacer.style.height = `${String(this.#offsets.height)}px`;
  }

  #soon(): void {
    if (this.#frame !== 0) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      this.#draw();
    });
  }

  #scrolled(): void {
    clearTimeout(this.#rest);
    this.#rest = setTimeout(() => {
      this.#rest = undefined;
      this.#draw();
    }, restMs);
    this.#draw();
  }

  #draw(): void {
    const { total } = this.#offsets;
    const { scrollTop: top, clientHeight: height } = this.root;
    // What comes after a jump over all that is in sight is likely another one.
    const around = this.#rest !== undefined && Math.abs(top - this.#drawnTop) > height ? 0 : ahead;
    const from = Math.max(0, this.#offsets.positionAt(top) - around);
    const to = Math.min(total, this.#offsets.positionAt(top + height) + 1 + around);
    const focus = total > 0 ? this.#focus : -1;
    for (const [position, view] of this.#used) {
      if ((position >= from && position < to) || position === focus) continue;
      this.#used.delete(position);
      this.#free.push(view);
    }
    this.#blanks.begin();
    for (let position = from; position < to; position++) this.#drawRow(position);
    if (focus >= 0 && (focus < from || focus >= to)) this.#drawRow(focus);
    const upper = this.#offsets.topOf(from);
    const lower = this.#offsets.topOf(to);
    for (const view of this.#free)
      if (this.#rest === undefined || view.isWithin(upper, lower)) view.hide();
    this.#blanks.end(upper, lower, this.#rest === undefined);
    this.#request(from, to, Math.sign(top - this.#drawnTop));
    this.#drawnTop = top;
  }

  #drawRow(position: number): void {
    const row = this.#cache.at(position);
    const top = this.#offsets.topOf(position);
    const height = this.#offsets.heightOf(position);
    let view = this.#used.get(position);
    if (view === undefined) {
      if (row === undefined && position !== this.#focus) {
        this.#blanks.place(top, height);
        return;
      }
      view = this.#free.pop() ?? this.#makeView();
      this.#used.set(position, view);
    }
    view.place(top, height);
    view.show(row, this.#span);
    view.focusable(position === this.#focus);
  }

  #makeView(): RowView {
    const view = new RowView();
    this.#spacer.append(view.root);
    return view;
  }

  /**
   * Asks for a window when a part of what is drawn is missing, or of what comes next in the `direction` of a scroll: -1 up, 1
   * down, 0 neither.
   */
  #request(from: number, to: number, direction: number): void {
    // One request at a time: on a fast scroll the answers to places long left would cost the frames. What comes is drawn,
    // and drawing asks for what is in sight then.
    if (this.#wanted || to === 0) return;
    const { total } = this.#offsets;
    const first = direction < 0 ? Math.max(0, from - leadRows) : from;
    const end = direction > 0 ? Math.min(total, to + leadRows) : to;
    if (this.#has(first, end)) return;
    // With nothing to show yet, what is in sight comes first: a window costs by its rows, in the host and here.
    const empty = this.#cache.window.from === this.#cache.window.to;
    const rows = empty ? to - from : Math.max(windowRows, to - from + behindRows);
    const around = Math.floor((from + to - rows) / 2);
    const start =
      empty || direction === 0
        ? around
        : direction > 0
          ? from - behindRows
          : to + behindRows - rows;
    const at = Math.max(0, Math.min(start, total - rows));
    this.#wanted = true;
    this.#host.want(at, Math.min(rows, total - at));
  }

  #has(from: number, to: number): boolean {
    const { window } = this.#cache;
    if (from < window.from || to > window.to) return false;
    for (let position = from; position < to; position++)
      if (this.#cache.at(position) === undefined) return false;
    return true;
  }

  #viewOf(target: EventTarget | null): readonly [number, RowView] | undefined {
    const root = target instanceof Element ? target.closest(".row") : null;
    if (root === null) return undefined;
    for (const used of this.#used) if (used[1].root === root) return used;
    return undefined;
  }

  #positionOf(target: EventTarget | null): number | undefined {
    return this.#viewOf(target)?.[0];
  }

  #setFocus(position: number, take: boolean): void {
    const old = this.#used.get(this.#focus);
    this.#focus = Math.max(0, Math.min(position, this.#offsets.total - 1));
    old?.focusable(false);
    this.#draw();
    if (take) this.#used.get(this.#focus)?.root.focus({ preventScroll: true });
  }

  #scrollTo(position: number): void {
    const top = this.#offsets.topOf(position);
    const bottom = top + Math.min(this.#offsets.heightOf(position), this.root.clientHeight);
    if (top < this.root.scrollTop) this.root.scrollTop = top;
    else if (bottom > this.root.scrollTop + this.root.clientHeight)
      this.root.scrollTop = bottom - this.root.clientHeight;
  }

  #focusIn(event: FocusEvent): void {
    const position = this.#positionOf(event.target);
    if (position !== undefined && position !== this.#focus) this.#setFocus(position, false);
  }

  #click(event: MouseEvent): void {
    const position = this.#positionOf(event.target);
    const row = position === undefined ? undefined : this.#cache.at(position);
    if (position === undefined || row === undefined) return;
    const action = (event.target as Element).closest<HTMLElement>("[data-action]");
    if (action !== null) {
      this.#host.act(row.id, action.dataset["action"] as RowAction);
      return;
    }
    const selecting = getSelection()?.isCollapsed === false;
    this.#setFocus(position, row.role !== "block");
    if (row.expanded !== undefined && !selecting) this.#host.toggle(row.id, !row.expanded);
  }

  #key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const onAction = event.target instanceof HTMLButtonElement;
    if (onAction && (event.key === "Enter" || event.key === " ")) return;
    const row = this.#cache.at(this.#focus);
    const goal = this.#goal(event.key);
    if (goal !== undefined) {
      this.#scrollTo(Math.max(0, Math.min(goal, this.#offsets.total - 1)));
      this.#setFocus(goal, true);
    } else if (row === undefined || !this.#treeKey(event.key, row)) {
      return;
    }
    event.preventDefault();
  }

  #goal(key: string): number | undefined {
    switch (key) {
      case "ArrowDown":
        return this.#focus + 1;
      case "ArrowUp":
        return this.#focus - 1;
      case "PageDown":
        return this.#focus + pageRows;
      case "PageUp":
        return this.#focus - pageRows;
      case "Home":
        return 0;
      case "End":
        return this.#offsets.total - 1;
      default:
        return undefined;
    }
  }

  #treeKey(key: string, row: Row): boolean {
    switch (key) {
      case "ArrowRight": {
        const next = this.#cache.at(this.#focus + 1);
        if (row.expanded === false) this.#host.toggle(row.id, true);
        else if (row.expanded === true && next !== undefined && next.level > row.level)
          this.reveal(this.#focus + 1, true);
        return true;
      }
      case "ArrowLeft":
        if (row.expanded === true) this.#host.toggle(row.id, false);
        else this.#host.move(row.id, "parent");
        return true;
      case "Enter":
      case " ":
        if (row.expanded !== undefined) this.#host.toggle(row.id, !row.expanded);
        else if (row.actions[0] !== undefined) this.#host.act(row.id, row.actions[0]);
        return true;
      case "*":
        this.#host.move(row.id, "siblings");
        return true;
      default:
        return false;
    }
  }
}

/** Where a position goes in a splice; a removed one goes to the place of its removal. */
function moved(position: number, splice: Splice): number {
  if (position < splice.at) return position;
  if (position < splice.at + splice.removed) return splice.at;
  return position + splice.inserted - splice.removed;
}
