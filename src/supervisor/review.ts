import { Failure } from "../base/errors.ts";
import { changesDocument, type ChangeSet } from "../core/change/changeSet.ts";
import { remaining, type Published } from "../core/change/selection.ts";
import type { ChangesView, CheckView, CommitView, Selection } from "../protocol/control.ts";
import { ConflictFailure } from "../runtime/commit/conflictFailure.ts";
import { commitTransaction } from "../runtime/commit/commitTransaction.ts";
import { publishedBy } from "../runtime/commit/history.ts";
import { reviewNow } from "../runtime/commit/reviewNow.ts";
import type { PathChoice } from "../runtime/commit/chosenChange.ts";
import type { PublishTarget } from "../runtime/commit/publishPort.ts";
import { recoverTransaction } from "../runtime/commit/recoverWorkspace.ts";
import { undoCommit } from "../runtime/commit/undoCommit.ts";
import { unifiedPatch } from "../node/publish/unifiedPatch.ts";
import type { Journal } from "../runtime/journal.ts";
import type { CheckResult, ForkReader } from "../runtime/ports.ts";

/** What the review of a transaction works with. `changeSet` is that of the seal, or a fresh one while the agent runs. */
export interface ReviewParts {
  readonly transaction: string;
  readonly journal: Journal;
  readonly reader: ForkReader;
  readonly target: PublishTarget;
  readonly changeSet: () => Promise<ChangeSet>;
}

/** The verbs of review: what changed, and what of it goes into the workspace. */
export class Review {
  readonly #parts: ReviewParts;
  /** Publishes one after the other. */
  #publishing: Promise<unknown> = Promise.resolve();

  constructor(parts: ReviewParts) {
    this.#parts = parts;
  }

  async changes(): Promise<ChangesView> {
    const { target, reader } = this.#parts;
    const document = changesDocument(
      await reviewNow(target, reader, await this.#parts.changeSet()),
    );
    return structuredClone(document) as ChangesView;
  }

  /** What changed since the fork, by itself: the workspace as it is now is not looked at. */
  async changed(): Promise<readonly { readonly path: string; readonly kind: string }[]> {
    const { files } = await this.#parts.changeSet();
    return files.map(({ path, kind, section }) => ({ path, kind, section }));
  }

  /** The patch as one character per byte. */
  async diff(paths: readonly string[]): Promise<string> {
    return unifiedPatch(this.#parts.reader, await this.#parts.changeSet(), paths);
  }

  /** One side of one changed file, base64; nothing for a path outside the change set. */
  async file(path: string, side: "base" | "shadow"): Promise<{ content?: string }> {
    const { files } = await this.#parts.changeSet();
    const known = files.some((file) => file.path === path || file.from === path);
    if (!known) {
      throw new Failure("usage", "not-changed", `${JSON.stringify(path)} is not in the change set`);
    }
    const bytes = await this.#parts.reader.read(side, path);
    return bytes === undefined ? {} : { content: Buffer.from(bytes).toString("base64") };
  }

  commit(selection: Selection): Promise<CommitView> {
    return this.#inTurn(async () => {
      const { transaction, journal, reader, target } = this.#parts;
      const { edits, merges, resolutions, ...chosen } = selection;
      const choices = choicesOf({ edits, merges, resolutions });
      const changeSet = await this.#parts.changeSet();
      const request = {
        transaction,
        reader,
        target,
        changeSet,
        selection: withoutUndefined(chosen),
        choices,
        now: new Date().toISOString(),
      };
      try {
        const { published, merged, complete } = await commitTransaction(request, journal);
        const state = complete ? "committed" : "sealed";
        const left = ignoredOf(changeSet, publishedBy(await target.records()));
        return { state, published, merged, conflicts: [], ...left };
      } catch (error) {
        if (!(error instanceof ConflictFailure)) throw error;
        return { state: "sealed", published: 0, merged: 0, conflicts: [...error.conflicts] };
      }
    });
  }

  /** Takes back the named commit (the newest in force when none is named), or brings an undone one back. */
  undo(commit?: string): Promise<CommitView> {
    return this.#inTurn(async () => {
      const { transaction, journal, target } = this.#parts;
      try {
        const now = new Date().toISOString();
        const request = { transaction, target, now, ...(commit !== undefined && { commit }) };
        const { state, files, merged } = await undoCommit(request, journal);
        return { state, published: files, merged, conflicts: [] };
      } catch (error) {
        if (!(error instanceof ConflictFailure)) throw error;
        return { state: "committed", published: 0, merged: 0, conflicts: [...error.conflicts] };
      }
    });
  }

  /** Ends interrupted publishes. */
  recover(): Promise<void> {
    return this.#inTurn(async () => {
      await recoverTransaction(this.#parts.target, this.#parts.journal);
    });
  }

  async close(): Promise<void> {
    await this.#publishing;
    await this.#parts.target.close();
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#publishing.then(work);
    this.#publishing = mine.catch(() => undefined);
    return mine;
  }
}

/** What stays because it is ignored: an agent's edit of `.env`, say, of which nobody would hear otherwise. */
function ignoredOf(changeSet: ChangeSet, published: Published): Pick<CommitView, "ignored"> {
  const left = remaining(changeSet, published)
    .map(({ file }) => file)
    .filter(({ ignored, refused }) => ignored && refused === undefined);
  if (left.length === 0) return {};
  return { ignored: { count: left.length, first: left.slice(0, 3).map(({ path }) => path) } };
}

function withoutUndefined<T extends object>(
  value: T,
): { [K in keyof T]: Exclude<T[K], undefined> } {
  const kept = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(kept) as { [K in keyof T]: Exclude<T[K], undefined> };
}

function choicesOf({
  edits = {},
  merges = {},
  resolutions = {},
}: Pick<Selection, "edits" | "merges" | "resolutions">): ReadonlyMap<string, PathChoice> {
  const choices = new Map<string, PathChoice>();
  for (const [path, take] of Object.entries(resolutions)) choices.set(path, { take });
  for (const [path, content] of Object.entries(edits)) {
    choices.set(path, { take: "edited", bytes: Buffer.from(content, "base64") });
  }
  for (const [path, { content, mine }] of Object.entries(merges)) {
    choices.set(path, {
      take: "edited",
      bytes: Buffer.from(content, "base64"),
      from: mine === null ? null : Buffer.from(mine, "base64"),
    });
  }
  return choices;
}

/** The wire form of check results. */
export function checkViewOf(results: readonly CheckResult[]): CheckView {
  return {
    checks: results.map((result) => ({
      name: result.check,
      status: result.status,
      durationMs: result.durationMs,
      ...(result.note === undefined ? {} : { note: result.note }),
      introduced: [...result.introduced],
      resolved: [...result.resolved],
    })),
  };
}
