import path from "node:path";
import { foldTransaction, type TransactionState } from "../core/transaction/transactionState.ts";
import { readJournal } from "../node/journal/journalFile.ts";
import type { StatusView } from "../protocol/control.ts";

/** The status of a transaction whose supervisor need not live. */
export function statusFromJournal(root: string, stateName?: string): StatusView {
  const state = foldTransaction(readJournal(root).entries);
  return statusOf(
    state,
    (stateName ?? state.state) as StatusView["state"],
    false,
    path.basename(root),
  );
}

/** The wire form of a folded state. */
export function statusOf(
  state: TransactionState,
  name: StatusView["state"],
  running: boolean,
  transaction: string,
): StatusView {
  return {
    transaction: state.transaction === "" ? transaction : state.transaction,
    workspace: state.workspace,
    state: name,
    agent: state.agent,
    ...(state.task === undefined ? {} : { task: state.task }),
    begunAt: state.begunAt,
    ...(state.backend === undefined ? {} : { backend: state.backend }),
    ...(state.forkMs === undefined ? {} : { forkMs: state.forkMs }),
    ...(state.files === undefined ? {} : { files: state.files }),
    ...(state.sandbox === undefined ? {} : { sandbox: state.sandbox }),
    unsafe: state.unsafe,
    running,
    ...(state.exitCode === undefined ? {} : { exitCode: state.exitCode }),
    ...(state.limit === undefined ? {} : { limit: state.limit }),
    changes: state.counts,
    holds: { open: state.openHolds.length, decided: state.decided.length },
    coverage: state.silent ? "effects-only" : state.coverage,
    ...(running && state.session !== undefined ? { session: state.session } : {}),
    notes: [...state.notes],
  };
}
