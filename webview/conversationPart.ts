import { visibleLine } from "../src/base/visibleText.ts";
import type { Conversation } from "../src/protocol/webview.ts";
import { element, setText } from "./dom.ts";
import { button } from "./toolkit.ts";

export interface ConversationHandlers {
  readonly prompt: (text: string) => void;
  readonly cancel: () => void;
}

const planWords = { pending: "to do", in_progress: "now", completed: "done" } as const;

/**
 * The session with an agent: what it was asked, what it answers as it comes, its plan, and a box for the next prompt. Enter
 * sends, Shift+Enter makes a new line.
 */
export class ConversationPart {
  readonly root: HTMLElement;
  readonly #asked = element("p", { class: "asked" });
  readonly #answer = element("div", {
    class: "answer",
    role: "log",
    "aria-label": "Answer",
    tabindex: "0",
  });
  readonly #plan = element("ol", { class: "plan", "aria-label": "Plan" });
  readonly #ended = element("p", { class: "turnEnded", role: "status" });
  readonly #error = element("p", { class: "error", role: "alert" });
  readonly #box: HTMLTextAreaElement;
  readonly #send: HTMLElement;
  readonly #cancel: HTMLElement;
  readonly #handlers: ConversationHandlers;
  #busy = false;

  constructor(handlers: ConversationHandlers) {
    this.#handlers = handlers;
    this.#box = element("textarea", {
      class: "promptBox",
      "aria-label": "Prompt",
      on: { keydown: (event) => this.#key(event as KeyboardEvent) },
    });
    this.#box.rows = 2;
    this.#box.placeholder = "Ask for something more";
    this.#send = button({ look: "primary", label: "Send", onClick: () => this.#submit() });
    this.#cancel = button({ look: "secondary", label: "Cancel", onClick: handlers.cancel });
    const buttons = element("div", { class: "promptButtons" }, this.#send, this.#cancel);
    this.root = element(
      "section",
      { class: "conversation", "aria-label": "Conversation" },
      this.#asked,
      this.#plan,
      this.#answer,
      this.#ended,
      element("div", { class: "promptArea" }, this.#box, buttons),
      this.#error,
    );
    this.root.hidden = true;
  }

  show(conversation: Conversation | undefined): void {
    this.root.hidden = conversation === undefined;
    if (conversation === undefined) return;
    const { busy, prompt, text, plan, ended } = conversation;
    const atEnd =
      this.#answer.scrollHeight - this.#answer.scrollTop - this.#answer.clientHeight < 24;
    this.#busy = busy;
    setText(this.#asked, prompt);
    this.#asked.hidden = prompt === "";
    setText(this.#answer, text);
    this.#answer.hidden = text === "";
    if (atEnd) this.#answer.scrollTop = this.#answer.scrollHeight;
    setText(this.#ended, ended);
    this.#ended.hidden = ended === "";
    this.#plan.hidden = plan.length === 0;
    this.#plan.replaceChildren(
      ...plan.map(({ content, status }) =>
        element(
          "li",
          { "data-status": status },
          element("span", { class: "planState" }, planWords[status]),
          content,
        ),
      ),
    );
    this.#send.hidden = busy;
    this.#cancel.hidden = !busy;
  }

  /** Gives a prompt back that failed, unless the next one is being written already, and says why. */
  failed(text: string, message: string): void {
    if (this.#box.value === "") this.#box.value = text;
    setText(this.#error, visibleLine(message));
  }

  #key(event: KeyboardEvent): void {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    this.#submit();
  }

  #submit(): void {
    const text = this.#box.value.trim();
    if (text === "" || this.#busy) return;
    setText(this.#error, "");
    this.#handlers.prompt(text);
    this.#box.value = "";
  }
}
