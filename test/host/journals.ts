import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import type { Entry } from "../../src/core/journal/entry.ts";
import { readJournal } from "../../src/node/journal/journalFile.ts";

/** State directories of all transactions, oldest first. */
export function transactionRoots(): readonly string[] {
  const folder = path.join(process.env["HOLDFAST_HOME"] ?? "", "transactions");
  if (!fs.existsSync(folder)) return [];
  return fs
    .readdirSync(folder)
    .sort()
    .map((name) => path.join(folder, name));
}

/** Entries of the newest transaction. */
export function newestEntries(): readonly Entry[] {
  const root = transactionRoots().at(-1);
  assert.ok(root !== undefined);
  return readJournal(root).entries;
}
