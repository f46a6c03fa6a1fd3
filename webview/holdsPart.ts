import { hiddenCount, visibleLine, visibleParts } from "../src/base/visibleText.ts";
import type { ApprovalScope, HoldCard } from "../src/protocol/webview.ts";
import { element, setAttribute, setText } from "./dom.ts";
import { picture } from "./icons.ts";
import { bytesText, plural } from "../src/base/words.ts";
import { classNames } from "./words.ts";

export interface HoldAnswer {
  readonly decision: "approve" | "deny";
  readonly scope: ApprovalScope;
  readonly reason: string;
}

export interface HoldsHost {
  decide(card: HoldCard, answer: HoldAnswer): void;
  showPayload(hold: string): void;
}

/** How long a card must have stood still, in a window that has the focus, before it takes a decision. */
export const armingMs = 1200;

/**
 * The cards of the held calls.
 *
 * - No button is the default; the focus never moves to one by itself.
 * - A card is armed only after it stood still for {@link armingMs}: clicks and keys before that do nothing. Every change
 *   of the set of cards, and the window getting the focus, begins the delay again, so that nothing can slide under a
 *   pointer or a key that was meant for something else.
 * - The payload is shown whole or says how much is missing; hidden characters are spelled out.
 */
export class HoldsPart {
  readonly root = element("section", { class: "holds", "aria-label": "Held calls" });
  readonly #host: HoldsHost;
  readonly #cards = new Map<string, Card>();
  #armed: ReturnType<typeof setTimeout> | undefined;

  constructor(host: HoldsHost) {
    this.#host = host;
    addEventListener("focus", () => this.#arm());
    addEventListener("blur", () => this.#disarm());
  }

  show(holds: readonly HoldCard[]): void {
    const ids = new Set(holds.map(({ hold }) => hold));
    let changed = false;
    for (const [id, card] of this.#cards) {
      if (ids.has(id)) continue;
      card.root.remove();
      this.#cards.delete(id);
      changed = true;
    }
    for (const hold of holds) {
      if (this.#cards.has(hold.hold)) continue;
      const card = new Card(hold, this.#host);
      this.#cards.set(hold.hold, card);
      this.root.append(card.root);
      changed = true;
    }
    this.root.hidden = holds.length === 0;
    if (changed) this.#arm();
  }

  failed(hold: string, message: string): void {
    this.#cards.get(hold)?.failed(message);
  }

  /** Moves to the first card, to its text and not to a button. */
  focus(): void {
    [...this.#cards.values()][0]?.focus();
  }

  #disarm(): void {
    clearTimeout(this.#armed);
    for (const card of this.#cards.values()) card.arm(false);
  }

  #arm(): void {
    this.#disarm();
    this.#armed = setTimeout(() => {
      for (const card of this.#cards.values()) card.arm(true);
    }, armingMs);
  }
}

class Card {
  readonly root: HTMLElement;
  readonly #hold: HoldCard;
  readonly #host: HoldsHost;
  readonly #approve: HTMLButtonElement;
  readonly #deny: HTMLButtonElement;
  readonly #scope: HTMLSelectElement;
  readonly #reason: HTMLInputElement;
  readonly #effect = element("p", { class: "effect" });
  readonly #error = element("p", { class: "error", role: "alert" });
  #armed = false;
  #sent = false;

  constructor(hold: HoldCard, host: HoldsHost) {
    this.#hold = hold;
    this.#host = host;
    const id = `hold-${hold.hold}`;
    this.#approve = this.#decisionButton("approve", "Approve");
    this.#deny = this.#decisionButton("deny", "Deny");
    this.#scope = this.#scopeMenu();
    this.#reason = element("input", {
      class: "reason",
      "aria-label": "Reason for denying, told to the agent",
    });
    this.#reason.placeholder = "Reason, told to the agent (optional)";
    this.#reason.addEventListener("keydown", (event) => {
      // Enter in a text field must not decide anything.
      if (event.key === "Enter") event.preventDefault();
    });
    this.root = element("article", {
      class: `card class-${hold.class}`,
      "aria-labelledby": id,
      tabindex: "-1",
    });
    const told = element("div", { class: "told" }, this.#head(id), this.#facts(), this.#payload());
    this.root.append(told, this.#effect, this.#decisionRow(), this.#error);
    this.#showEffect();
    this.arm(false);
  }

  arm(armed: boolean): void {
    this.#armed = armed;
    this.root.classList.toggle("armed", armed);
    for (const made of [this.#approve, this.#deny])
      setAttribute(made, "aria-disabled", armed && !this.#sent ? "false" : "true");
  }

  focus(): void {
    this.root.focus();
    this.root.scrollIntoView({ block: "nearest" });
  }

  failed(message: string): void {
    this.#sent = false;
    this.root.classList.remove("sent");
    setText(this.#error, message);
    this.arm(this.#armed);
  }

  #head(id: string): HTMLElement {
    const { class: kind, method, target, summary } = this.#hold;
    const made = element("div", { class: "cardHead" });
    const mark = element("span", { class: "classTag" });
    mark.append(picture(`mark-${kind}`, "mark"), classNames[kind]);
    made.append(
      element("h3", { id }, visibleLine(summary)),
      element(
        "div",
        { class: "route" },
        mark,
        element("code", {}, visibleLine(`${method} ${target}`)),
      ),
    );
    return made;
  }

  #facts(): HTMLElement {
    const { blastRadius, reason, rule, task, cause, wayBack } = this.#hold;
    const list = element("dl", { class: "why" });
    const add = (name: string, value: Node | string | undefined): void => {
      if (value === undefined || value === "") return;
      list.append(element("dt", {}, name), element("dd", {}, value));
    };
    if (blastRadius !== undefined) {
      const { count, unit, limit } = blastRadius;
      const over = limit !== undefined && count > limit;
      const text = `${count.toLocaleString("en-US")} ${unit}`;
      const against =
        limit === undefined ? "" : `, the task allows ${limit.toLocaleString("en-US")}`;
      add("Touches", element("span", { class: over ? "over" : "" }, text + against));
    }
    add("Why held", `${reason} (rule ${rule})`);
    add("Caused by", visibleLine(cause));
    add("Task", task === undefined ? undefined : visibleLine(task));
    add(
      "Way back",
      this.#hold.class === "irreversible" ? "None: it cannot be called back" : wayBack,
    );
    return list;
  }

  #payload(): HTMLElement {
    const { payload, payloadBytes, payloadComplete, payloadSha256, hold } = this.#hold;
    const hidden = hiddenCount(payload);
    const pre = element("pre", {
      class: "payload",
      tabindex: "0",
      role: "region",
      "aria-label": "Exact bytes",
    });
    for (const part of visibleParts(payload)) {
      pre.append(
        part.kind === "plain"
          ? part.text
          : element("span", { class: "hiddenCharacter", title: part.name }, part.shown),
      );
    }
    const facts = [
      `Exactly ${bytesText(payloadBytes)} will be sent`,
      `SHA-256 ${payloadSha256.slice(0, 10)}`,
    ];
    const foot = element("div", { class: "payloadFoot" }, element("span", {}, facts.join(" · ")));
    if (hidden > 0)
      foot.append(
        element("span", { class: "warning" }, `${plural(hidden, "hidden character")} spelled out`),
      );
    if (!payloadComplete)
      foot.append(element("span", { class: "warning" }, "Only the beginning is shown"));
    foot.append(
      element(
        "button",
        { class: "link", on: { click: () => this.#host.showPayload(hold) } },
        payloadComplete ? "Open in editor" : "Show everything",
      ),
    );
    return element("div", { class: "payloadBox" }, pre, foot);
  }

  #decisionRow(): HTMLElement {
    const scope = element("label", { class: "scope" }, "for", this.#scope);
    return element(
      "div",
      { class: "decision" },
      element("div", { class: "approveLine" }, this.#approve, scope),
      element("div", { class: "denyLine" }, this.#deny, this.#reason),
    );
  }

  #scopeMenu(): HTMLSelectElement {
    const names: Readonly<Record<ApprovalScope, string>> = {
      call: "this call",
      transaction: "this transaction",
      rule: "always, as a rule",
    };
    const select = element("select", {
      class: "menu",
      "aria-label": "What the approval covers",
      on: { change: () => this.#showEffect() },
    });
    for (const [value, text] of Object.entries(names)) {
      const option = element("option", {}, text);
      option.value = value;
      select.append(option);
    }
    select.value = this.#hold.scope;
    return select;
  }

  #showEffect(): void {
    const scope = this.#scope.value as ApprovalScope;
    const text: Readonly<Record<ApprovalScope, string>> = {
      call: "",
      transaction: "Calls that match the same rule will not wait again in this transaction.",
      rule: `Adds to your policy: ${this.#hold.ruleText}`,
    };
    setText(this.#effect, text[scope]);
    this.#effect.hidden = text[scope] === "";
  }

  #decisionButton(decision: "approve" | "deny", label: string): HTMLButtonElement {
    const made = element("button", {
      class: `decide ${decision}`,
      "data-decision": decision,
      on: { click: () => this.#decide(decision) },
    });
    made.type = "button";
    made.append(element("span", { class: "arming", "aria-hidden": "true" }), label);
    // A key that is held down or typed ahead repeats: only a fresh press counts.
    made.addEventListener("keydown", (event) => {
      if (event.repeat) event.preventDefault();
    });
    return made;
  }

  #decide(decision: "approve" | "deny"): void {
    if (!this.#armed || this.#sent) return;
    this.#sent = true;
    this.root.classList.add("sent");
    setText(this.#error, "");
    this.arm(this.#armed);
    this.#host.decide(this.#hold, {
      decision,
      scope: decision === "approve" ? (this.#scope.value as ApprovalScope) : "call",
      reason: decision === "deny" ? this.#reason.value : "",
    });
  }
}
