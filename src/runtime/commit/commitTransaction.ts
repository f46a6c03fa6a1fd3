import type { Journal } from "../journal.ts";
import { messageOf } from "../../base/errors.ts";
import {
  prepareCommit,
  restlessFailure,
  type CommitRequest,
  type PreparedCommit,
} from "./prepareCommit.ts";
import type { CommitNote } from "./publishPort.ts";

/** What a commit did: the members of `holdfast commit --json`, and what remains. */
export interface CommitResult {
  readonly commit: string;
  readonly published: number;
  readonly merged: number;
  readonly complete: boolean;
}

/** How often a publish is prepared anew when somebody writes to the same paths meanwhile. */
const attempts = 3;

/**
 * Publishes what was chosen: all of it, or nothing. The intent is durable in the journal before the first write, the
 * outcome after the last. Throws a ConflictFailure when a person must choose, a Failure when the workspace cannot be
 * written; nothing is written then.
 */
export async function commitTransaction(
  request: CommitRequest,
  journal: Journal,
): Promise<CommitResult> {
  const note = await publishWithJournal(journal, () => prepareCommit(request));
  const { commit, published, merged, complete } = note;
  await journal.append({
    kind: "commit.published",
    source: "holdfast",
    commit,
    published,
    merged,
    complete,
  }).durable;
  return { commit, published, merged, complete };
}

/** Prepares and publishes, preparing anew when something changed in between; journals intents and failures. */
export async function publishWithJournal(
  journal: Journal,
  prepare: () => Promise<PreparedCommit>,
): Promise<CommitNote> {
  for (let attempt = 1; ; attempt++) {
    const prepared = await prepare();
    const { note } = prepared;
    await intend(journal, prepared);
    const abandoned = (reason: string): Promise<void> =>
      journal.append({ kind: "commit.abandoned", source: "holdfast", commit: note.commit, reason })
        .durable;
    let outcome;
    try {
      outcome = await prepared.publish();
    } catch (error) {
      if (!isUnfinished(error)) await abandoned(messageOf(error));
      throw error;
    }
    if (outcome.outcome === "published") {
      if (outcome.leftover !== undefined) tellLeftover(journal, outcome.leftover);
      return note;
    }
    await abandoned(`${outcome.path}: ${outcome.reason}`);
    if (attempt === attempts) throw restlessFailure(outcome.path, outcome.reason);
  }
}

function tellLeftover(journal: Journal, reason: string): void {
  const message = `a directory of Holdfast's could not be removed yet; holdfast recover will: ${reason}`;
  journal.append({ kind: "alert", source: "holdfast", code: "publish-leftover", message });
}

async function intend(journal: Journal, prepared: PreparedCommit): Promise<void> {
  const { commit, paths, edited, undoes } = prepared.note;
  try {
    await journal.append({
      kind: "commit.intended",
      source: "person",
      commit,
      paths: paths.map(({ path }) => path),
      ...(edited.length > 0 && { edited }),
      ...(undoes !== undefined && { undoes }),
    }).durable;
  } catch (error) {
    await prepared.abandon();
    throw error;
  }
}

function isUnfinished(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "publish-unfinished";
}
