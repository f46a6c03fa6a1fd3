import type { Entry } from "../../core/journal/entry.ts";
import type { Journal } from "../journal.ts";
import { historyOf } from "./history.ts";
import type { CommitRecord, PublishTarget, RecoveredPublish } from "./publishPort.ts";

/** One line of `holdfast recover`. */
export interface Recovery {
  readonly commit: string;
  readonly outcome: "published" | "abandoned" | "journaled";
  readonly leftAlone: readonly string[];
  readonly keptAt?: string;
}

/**
 * Ends what an interrupted publish of this transaction left: afterwards the workspace has the whole commit or nothing of
 * it, and the journal says which. Safe to run any number of times, and to be interrupted itself.
 */
export async function recoverTransaction(
  target: PublishTarget,
  journal: Journal,
): Promise<readonly Recovery[]> {
  const recovered = await target.recover();
  for (const one of recovered) await tellLeftAlone(journal, one);
  const records = await target.records();
  const told = await tellOutcomes(journal, records);
  const found = recovered.map(({ note, outcome, leftAlone, keptAt }) => ({
    commit: note.commit,
    outcome,
    leftAlone,
    ...(keptAt !== undefined && { keptAt }),
  }));
  const known = new Set(found.map(({ commit }) => commit));
  return [...found, ...told.filter(({ commit }) => !known.has(commit))];
}

async function tellLeftAlone(journal: Journal, recovered: RecoveredPublish): Promise<void> {
  const { leftAlone, keptAt } = recovered;
  if (leftAlone.length === 0) return;
  await journal.append({
    kind: "alert",
    source: "holdfast",
    code: "publish-left-alone",
    message: `changed since the interrupted publish, left as they are: ${leftAlone.join(", ")}; the other versions are kept in ${keptAt ?? ""}`,
  }).durable;
}

/** Gives every intent of the journal its outcome: what has a record happened, what has none did not. */
async function tellOutcomes(
  journal: Journal,
  records: readonly CommitRecord[],
): Promise<readonly Recovery[]> {
  const told: Recovery[] = [];
  for (const commit of openIntents(journal.entries(), records)) {
    const record = records.find((one) => one.commit === commit);
    if (record === undefined) {
      const reason = "interrupted, taken back by recover";
      await journal.append({ kind: "commit.abandoned", source: "holdfast", commit, reason })
        .durable;
      told.push({ commit, outcome: "abandoned", leftAlone: [] });
    } else {
      await tellDecided(journal, record, records);
      told.push({ commit, outcome: "journaled", leftAlone: [] });
    }
  }
  return told;
}

/** Commits whose intent has no outcome after it. Publishes are serial: an outcome belongs to the intent before it. */
function openIntents(
  entries: readonly Entry[],
  records: readonly CommitRecord[],
): readonly string[] {
  const open = new Set<string>();
  const known = new Set<string>();
  let last: string | undefined;
  for (const entry of entries) {
    if (entry.kind === "commit.intended") {
      last = entry.commit;
      known.add(last);
      open.add(last);
    } else if (entry.kind === "commit.abandoned") {
      open.delete(entry.commit);
    } else if (entry.kind === "commit.published" || entry.kind === "commit.undone") {
      known.add(entry.commit);
      open.delete(entry.commit);
      if (last !== undefined) open.delete(last);
    }
  }
  // A record that the journal knows nothing of: it was cut short.
  const lost = records.filter(({ commit, undoes }) => undoes === undefined && !known.has(commit));
  return [...open, ...lost.map(({ commit }) => commit)];
}

async function tellDecided(
  journal: Journal,
  record: CommitRecord,
  records: readonly CommitRecord[],
): Promise<void> {
  const { commit, published, merged, complete, undoes, restores } = record;
  if (undoes === undefined || restores !== undefined) {
    await journal.append({
      kind: "commit.published",
      source: "holdfast",
      commit: restores ?? commit,
      published,
      merged,
      complete,
    }).durable;
    return;
  }
  const undone = historyOf(records).find(({ last }) => last.commit === commit);
  await journal.append({
    kind: "commit.undone",
    source: "holdfast",
    commit: undone?.commit ?? undoes,
    files: record.paths.length,
  }).durable;
}
