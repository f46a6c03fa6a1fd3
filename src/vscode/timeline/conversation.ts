import type { Entry } from "../../core/journal/entry.ts";
import type { Conversation } from "../../protocol/webview.ts";

/** Characters of an answer that are shown: the end of a longer one. */
const mostText = 20_000;

interface PlanEntry {
  readonly content?: unknown;
  readonly status?: unknown;
}

/** The last turn of an agent's session, folded from the journal; the turns before are rows of the timeline. */
export class ConversationFold {
  #begun = false;
  #busy = false;
  #prompt = "";
  #text = "";
  #plan: Conversation["plan"] = [];
  #ended = "";

  /** True when something of it changed. */
  apply(entries: readonly Entry[]): boolean {
    return entries.filter((entry) => this.#take(entry)).length > 0;
  }

  /** What is shown; undefined where there is no session that could be prompted. */
  view(open: boolean): Conversation | undefined {
    if (!this.#begun || !open) return undefined;
    return {
      busy: this.#busy,
      prompt: this.#prompt,
      text: this.#text,
      plan: this.#plan,
      ended: this.#ended,
    };
  }

  #take(entry: Entry): boolean {
    if (entry.kind !== "agent.event") return false;
    const data = entry.data as Readonly<Record<string, unknown>> | null;
    const word = (name: string): string => {
      const value = data?.[name];
      return typeof value === "string" ? value : "";
    };
    if (entry.source === "person" && entry.event === "prompt") {
      this.#busy = true;
      this.#prompt = word("text");
      this.#text = "";
      this.#plan = [];
      this.#ended = "";
      return true;
    }
    if (entry.source !== "acp") return false;
    switch (entry.event) {
      case "session":
        this.#begun = true;
        return true;
      case "text":
        this.#text = (this.#text + word("text")).slice(-mostText);
        return true;
      case "plan":
        this.#plan = planOf(data?.["entries"]);
        return true;
      case "turn.ended":
        this.#busy = false;
        this.#ended = word("message") === "" ? endWords(word("stopReason")) : word("message");
        return true;
      default:
        return false;
    }
  }
}

function planOf(entries: unknown): Conversation["plan"] {
  if (!Array.isArray(entries)) return [];
  return (entries as readonly (PlanEntry | null)[]).slice(0, 100).map((entry) => {
    const { content, status } = entry ?? {};
    return {
      content: typeof content === "string" ? content : "",
      status: status === "completed" || status === "in_progress" ? status : "pending",
    };
  });
}

function endWords(stopReason: string): string {
  switch (stopReason) {
    case "end_turn":
      return "";
    case "cancelled":
      return "Cancelled.";
    case "refusal":
      return "The agent refused to go on.";
    default:
      return `The turn ended: ${stopReason}.`;
  }
}
