import type { Entry } from "../../core/journal/entry.ts";
import { historyOfTransaction, type ListedCommit } from "../../core/transaction/commitHistory.ts";
import {
  applyEntry,
  foldTransaction,
  type TransactionState,
} from "../../core/transaction/transactionState.ts";

/** What of a transaction was committed into the workspace, from its entries. */
export class CommitLog {
  #state: TransactionState = foldTransaction([]);

  apply(entries: readonly Entry[]): void {
    for (const entry of entries)
      if (entry.kind.startsWith("commit.")) this.#state = applyEntry(this.#state, entry);
  }

  /** Oldest first. */
  list(): readonly ListedCommit[] {
    return historyOfTransaction(this.#state);
  }
}
