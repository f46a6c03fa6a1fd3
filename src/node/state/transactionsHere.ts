import { readdirSync, statSync } from "node:fs";
import path from "node:path";
import { workspaceInHead } from "../journal/journalHead.ts";

/** For how long a transaction that was made and has not begun may still begin. */
const beginningMs = 120_000;
/** How many of the newest transactions are looked at. */
const newestLimit = 40;

/** Names of the newest transactions under a home, oldest first. */
export function newestTransactions(home: string): readonly string[] {
  // Names sort by time.
  return readdirSync(path.join(home, "transactions")).sort().slice(-newestLimit);
}

/** Whether a transaction's directory is so new that what it lacks may still come. */
export function mayStillBegin(root: string): boolean {
  const made = statSync(root, { throwIfNoEntry: false })?.birthtimeMs;
  return made !== undefined && Date.now() - made < beginningMs;
}

/**
 * Whether there are transactions of some folders, told by the first line of each journal: for whoever only wants to know if
 * there is anything to read. What belongs to other folders is looked at once.
 */
export class TransactionsHere {
  readonly #elsewhere = new Set<string>();

  /** `soon`: one is being made that does not say yet whose it is. Folders are named as transactions name them. */
  look(home: string, folders: readonly string[]): "some" | "none" | "soon" {
    let soon = false;
    for (const id of newestTransactions(home)) {
      if (this.#elsewhere.has(id)) continue;
      const root = path.join(home, "transactions", id);
      const workspace = workspaceInHead(root);
      if (workspace === undefined) soon ||= mayStillBegin(root);
      else if (folders.includes(workspace)) return "some";
      else this.#elsewhere.add(id);
    }
    return soon ? "soon" : "none";
  }

  /** Other folders are of interest from now on. */
  forget(): void {
    this.#elsewhere.clear();
  }
}
