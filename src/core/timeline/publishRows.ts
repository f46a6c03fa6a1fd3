import { plural } from "../../base/words.ts";
import type { EntryOf } from "../journal/entry.ts";
import type { NodeStatus } from "./timelineNode.ts";

type Intent = EntryOf<"commit.intended"> | EntryOf<"commits.intended">;
type Outcome =
  | EntryOf<"commit.published">
  | EntryOf<"commit.abandoned">
  | EntryOf<"commit.undone">
  | EntryOf<"commits.brought">
  | EntryOf<"commits.abandoned">;

/**
 * Rows of what went into the workspace. Every intent opens a row of its own (a commit, an undo, an undo of one, git commits
 * that are brought over) and its outcome is told on it; an undo also changes how the row of the commit looks.
 */
export class PublishRows {
  readonly #rows = new Map<string, number>();
  readonly #undos = new Set<string>();
  #last: number | undefined;

  titleOf(entry: Intent): string {
    if (entry.kind === "commits.intended") return `the agent's own commits to ${entry.ref}`;
    const files = plural(entry.paths.length, "file");
    if (entry.undoes === undefined) return `commit of ${files}`;
    return this.#undos.has(entry.undoes) ? `commit again of ${files}` : `undo of ${files}`;
  }

  opened(entry: Intent, row: number): void {
    this.#last = row;
    if (entry.kind === "commits.intended") return;
    this.#rows.set(entry.commit, row);
    if (entry.undoes !== undefined && !this.#undos.has(entry.undoes)) this.#undos.add(entry.commit);
  }

  /** The row that an outcome is told on, and how that row and the commit's own row look from now on. */
  ended(entry: Outcome): {
    readonly told: number | undefined;
    readonly status: NodeStatus;
    readonly about?: { readonly row: number; readonly status: NodeStatus };
  } {
    const about = "commit" in entry ? this.#rows.get(entry.commit) : undefined;
    const told = this.#last ?? about;
    this.#last = undefined;
    const given = entry.kind === "commit.abandoned" || entry.kind === "commits.abandoned";
    if (given || about === undefined) return { told, status: given ? "cancelled" : "ok" };
    const now: NodeStatus = entry.kind === "commit.undone" ? "cancelled" : "ok";
    return { told, status: told === about ? now : "ok", about: { row: about, status: now } };
  }
}
