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

/** The moment range that a waterfall shows, in milliseconds since the transaction began. */
export interface Span {
  readonly ms: number;
  readonly shown: boolean;
}

/** One pooled element of the list; it shows one row after another. */
export class RowView {
  readonly root = element("div", { class: "row", role: "treeitem" });
  #shown: Row | undefined;
  #spanShown: Span | undefined;
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

  get row(): Row | undefined {
    return this.#shown;
  }

  place(top: number, height: number): void {
    this.root.style.transform = `translateY(${String(top)}px)`;
    this.root.style.height = `${String(height)}px`;
  }

  focusable(yes: boolean): void {
    setAttribute(this.root, "tabindex", yes ? "0" : "-1");
    setAttribute(this.root, "aria-selected", yes ? "true" : "false");
    for (const action of this.#actions.children) setAttribute(action, "tabindex", yes ? "0" : "-1");
  }

  /** Shows a row, or a placeholder while it is on its way. */
  show(row: Row | undefined, span: Span): void {
    if (row === this.#shown && row !== undefined && span === this.#spanShown) return;
    const sameKind =
      row?.id === this.#shown?.id && row?.actions.join() === this.#shown?.actions.join();
    this.#shown = row;
    this.#spanShown = span;
    if (row === undefined) {
      if (this.root.className === "row loading") return;
      this.root.className = "row loading";
      setText(this.#spoken, "Loading");
      for (const part of [this.#verb, this.#title, this.#detail, this.#time, this.#block])
        setText(part, "");
      this.#badges.replaceChildren();
      this.#showEffects({});
      this.#actions.replaceChildren();
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
    this.#showEffects(row.effects ?? {});
    this.#showBar(row, span);
    if (!sameKind) this.#showActions(row);
    this.#showBlock(row);
  }

  #describe(row: Row): void {
    const classes = ["row", row.role, `status-${row.status}`];
    if (row.class !== undefined) classes.push(`class-${row.class}`);
    if (row.expanded !== undefined) classes.push("expandable");
    if (row.expanded === true) classes.push("expanded");
    this.root.className = classes.join(" ");
    this.root.style.setProperty("--level", String(row.level));
    setAttribute(this.root, "aria-level", String(row.level));
    setAttribute(this.root, "aria-posinset", row.place?.toString());
    setAttribute(this.root, "aria-setsize", row.siblings?.toString() ?? "-1");
    setAttribute(
      this.root,
      "aria-expanded",
      row.expanded === undefined ? undefined : String(row.expanded),
    );
    setText(this.#spoken, rowLabel(row));
    setAttribute(this.root, "title", row.role === "block" ? undefined : hoverText(row));
    setAttribute(this.root, "data-id", row.id);
  }

  #showBadges(row: Row): void {
    this.#badges.replaceChildren(
      ...row.badges.map((badge) =>
        element("span", { class: `badge tone-${badge.tone}` }, badge.text),
      ),
    );
  }

  #showEffects({ files = 0, processes = 0, requests = 0 }: Partial<Effects>): void {
    const numbers = [
      [files, "icon-file"],
      [processes, "icon-process"],
      [requests, "icon-request"],
    ] as const;
    const shown = numbers.map(([count, icon]) => (count === 0 ? "" : `${icon}${String(count)}`));
    if (this.#effects.dataset["shown"] === shown.join()) return;
    this.#effects.dataset["shown"] = shown.join();
    this.#effects.replaceChildren(
      ...numbers.flatMap(([count, icon]) =>
        count === 0 ? [] : [element("span", {}, picture(icon), String(count))],
      ),
    );
  }

  #showBar(row: Row, span: Span): void {
    const fill = this.#bar.firstElementChild as HTMLElement;
    const visible = span.shown && row.startMs !== undefined && row.role === "row";
    this.#bar.hidden = !visible;
    if (!visible) return;
    const whole = Math.max(1, span.ms);
    const start = row.startMs ?? 0;
    const length = row.durationMs ?? (row.status === "running" ? whole - start : 0);
    fill.style.left = `${String(Math.min(99, (100 * start) / whole))}%`;
    fill.style.width = `${String(Math.max(0.6, (100 * Math.max(0, length)) / whole))}%`;
  }

  #showActions(row: Row): void {
    this.#actions.replaceChildren(
      ...row.actions.map((action) => {
        const made = element("button", {
          class: "action",
          title: actionNames[action],
          "aria-label": actionNames[action],
          "data-action": action,
          tabindex: "-1",
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
