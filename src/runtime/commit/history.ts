import type { Published, PublishedPart } from "../../core/change/selection.ts";
import type { CommitRecord } from "./publishPort.ts";

/** A commit with what later undos made of it. */
export interface HistoryEntry {
  readonly commit: string;
  readonly at: string;
  readonly state: "inForce" | "undone";
  readonly record: CommitRecord;
  /** The record whose reversal changes the state: the commit's own, or that of the last undo or redo. */
  readonly last: CommitRecord;
}

/** Commits of a transaction, oldest first, with undos (and undos of undos) folded into them. */
export function historyOf(records: readonly CommitRecord[]): readonly HistoryEntry[] {
  const entries = new Map<string, HistoryEntry>();
  const rootOf = new Map<string, string>();
  for (const record of records) {
    if (record.undoes === undefined) {
      const { commit, at } = record;
      entries.set(commit, { commit, at, state: "inForce", record, last: record });
      rootOf.set(commit, commit);
      continue;
    }
    const root = rootOf.get(record.undoes);
    const entry = root === undefined ? undefined : entries.get(root);
    if (root === undefined || entry === undefined) continue;
    rootOf.set(record.commit, root);
    const state = record.restores === undefined ? "undone" : "inForce";
    entries.set(root, { ...entry, state, last: record });
  }
  return [...entries.values()];
}

/** What of the change set is published by the commits in force. */
export function publishedBy(records: readonly CommitRecord[]): Published {
  const published = new Map<string, PublishedPart>();
  for (const { state, record } of historyOf(records)) {
    if (state !== "inForce") continue;
    for (const part of record.parts) {
      const earlier = published.get(part.path);
      published.set(part.path, {
        whole: part.whole || earlier?.whole === true,
        hunks: new Set([...(earlier?.hunks ?? []), ...part.hunks]),
      });
    }
  }
  return published;
}
