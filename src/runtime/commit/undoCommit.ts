import { Failure } from "../../base/errors.ts";
import type { FileState } from "../../core/change/changeSet.ts";
import type { Journal } from "../journal.ts";
import { publishWithJournal } from "./commitTransaction.ts";
import { historyOf, type HistoryEntry } from "./history.ts";
import { fileSide, type PathChange, type Side } from "./planPaths.ts";
import { stageChanges, type PreparedCommit } from "./prepareCommit.ts";
import type { CommitRecord, CommittedPath, PublishTarget } from "./publishPort.ts";

/** An undo as a person asks for it. */
export interface UndoRequest {
  readonly transaction: string;
  readonly target: PublishTarget;
  /** Absent: the newest commit in force; when none is, the last undo is undone. */
  readonly commit?: string;
  readonly now: string;
}

export interface UndoResult {
  readonly commit: string;
  /** What the commit is now. */
  readonly state: "undone" | "committed";
  readonly files: number;
  readonly merged: number;
}

/**
 * Takes a commit back, or brings it back when it is undone: each path by three-way merge, so that what the person did
 * since stays. Throws a ConflictFailure, with nothing written, where both touched the same lines.
 */
export async function undoCommit(request: UndoRequest, journal: Journal): Promise<UndoResult> {
  const records = await request.target.records();
  const entry = chooseEntry(historyOf(records), request.commit);
  const again = entry.state === "undone";
  const note = await publishWithJournal(journal, () => prepareUndo(request, entry, again));
  const files = note.paths.length;
  await journal.append(
    again
      ? {
          kind: "commit.published",
          source: "person",
          commit: entry.commit,
          published: files,
          merged: note.merged,
          complete: entry.record.complete,
        }
      : { kind: "commit.undone", source: "person", commit: entry.commit, files },
  ).durable;
  return {
    commit: entry.commit,
    state: again ? "committed" : "undone",
    files,
    merged: note.merged,
  };
}

function chooseEntry(history: readonly HistoryEntry[], commit: string | undefined): HistoryEntry {
  const latest = [...history].sort((left, right) =>
    left.last.commit < right.last.commit ? -1 : 1,
  );
  const entry =
    commit === undefined
      ? (history.findLast(({ state }) => state === "inForce") ?? latest.at(-1))
      : history.find((one) => one.commit === commit);
  if (entry !== undefined) return entry;
  throw commit === undefined
    ? new Failure("failed", "nothing-committed", "there is no commit to undo")
    : new Failure("usage", "unknown-commit", `there is no commit ${commit}`);
}

function prepareUndo(
  { target, transaction, now }: UndoRequest,
  entry: HistoryEntry,
  again: boolean,
): Promise<PreparedCommit> {
  const { last } = entry;
  const changes = last.paths.map((path) => reverseOf(target, last, path));
  const removedModes = new Map(last.removedDirectories.map(({ path, mode }) => [path, mode]));
  const made = new Set(last.madeDirectories);
  const knowledge = {
    modeOf: (path: string) => Promise.resolve(removedModes.get(path)),
    stays: (path: string) => Promise.resolve(!made.has(path)),
  };
  return stageChanges(target, changes, knowledge, (commit, outcome) => ({
    commit,
    transaction,
    at: now,
    parts: [],
    paths: outcome.paths,
    published: outcome.paths.length,
    merged: outcome.merged,
    complete: again && entry.record.complete,
    edited: [],
    undoes: last.commit,
    ...(again && { restores: entry.commit }),
  }));
}

function reverseOf(target: PublishTarget, record: CommitRecord, one: CommittedPath): PathChange {
  const { path, before, after } = one;
  return {
    path,
    removes: before === undefined,
    ...(after !== undefined && { quickBase: after }),
    base: async () => keptSide(after, () => target.left(record.commit, path)),
    theirs: async () =>
      keptSide(before, () => target.replaced(record.commit, path), {
        commit: record.commit,
        path,
      }),
  };
}

/** A side out of what a commit kept; its content is not read when it is large or not a file. */
async function keptSide(
  state: FileState | undefined,
  read: () => Promise<Uint8Array | undefined>,
  kept?: { readonly commit: string; readonly path: string },
): Promise<Side | undefined> {
  if (state === undefined || state.type !== "file")
    return state === undefined ? undefined : { state };
  const bytes = await read();
  if (bytes !== undefined) return fileSide(bytes, state.mode);
  return kept === undefined ? { state } : { state, content: { from: "kept", ...kept } };
}
