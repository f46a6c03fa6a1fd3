/**
 * Plays the supervisor of a transaction with a long past, for the bench: a real journal, lock and control socket, and no agent.
 * Arguments: the transaction's directory, its workspace, the number of steps that are there, the number of entries that will
 * come. Says `ready` when it serves. Each line on its input, `PER_SECOND`, lets the rest come at that pace; then it says `done`.
 */
import fs from "node:fs";
import path from "node:path";
import readline from "node:readline";
import { setTimeout as wait } from "node:timers/promises";
import { genesis } from "../../../src/core/journal/chain.ts";
import type { Entry } from "../../../src/core/journal/entry.ts";
import { foldTransaction } from "../../../src/core/transaction/transactionState.ts";
import { sha256 } from "../../../src/node/journal/journalFile.ts";
import { journalPath } from "../../../src/node/journal/journalHead.ts";
import { takeSupervisorLock } from "../../../src/node/state/supervisorLock.ts";
import { startControlServer, type ControlHandlers } from "../../../src/supervisor/controlServer.ts";
import { statusOf } from "../../../src/supervisor/statusView.ts";
import { largeJournal } from "../../support/largeJournal.ts";

const [root = "", workspace = "", steps = "", coming = ""] = process.argv.slice(2);
const everyMs = 20;

const written: Entry[] = [];
let head = genesis;

function write(entries: readonly Entry[]): readonly Entry[] {
  const chained = entries.map((entry) => {
    const next = { ...entry, prev: head };
    head = sha256(JSON.stringify(next));
    return next;
  });
  fs.appendFileSync(
    journalPath(root),
    chained.map((entry) => `${JSON.stringify(entry)}\n`).join(""),
    { mode: 0o600 },
  );
  for (const entry of chained) written.push(entry);
  return chained;
}

const entries = largeJournal(Number(steps) + Number(coming), (journal) => {
  journal.add({
    kind: "transaction.begun",
    source: "holdfast",
    transaction: path.basename(root),
    version: "0.1.0",
    workspace,
    agent: "scripted",
    command: ["agent"],
    task: "Take many steps",
    limits: {},
    backendWanted: "auto",
    onExit: "review",
  });
});
const later = entries.length - Number(coming);
// Its lock first: a transaction that nobody supervises would be taken for an interrupted one.
if (!takeSupervisorLock(root)) throw new Error(`${root} has a supervisor`);
write(entries.slice(0, later));

const status = statusOf(foldTransaction(written), "open", true, path.basename(root));
const notPlayed = (): never => {
  throw new Error("this supervisor is played: it has nothing but a journal");
};
const handlers: ControlHandlers = {
  status: () => status,
  holds: () => [],
  check: () => ({ checks: [] }),
  commits: notPlayed,
  decide: notPlayed,
  halt: notPlayed,
  stop: notPlayed,
  changes: notPlayed,
  diff: notPlayed,
  file: notPlayed,
  commit: notPlayed,
  discard: notPlayed,
  undo: notPlayed,
  bringCommits: notPlayed,
  savepoint: notPlayed,
  savepoints: notPlayed,
  restore: notPlayed,
  prompt: notPlayed,
  cancel: notPlayed,
  blob: notPlayed,
};
const source = {
  transaction: path.basename(root),
  entriesAfter: (seq: number): readonly Entry[] => written.slice(seq),
};
async function serve(): Promise<void> {
  const server = await startControlServer(root, source as never, handlers);
  console.log("ready");
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const slice = (Number(line) * everyMs) / 1000;
    for (let at = later; at < entries.length; at += slice) {
      for (const entry of write(entries.slice(at, at + slice))) server.publish({ ...entry });
      await wait(everyMs);
    }
    console.log("done");
  }
  await server.close("the bench is over");
}

void serve();
