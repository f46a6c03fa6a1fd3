import type { Entry, EntryOf } from "../journal/entry.ts";

/** The text of a piece that an agent spoke in an ACP session (`text`, or `thought`); undefined for everything else. */
export function spokenPiece(entry: Entry): string | undefined {
  if (entry.kind !== "agent.event" || entry.source !== "acp") return undefined;
  if (entry.event !== "text" && entry.event !== "thought") return undefined;
  const { data } = entry;
  if (typeof data !== "object" || data === null || !("text" in data)) return undefined;
  return typeof data["text"] === "string" ? data["text"] : undefined;
}

/**
 * Which row a piece of spoken text goes on: pieces come word by word and make one text, until the agent does or says
 * something else.
 */
export class SpokenRow {
  #event: string | undefined;
  #row = 0;

  /** The row of the last event that opened one. */
  get row(): number {
    return this.#row;
  }

  /** Whether the event goes on with that row; otherwise it opens one of its own. */
  continues(entry: EntryOf<"agent.event">): boolean {
    const event = spokenPiece(entry) === undefined ? undefined : entry.event;
    if (event !== undefined && event === this.#event) return true;
    this.#event = event;
    this.#row = entry.seq;
    return false;
  }

  /** The agent does something: what it says next is another text. */
  interrupt(): void {
    this.#event = undefined;
  }
}
