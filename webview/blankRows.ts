import { element } from "./dom.ts";

interface Blank {
  readonly root: HTMLElement;
  top: number;
  height: number;
  shown: boolean;
}

/**
 * What stands in the place of rows that have not come yet. In each drawing, between {@link begin} and {@link end}, every such
 * row is placed.
 */
export class BlankRows {
  readonly root = element("div", { "aria-hidden": "true" });
  readonly #all: Blank[] = [];
  #used = 0;

  begin(): void {
    this.#used = 0;
  }

  place(top: number, height: number): void {
    const blank = this.#all[this.#used] ?? this.#make();
    this.#used++;
    if (top !== blank.top) blank.root.style.transform = `translateY(${String(top)}px)`;
    if (height !== blank.height) blank.root.style.height = `${String(height)}px`;
    if (!blank.shown) blank.root.hidden = false;
    Object.assign(blank, { top, height, shown: true });
  }

  /** Hides what is not used and lies between two distances from the top; what lies elsewhere only when it is `still`. */
  end(upper: number, lower: number, still: boolean): void {
    for (const blank of this.#all.slice(this.#used)) {
      const within = blank.top + blank.height > upper && blank.top < lower;
      if (!blank.shown || !(still || within)) continue;
      blank.root.hidden = true;
      blank.shown = false;
    }
  }

  #make(): Blank {
    const made = { root: element("div", { class: "row blank" }), top: -1, height: -1, shown: true };
    this.root.append(made.root);
    this.#all.push(made);
    return made;
  }
}
