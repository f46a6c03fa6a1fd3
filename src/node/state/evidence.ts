import { constants, cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { messageOf } from "../../base/errors.ts";
import type { Entry } from "../../core/journal/entry.ts";
import { alteredBlobs, readJournalBytes } from "../journal/journalFile.ts";
import { journalPath } from "../journal/journalHead.ts";

/** What was saved of one transaction. */
export interface SavedEvidence {
  readonly transaction: string;
  readonly entries: readonly Entry[];
  /** Why a part is missing. */
  readonly problem?: string;
}

/** Makes a new directory for evidence in the state directory, private to its owner; `at` is ISO 8601. */
export function makeEvidenceDirectory(home: string, at: string): string {
  const name = at.slice(0, 19).replaceAll(/[-:]/g, "").replace("T", "-");
  const parent = path.join(home, "evidence");
  mkdirSync(parent, { recursive: true, mode: 0o700 });
  for (let n = 1; ; n++) {
    const directory = path.join(parent, n === 1 ? name : `${name}-${n}`);
    try {
      mkdirSync(directory, { mode: 0o700 });
      return directory;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST" || n > 1000) throw error;
    }
  }
}

/** Copies a transaction's journal and blobs as they are, and writes beside them what the chain proves. Never throws for a
 * journal that is damaged or gone: that is told in what it returns. */
export function saveEvidence(directory: string, transaction: string, root: string): SavedEvidence {
  try {
    const folder = path.join(directory, transaction);
    mkdirSync(folder, { mode: 0o700 });
    const bytes = readFileSync(journalPath(root));
    writeFileSync(path.join(folder, "journal.jsonl"), bytes, { mode: 0o600 });
    const blobs = path.join(root, "blobs");
    if (existsSync(blobs)) {
      const mode = constants.COPYFILE_FICLONE;
      cpSync(blobs, path.join(folder, "blobs"), { recursive: true, mode });
    }
    const reading = readJournalBytes(bytes);
    const altered = alteredBlobs(root);
    const proof = {
      ok: reading.broken === undefined && altered.length === 0,
      entries: reading.entries.length,
      head: reading.head,
      tornBytes: reading.torn,
      ...(reading.broken === undefined ? {} : { broken: reading.broken }),
      alteredBlobs: altered,
    };
    writeFileSync(path.join(folder, "verify.json"), `${JSON.stringify(proof, null, 2)}\n`, {
      mode: 0o600,
    });
    const problem = proof.ok ? {} : { problem: "its journal or a blob does not verify" };
    return { transaction, entries: reading.entries, ...problem };
  } catch (error) {
    return { transaction, entries: [], problem: `not saved whole: ${messageOf(error)}` };
  }
}
