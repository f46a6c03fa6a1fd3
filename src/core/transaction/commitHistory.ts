import type { TransactionState } from "./transactionState.ts";

/** One commit into the workspace as the history shows it. `publishing`: under way, or waiting to be recovered. */
export interface ListedCommit {
  readonly commit: string;
  /** When it was intended, ISO 8601. */
  readonly at: string;
  readonly state: "committed" | "undone" | "publishing";
  readonly files: number;
  readonly merged: number;
  readonly paths: readonly string[];
  /** Paths whose content a person wrote or chose in review. */
  readonly edited: readonly string[];
}

const words = { published: "committed", undone: "undone", intended: "publishing" } as const;

/** Commits of a transaction, oldest first, without those that were abandoned: they changed nothing. */
export function historyOfTransaction({
  commits,
}: Pick<TransactionState, "commits">): readonly ListedCommit[] {
  return commits.flatMap(({ commit, at, state, merged, paths, edited }) =>
    state === "abandoned"
      ? []
      : [{ commit, at, state: words[state], files: paths.length, merged, paths, edited }],
  );
}
