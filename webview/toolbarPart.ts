import { rowClasses, type Filter, type RowClass, type Totals } from "../src/protocol/webview.ts";
import { element, setAttribute, setText } from "./dom.ts";
import { picture } from "./icons.ts";
import { textField, type TextField } from "./toolkit.ts";
import { classMeanings, classNames } from "./words.ts";

const searchDelayMs = 120;

const groupingNames: Readonly<Record<Filter["grouping"], string>> = {
  class: "Group by class",
  time: "In order of time",
  tool: "Group by tool",
};

const statusNames: Readonly<Record<Filter["status"], string>> = {
  all: "Any outcome",
  failed: "Failed",
  held: "Was held",
  denied: "Denied",
};

/** Search, filters and the choice of order. It shows the host's filter and sends the one that a person wants. */
export class ToolbarPart {
  readonly root = element("div", { class: "toolbar", role: "search", "aria-label": "Filter" });
  readonly #search: TextField;
  readonly #classes = new Map<RowClass, HTMLElement>();
  readonly #grouping: HTMLSelectElement;
  readonly #status: HTMLSelectElement;
  readonly #tool: HTMLSelectElement;
  readonly #waterfall: HTMLElement;
  readonly #more: HTMLElement;
  readonly #menus: HTMLElement;
  readonly #result = element("div", { class: "result", role: "status", "aria-live": "polite" });
  readonly #send: (filter: Filter) => void;
  #filter: Filter;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(filter: Filter, send: (filter: Filter) => void) {
    this.#filter = filter;
    this.#send = send;
    this.#search = textField({
      label: "Search the timeline",
      placeholder: "Search",
      icon: "icon-search",
      onInput: (text) => this.#typed(text),
    });
    this.#grouping = this.#menu("Order", groupingNames, (grouping) => ({ grouping }));
    this.#status = this.#menu("Outcome", statusNames, (status) => ({ status }));
    this.#tool = element("select", {
      class: "menu",
      "aria-label": "Tool",
      on: { change: () => this.#set({ tools: this.#tool.value === "" ? [] : [this.#tool.value] }) },
    });
    this.#waterfall = element("button", {
      class: "toggle",
      title: "Waterfall: show when each step ran",
      "aria-label": "Waterfall",
      on: { click: () => this.#set(waterfallOf(this.#filter)) },
    });
    this.#waterfall.append(picture("waterfall"));
    this.#menus = element("div", { class: "line menus" }, this.#grouping, this.#tool, this.#status);
    this.#menus.hidden = true;
    this.#more = element("button", {
      class: "toggle",
      title: "Order and filters",
      "aria-label": "Order and filters",
      "aria-expanded": "false",
      on: { click: () => this.#showMenus(this.#menus.hasAttribute("hidden")) },
    });
    this.#more.append(picture("filter"));
    this.root.append(
      element("div", { class: "line" }, this.#search.root, this.#more, this.#waterfall),
      this.#menus,
      this.#classButtons(),
      this.#result,
    );
  }

  focus(): void {
    this.#search.focus();
  }

  show(filter: Filter, totals: Totals): void {
    this.#filter = filter;
    if (this.#timer === undefined && this.#search.value !== filter.text)
      this.#search.value = filter.text;
    for (const [name, shown] of this.#classes) {
      setAttribute(shown, "aria-pressed", String(filter.classes.includes(name)));
      const count = shown.querySelector(".count");
      if (count !== null) setText(count, totals[name].toLocaleString("en-US"));
      shown.classList.toggle("none", totals[name] === 0);
    }
    choose(this.#grouping, filter.grouping);
    choose(this.#status, filter.status);
    this.#showTools(filter, totals);
    setAttribute(this.#waterfall, "aria-pressed", String(filter.waterfall));
    const chosen = filter.tools.length > 0 || filter.status !== "all" || filter.grouping === "tool";
    if (chosen) this.#showMenus(true);
    const filtered = totals.shown !== totals.all;
    const text = `${totals.shown.toLocaleString("en-US")} of ${totals.all.toLocaleString("en-US")} steps`;
    setText(this.#result, filtered ? text : "");
  }

  #showMenus(shown: boolean): void {
    this.#menus.hidden = !shown;
    setAttribute(this.#more, "aria-expanded", String(shown));
  }

  #showTools(filter: Filter, totals: Totals): void {
    const names = totals.tools.join("\n");
    if (this.#tool.dataset["names"] !== names) {
      this.#tool.dataset["names"] = names;
      const all = element("option", {}, "Any tool");
      all.value = "";
      this.#tool.replaceChildren(all, ...totals.tools.map((name) => element("option", {}, name)));
    }
    choose(this.#tool, filter.tools[0] ?? "");
  }

  #classButtons(): HTMLElement {
    const row = element("div", { class: "classes", role: "group", "aria-label": "Classes" });
    for (const name of rowClasses) {
      const made = element("button", {
        class: `class class-${name}`,
        title: `${classNames[name]}: ${classMeanings[name]}`,
        "aria-pressed": "false",
        on: { click: () => this.#toggleClass(name) },
      });
      const count = element("span", { class: "count" }, "0");
      made.append(
        picture(`mark-${name}`, "mark"),
        element("span", { class: "name" }, classNames[name]),
        count,
      );
      this.#classes.set(name, made);
      row.append(made);
    }
    return row;
  }

  #menu<K extends string>(
    label: string,
    names: Readonly<Record<K, string>>,
    change: (value: K) => Partial<Filter>,
  ): HTMLSelectElement {
    const select = element("select", {
      class: "menu",
      "aria-label": label,
      on: { change: () => this.#set(change(select.value as K)) },
    });
    for (const [value, text] of Object.entries<string>(names)) {
      const option = element("option", {}, text);
      option.value = value;
      select.append(option);
    }
    return select;
  }

  #toggleClass(name: RowClass): void {
    const classes = this.#filter.classes.includes(name)
      ? this.#filter.classes.filter((other) => other !== name)
      : [...this.#filter.classes, name];
    this.#set({ classes });
  }

  #typed(text: string): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#set({ text });
    }, searchDelayMs);
  }

  #set(change: Partial<Filter>): void {
    this.#filter = { ...this.#filter, ...change };
    this.#send(this.#filter);
  }
}

/** A menu that is set to what it shows is drawn anew all the same. */
function choose(menu: HTMLSelectElement, value: string): void {
  if (menu.value !== value) menu.value = value;
}

/** A waterfall makes sense in order of time only. */
function waterfallOf(filter: Filter): Partial<Filter> {
  return filter.waterfall ? { waterfall: false } : { waterfall: true, grouping: "time" };
}
