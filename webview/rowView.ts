import { visibleLine, visibleParts } from "../src/base/visibleText.ts";
import type { Row, RowAction } from "../src/protocol/webview.ts";
import { element, setAttribute, setText } from "./dom.ts";
import { picture, setPicture, type PictureName } from "./icons.ts";
import { durationText, effectWords, rowLabel } from "./words.ts";

const actionPictures: Readonly<Record<RowAction, PictureName>> = {
  diff: "diff",
  open: "open",
  copy: "copy",
  restore: "restore",
  decide: "decide",
};

const actionNames: Readonly<Record<RowAction, string>> = {
  diff: "Show what this step changed",
  open: "Open",
  copy: "Copy",
  restore: "Restore the workspace copy to here",
  decide: "Go to the decision",
};

type Effects = NonNullable<Row["effects"]>;

const effectPictures = [
  ["files", "icon-file"],
  ["processes", "icon-process"],
  ["requests", "icon-request"],
] as const satisfies readonly (readonly [keyof Effects, PictureName])[];

/** The moment range that a waterfall shows, in milliseconds since the transaction began. */
export interface Span {
  readonly ms: number;
  readonly shown: boolean;
}

/** What a row shows while it is on its way. */
const waiting: unique symbol = Symbol("waiting");

/**
 * One pooled element of the list; it shows one row after another. Scrolling does that to every element in every frame, so that
 * each part is touched only when it differs, and kept when it will be wanted again.
 */
export class RowView {
  readonly root = element("div", { class: "row", role: "treeitem" });
  #shown: Row | typeof waiting | undefined;
  #spanShown: Span | undefined;
  #top = -1;
  #height = -1;
  #level = 0;
  #focusable: boolean | undefined;
  #actionsShown = "";
  #effectsShown = "";
  readonly #effectParts = new Map<keyof Effects, HTMLElement>();
  /** What a screen reader says; all that is only seen is hidden from it. */
  readonly #spoken = element("span", { class: "spoken" });
  readonly #twisty = picture("chevron", "twisty");
  readonly #mark = picture(undefined, "mark");
  readonly #icon = picture(undefined, "icon");
  readonly #verb = element("span", { class: "verb" });
  readonly #title = element("span", { class: "title" });
  readonly #detail = element("span", { class: "detail" });
  readonly #effects = element("span", { class: "effects" });
  readonly #badges = element("span", { class: "badges" });
  readonly #time = element("span", { class: "time" });
  readonly #bar = element("span", { class: "bar" }, element("span", { class: "fill" }));
  readonly #actions = element("span", { class: "actions" });
  readonly #block = element("pre", { class: "block", "aria-hidden": "true" });

  constructor() {
    const words = element("span", { class: "words" }, this.#verb, this.#title, this.#detail);
    for (const seen of [words, this.#effects, this.#badges, this.#bar, this.#time])
      seen.setAttribute("aria-hidden", "true");
    this.root.append(this.#spoken, this.#twisty, this.#mark, this.#icon, words);
    this.root.append(
      this.#effects,
      this.#badges,
      this.#bar,
      this.#time,
      this.#actions,
      this.#block,
    );
  }

  place(top: number, height: number): void {
    if (top !== this.#top) this.root.style.transform = `translateY(${String(top)}px)`;
    if (height !== this.#height) this.root.style.height = `${String(height)}px`;
    this.#top = top;
    this.#height = height;
  }

  focusable(yes: boolean): void {
    if (yes === this.#focusable) return;
    this.#focusable = yes;
    setAttribute(this.root, "tabindex", yes ? "0" : "-1");
    setAttribute(this.root, "aria-selected", yes ? "true" : "false");
    for (const action of this.#actions.children) setAttribute(action, "tabindex", yes ? "0" : "-1");
  }

  /** Whether it lies between two distances from the top. */
  isWithin(upper: number, lower: number): boolean {
    return this.#top + this.#height > upper && this.#top < lower;
  }

  /** Until a row is shown again. */
  hide(): void {
    if (this.#shown === undefined) return;
    this.#shown = undefined;
    this.root.hidden = true;
  }

  /** Says in full what the row has no room for; asked for when the pointer is over it. */
  explain(): void {
    const row = this.#shown;
    const text =
      row === undefined || row === waiting || row.role === "block" ? undefined : hoverText(row);
    setAttribute(this.root, "title", text);
  }

  /** Shows a row, or a placeholder while it is on its way. */
  show(row: Row | undefined, span: Span): void {
    const next = row ?? waiting;
    if (this.#shown === undefined) this.root.hidden = false;
    if (next === this.#shown && span === this.#spanShown) return;
    this.#shown = next;
    this.#spanShown = span;
    if (row === undefined) {
      this.root.className = "row loading";
      return;
    }
    this.#describe(row);
    setPicture(this.#mark, row.class === undefined ? undefined : `mark-${row.class}`);
    setPicture(this.#icon, `icon-${row.icon}`);
    setText(this.#verb, visibleLine(row.verb));
    setText(this.#title, visibleLine(row.title));
    setText(this.#detail, visibleLine(row.detail));
    setText(this.#time, timeText(row));
    this.#showBadges(row);
    this.#showEffects(row.effects);
    this.#showBar(row, span);
    this.#showActions(row);
    this.#showBlock(row);
  }

  #describe(row: Row): void {
    const classes = ["row", row.role, `status-${row.status}`];
    if (row.class !== undefined) classes.push(`class-${row.class}`);
    if (row.expanded !== undefined) classes.push("expandable");
    if (row.expanded === true) classes.push("expanded");
    if (row.actions.length > 0) classes.push("acts");
    setAttribute(this.root, "class", classes.join(" "));
    if (row.level !== this.#level) this.root.style.setProperty("--level", String(row.level));
    this.#level = row.level;
    setAttribute(this.root, "aria-level", String(row.level));
    setAttribute(this.root, "aria-posinset", row.place?.toString());
    setAttribute(this.root, "aria-setsize", row.siblings?.toString() ?? "-1");
    setAttribute(
      this.root,
      "aria-expanded",
      row.expanded === undefined ? undefined : String(row.expanded),
    );
    setText(this.#spoken, rowLabel(row));
    if (this.root.hasAttribute("title")) this.explain();
    setAttribute(this.root, "data-id", row.id);
  }

  #showBadges({ badges }: Row): void {
    const shown = this.#badges.children;
    while (shown.length > badges.length) this.#badges.lastElementChild?.remove();
    for (const [at, badge] of badges.entries()) {
      const made = shown[at] ?? this.#badges.appendChild(element("span"));
      setAttribute(made, "class", `badge tone-${badge.tone}`);
      setText(made, badge.text);
    }
  }

  #showEffects(effects: Partial<Effects> = {}): void {
    const shown = effectPictures.filter(([kind]) => (effects[kind] ?? 0) > 0);
    for (const [kind, icon] of shown) {
      let part = this.#effectParts.get(kind);
      if (part === undefined) {
        part = element("span", {}, picture(icon), element("span"));
        this.#effectParts.set(kind, part);
      }
      setText(part.lastChild ?? part, String(effects[kind]));
    }
    const kinds = shown.map(([kind]) => kind).join();
    if (kinds === this.#effectsShown) return;
    this.#effectsShown = kinds;
    this.#effects.replaceChildren(...shown.flatMap(([kind]) => this.#effectParts.get(kind) ?? []));
  }

  #showBar(row: Row, span: Span): void {
    const fill = this.#bar.firstElementChild as HTMLElement;
    const visible = span.shown && row.startMs !== undefined && row.role === "row";
    if (this.#bar.hidden === visible) this.#bar.hidden = !visible;
    if (!visible) return;
    const whole = Math.max(1, span.ms);
    const start = row.startMs ?? 0;
    const length = row.durationMs ?? (row.status === "running" ? whole - start : 0);
    fill.style.left = `${String(Math.min(99, (100 * start) / whole))}%`;
    fill.style.width = `${String(Math.max(0.6, (100 * Math.max(0, length)) / whole))}%`;
  }

  #showActions(row: Row): void {
    const names = row.actions.join();
    if (names === this.#actionsShown) return;
    this.#actionsShown = names;
    this.#actions.replaceChildren(
      ...row.actions.map((action) => {
        const made = element("button", {
          class: "action",
          title: actionNames[action],
          "aria-label": actionNames[action],
          "data-action": action,
          tabindex: this.#focusable === true ? "0" : "-1",
        });
        made.append(picture(actionPictures[action]));
        return made;
      }),
    );
  }

  #showBlock(row: Row): void {
    if (row.role !== "block") {
      if (this.#block.hasChildNodes()) this.#block.replaceChildren();
      return;
    }
    this.#block.replaceChildren(
      ...(row.diff === true ? diffLines(row.text ?? "") : visibleNodes(row.text ?? "")),
    );
  }
}

/** Text with hidden characters spelled out. */
function visibleNodes(text: string): (Node | string)[] {
  return visibleParts(text).map((part) =>
    part.kind === "plain"
      ? part.text
      : element("span", { class: "hiddenCharacter", title: part.name }, part.shown),
  );
}

function diffLines(text: string): Node[] {
  return text.split("\n").map((line) => {
    const kind = line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : "same";
    return element("span", { class: `diffLine ${kind}` }, ...visibleNodes(`${line}\n`));
  });
}

function timeText(row: Row): string {
  if (row.durationMs !== undefined) return durationText(row.durationMs);
  return row.status === "running" ? "running" : "";
}

function hoverText(row: Row): string {
  const words = [row.verb, row.title, row.detail, ...effectWords(row)]
    .filter((part) => part !== "")
    .join(" · ");
  return visibleLine(words);
}
