import { lstatSync, mkdirSync, readdirSync } from "node:fs";
import path from "node:path";
import { randomBytes } from "node:crypto";
import { Failure, messageOf } from "../../base/errors.ts";
import { foldTransaction, type TransactionState } from "../../core/transaction/transactionState.ts";
import type { TransactionPaths } from "../../runtime/ports.ts";
import { readJournal } from "../journal/journalFile.ts";
import { journalPath } from "../journal/journalHead.ts";

/** A new transaction's name, e.g. `t20261129-150212-3fa9c1`: sorts by time, to the millisecond by the part of the second (in
 * 4096ths) that the last six digits begin with. The other three are random. */
export function newTransactionId(now: Date): string {
  const stamp = now.toISOString().replaceAll(/[-:]/g, "").replace("T", "-").slice(0, 15);
  const part = Math.floor((now.getUTCMilliseconds() * 4096) / 1000);
  return `t${stamp}-${part.toString(16).padStart(3, "0")}${randomBytes(2).toString("hex").slice(1)}`;
}

const idShape = /^t\d{8}-\d{6}-[0-9a-f]{6}$/;

/** The directories of one transaction. */
export function transactionPaths(home: string, transaction: string): TransactionPaths {
  const root = path.join(home, "transactions", transaction);
  return {
    root,
    base: path.join(root, "base"),
    door: path.join(root, "door"),
    state: path.join(root, "state"),
  };
}

/** `$HOLDFAST_HOME` of a transaction. */
export function homeOf({ root }: TransactionPaths): string {
  return path.dirname(path.dirname(root));
}

/** Makes a new transaction's directories, each 0700. */
export function makeTransaction(home: string, transaction: string): TransactionPaths {
  const paths = transactionPaths(home, transaction);
  mkdirSync(paths.root, { mode: 0o700 });
  for (const dir of [paths.base, paths.door, paths.state]) mkdirSync(dir, { mode: 0o700 });
  return paths;
}

/** One transaction as found on disk. `problem` says why its journal cannot be read; its state is then unknown. */
export interface FoundTransaction {
  readonly transaction: string;
  readonly paths: TransactionPaths;
  readonly state: TransactionState | undefined;
  readonly problem?: string;
}

/** Reads one transaction's journal; never throws for what a hand may have moved or deleted. */
export function findTransaction(home: string, transaction: string): FoundTransaction {
  const paths = transactionPaths(home, transaction);
  try {
    const reading = readJournal(paths.root);
    const state = foldTransaction(reading.entries);
    const found = { transaction, paths, state: state.transaction === "" ? undefined : state };
    if (reading.broken !== undefined)
      return { ...found, problem: `broken at line ${reading.broken.line}` };
    return state.transaction === "" ? { ...found, problem: "its journal is empty" } : found;
  } catch (error) {
    return { transaction, paths, state: undefined, problem: messageOf(error) };
  }
}

/** All transactions, oldest first. */
export function listTransactions(home: string): readonly FoundTransaction[] {
  const names = readdirSync(path.join(home, "transactions")).filter((name) => idShape.test(name));
  return names.sort().map((name) => findTransaction(home, name));
}

/** Finds the transaction that a person names: an id, or `latest` of this workspace. Throws a Failure otherwise. */
export function resolveTransaction(
  home: string,
  name: string,
  workspace: string,
): FoundTransaction {
  if (name !== "latest") {
    if (idShape.test(name)) {
      const found = findTransaction(home, name);
      if (lstatSync(journalPath(found.paths.root), { throwIfNoEntry: false }) !== undefined)
        return found;
      if (lstatSync(found.paths.root, { throwIfNoEntry: false }) !== undefined)
        throw new Failure(
          "failed",
          "journal-missing",
          `the journal of ${name} is gone from ${found.paths.root}`,
          "put it back where it was moved from; what is left goes with `holdfast gc`",
        );
    }
    const fix = "`holdfast list` shows the transactions there are";
    throw new Failure(
      "failed",
      "no-transaction",
      `there is no transaction ${JSON.stringify(name)}`,
      fix,
    );
  }
  const all = listTransactions(home);
  const here = all.filter((one) => one.state?.workspace === workspace);
  const latest = here.at(-1);
  if (latest !== undefined) return latest;
  const elsewhere = all.at(-1)?.state;
  const fix =
    elsewhere === undefined
      ? "start one with `holdfast run`"
      : `the latest of all is ${elsewhere.transaction} in ${elsewhere.workspace}`;
  throw new Failure("failed", "no-transaction", `there is no transaction of ${workspace}`, fix);
}
