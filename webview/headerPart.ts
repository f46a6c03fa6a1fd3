import { visibleLine } from "../src/base/visibleText.ts";
import type { Header, HeaderAction, ShownState, Tone } from "../src/protocol/webview.ts";
import { element, setText } from "./dom.ts";
import { picture, type PictureName } from "./icons.ts";
import { button, progress, type ButtonLook } from "./toolkit.ts";
import { plural } from "../src/base/words.ts";
import { clockText, stateNames } from "./words.ts";

interface ActionLook {
  readonly label: string;
  readonly look: ButtonLook;
  readonly title: string;
}

const actionLooks: Readonly<Record<HeaderAction, ActionLook>> = {
  start: {
    label: "Start Agent…",
    look: "primary",
    title: "Run an agent in a copy of this workspace",
  },
  startInTerminal: {
    label: "Start in Terminal",
    look: "secondary",
    title: "Run an agent with its own interface in a terminal",
  },
  review: { label: "Review Changes", look: "secondary", title: "Open every change in one diff" },
  commit: {
    label: "Commit",
    look: "primary",
    title: "Write the selected changes into the workspace",
  },
  discard: {
    label: "Discard",
    look: "secondary",
    title: "Throw the copy away; the workspace stays as it is",
  },
  stop: { label: "Stop", look: "secondary", title: "End the agent and go to review" },
  undo: { label: "Undo Commit", look: "secondary", title: "Put the workspace back as it was" },
  resume: {
    label: "Reopen for Review",
    look: "primary",
    title: "Recover what the agent had done",
  },
  trust: {
    label: "Manage Workspace Trust",
    look: "primary",
    title: "Nothing runs until you trust",
  },
  openFolder: { label: "Open Folder…", look: "primary", title: "Choose the folder to work on" },
  doctor: { label: "Run Doctor", look: "secondary", title: "Check what this machine offers" },
  showHolds: { label: "Go to the Decision", look: "primary", title: "Move to the held call" },
};

/** The upper part: who works on what, where it stands, and what can be done about it. */
export class HeaderPart {
  readonly root = element("header", { class: "header" });
  readonly #act: (action: HeaderAction) => void;
  readonly #select: (transaction: string) => void;
  readonly #clock = element("span", { class: "clock" });
  #ticker: ReturnType<typeof setInterval> | undefined;
  #shown: string | undefined;

  constructor(act: (action: HeaderAction) => void, select: (transaction: string) => void) {
    this.#act = act;
    this.#select = select;
  }

  show(header: Header): void {
    this.#tick(header);
    const shown = JSON.stringify({ ...header, elapsedMs: 0 });
    // Buttons that have the focus must not be replaced under the person's fingers for nothing.
    if (shown === this.#shown) return;
    this.#shown = shown;
    document.body.dataset["state"] = header.state;
    document.body.dataset["transaction"] = header.transaction;
    const focused = (document.activeElement as HTMLElement | null)?.dataset["action"];
    if (header.state === "none") this.root.replaceChildren(...this.#welcome(header));
    else this.root.replaceChildren(...this.#transaction(header));
    if (focused !== undefined)
      this.root.querySelector<HTMLElement>(`[data-action="${focused}"]`)?.focus();
  }

  #tick(header: Header): void {
    clearInterval(this.#ticker);
    const begun = performance.now() - header.elapsedMs;
    setText(this.#clock, clockText(header.elapsedMs));
    if (!header.ticking) return;
    this.#ticker = setInterval(
      () => setText(this.#clock, clockText(performance.now() - begun)),
      1000,
    );
  }

  #welcome(header: Header): readonly (Node | string)[] {
    const lines: Readonly<Record<"noFolder" | "untrusted" | "ready", readonly [string, string]>> = {
      ready: [
        "Nothing to approve while it works",
        "Start an agent in a copy of this workspace. Every step appears here, grouped by whether it can be undone. " +
          "Calls that leave this machine wait for you. At the end there is one diff to review.",
      ],
      noFolder: [
        "Open a folder first",
        "Holdfast runs an agent in a copy of a folder. There is no folder open in this window.",
      ],
      untrusted: [
        "This workspace is not trusted",
        "Nothing runs here until you trust it: no agent, no check, no native program.",
      ],
    };
    const [title, text] = lines[header.blocked ?? "ready"];
    return [
      element(
        "div",
        { class: "welcome" },
        this.#switcher(header),
        element("div", { class: "emblem", "aria-hidden": "true" }, picture("icon-transaction")),
        element("h2", {}, title),
        element("p", {}, text),
        this.#buttons(header),
      ),
    ];
  }

  #transaction(header: Header): readonly (Node | string)[] {
    const parts: (Node | undefined)[] = [
      this.#switcher(header),
      element(
        "div",
        { class: "who" },
        element("span", { class: "agent", title: header.agent }, visibleLine(header.agent)),
        statePill(header.state),
        this.#clock,
      ),
      header.task === ""
        ? undefined
        : element("h2", { class: "task", title: header.task }, visibleLine(header.task)),
      facts(header),
      header.message === ""
        ? undefined
        : element("p", { class: "message", role: "status" }, header.message),
      ...header.notes.map((note) => noteLine(note.tone, note.text)),
      this.#buttons(header),
    ];
    return parts.filter((part) => part !== undefined);
  }

  #switcher(header: Header): HTMLElement | undefined {
    if (header.others.length === 0) return undefined;
    const select = element("select", {
      class: "switcher",
      "aria-label": "Transaction",
      on: { change: () => this.#select(select.value) },
    });
    const own = element(
      "option",
      {},
      header.transaction === "" ? "Other transactions…" : current(header),
    );
    own.value = header.transaction;
    own.selected = true;
    select.append(own);
    for (const other of header.others) {
      const holds = other.holds > 0 ? ` (${plural(other.holds, "hold")})` : "";
      const text = `${other.label}: ${stateNames[other.state]}${holds}`;
      const option = element("option", {}, visibleLine(text));
      option.value = other.transaction;
      select.append(option);
    }
    return select;
  }

  #buttons(header: Header): HTMLElement | undefined {
    if (header.actions.length === 0) return undefined;
    const row = element("div", { class: "buttons" });
    for (const action of header.actions) {
      const { label, title } = actionLooks[action];
      const look = lookOf(action, header.state);
      const made = button({ look, label, title, onClick: () => this.#act(action) });
      made.dataset["action"] = action;
      row.append(made);
    }
    return row;
  }
}

/** With conflicts the review comes before the commit. */
function lookOf(action: HeaderAction, state: ShownState): ActionLook["look"] {
  if (state === "conflict" && action === "review") return "primary";
  if (state === "conflict" && action === "commit") return "secondary";
  return actionLooks[action].look;
}

function current(header: Header): string {
  return visibleLine(`${header.agent}: ${header.task === "" ? header.transaction : header.task}`);
}

function statePill(state: ShownState): HTMLElement {
  const busy = state === "running" || state === "starting" || state === "publishing";
  const sign = busy ? progress() : element("span", { class: "dot", "aria-hidden": "true" });
  return element("span", { class: `pill state-${state}`, role: "status" }, sign, stateNames[state]);
}

function fact(icon: PictureName, text: string, title: string, tone: Tone = "plain"): HTMLElement {
  const made = element("li", { class: `fact tone-${tone}`, title });
  made.append(picture(icon), element("span", {}, text));
  return made;
}

function facts(header: Header): HTMLElement {
  const list = element("ul", { class: "facts" });
  if (header.sandbox.state !== "none") {
    const on = header.sandbox.state === "on";
    list.append(
      fact(
        on ? "shield" : "unshield",
        on ? "Sandboxed" : "No sandbox",
        header.sandbox.text,
        on ? "plain" : "bad",
      ),
    );
  }
  if (header.fork !== "") list.append(fact("fork", header.fork, "How the copy was made"));
  if (header.promptsAvoided > 0) {
    const text = `${plural(header.promptsAvoided, "prompt")} avoided`;
    list.append(fact("quiet", text, "Steps that an agent outside a transaction would ask about"));
  }
  if (header.changes !== undefined) {
    const { added, modified, deleted } = header.changes;
    const total = added + modified + deleted;
    const text = total === 0 ? "No changes" : `${plural(total, "file")} changed`;
    const title = `${String(added)} added, ${String(modified)} modified, ${String(deleted)} deleted`;
    list.append(fact("diff", text, title));
  }
  if (header.conflicts > 0)
    list.append(
      fact(
        "icon-alert",
        plural(header.conflicts, "conflict"),
        "Files that both sides changed",
        "bad",
      ),
    );
  if (header.remarks.length > 0)
    list.append(
      fact("icon-message", plural(header.remarks.length, "remark"), header.remarks.join("\n")),
    );
  if (header.check !== undefined) list.append(checkFact(header.check));
  return list;
}

function checkFact(check: NonNullable<Header["check"]>): HTMLElement {
  switch (check.status) {
    case "running":
      return fact("clock", "Checking types…", check.text);
    case "notChecked":
      return fact("icon-alert", "Not checked", check.text, "warn");
    case "passed":
    case "failed": {
      const { introduced, resolved } = check;
      const words = [
        introduced > 0 ? plural(introduced, "new error") : "No new errors",
        resolved > 0 ? `${String(resolved)} fixed` : "",
      ];
      return fact(
        introduced > 0 ? "icon-alert" : "icon-check",
        words.filter((word) => word !== "").join(", "),
        check.text,
        introduced > 0 ? "bad" : "good",
      );
    }
  }
}

function noteLine(tone: Tone, text: string): HTMLElement {
  const made = element("p", { class: `note tone-${tone}` });
  const sign = tone === "info" ? "icon-message" : "icon-alert";
  made.append(picture(sign), element("span", {}, visibleLine(text)));
  return made;
}
