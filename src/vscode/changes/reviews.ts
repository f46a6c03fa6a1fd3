import { Failure } from "../../base/errors.ts";
import { DisposableStore, Emitter, type Ending } from "../../base/lifecycle.ts";
import type { Selection } from "../../protocol/control.ts";
import type { LiveTransaction } from "../liveTransaction.ts";
import type { Transactions } from "../transactions.ts";
import type { ReviewComment } from "./commentPrompt.ts";
import type { ReviewMemory } from "./reviewMemory.ts";
import { ReviewModel, type ChangedFile } from "./reviewModel.ts";

/** A conflict merged by hand: the result, and the workspace's content that it was merged from (null: no file). */
export interface HandMerge {
  readonly content: Uint8Array;
  readonly mine: Uint8Array | null;
}

export interface ReviewChange {
  readonly transaction: string;
  /** The change set itself is new, not only what is chosen of it. */
  readonly reloaded: boolean;
}

const liveReloadMs = 1200;
/** States in which there is something to choose from. */
export const reviewable: ReadonlySet<string> = new Set([
  "running",
  "waiting",
  "sealed",
  "conflict",
  "undone",
]);

/** The review of every transaction of this window: loaded when it can be, kept fresh while the agent works. */
export class Reviews implements Ending {
  readonly #store = new DisposableStore();
  readonly #changed = this.#store.add(new Emitter<ReviewChange>());
  readonly onChange = this.#changed.event;
  readonly #transactions: Transactions;
  readonly #memory: ReviewMemory;
  readonly #models = new Map<string, ReviewModel>();
  readonly #edits = new Map<string, Map<string, Uint8Array>>();
  readonly #merges = new Map<string, Map<string, HandMerge>>();
  readonly #comments = new Map<string, readonly ReviewComment[]>();
  readonly #loads = new Map<string, number>();
  readonly #states = new Map<string, string>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #loadMs = 0;
  #onError: (error: unknown) => void;

  constructor(transactions: Transactions, memory: ReviewMemory, onError: (error: unknown) => void) {
    this.#transactions = transactions;
    this.#memory = this.#store.add(memory);
    this.#onError = onError;
    this.#store.add(
      transactions.onChange((change) => {
        if (change.type === "shown") this.#reload();
        else if (change.type === "transaction" && change.transaction === transactions.shown) {
          if (change.change.type === "status") this.#onStatus(change.transaction);
          else if (change.change.type === "files") this.#reloadSoon();
        }
      }),
    );
  }

  /** The review of the shown transaction; an empty one where there is nothing to review. */
  get shown(): ReviewModel {
    const { shown } = this.#transactions;
    return shown === undefined ? new ReviewModel() : this.of(shown.id);
  }

  of(transaction: string): ReviewModel {
    let model = this.#models.get(transaction);
    if (model === undefined) {
      model = new ReviewModel();
      this.#models.set(transaction, model);
      this.#recall(transaction, model);
    }
    return model;
  }

  #recall(transaction: string, model: ReviewModel): void {
    const known = this.#memory.read(transaction);
    if (known === undefined) return;
    model.restore(known);
    this.#edits.set(transaction, new Map(known.edits.map(([path, text]) => [path, bytes(text)])));
    const merges = known.merges.map(([path, { content, mine }]): [string, HandMerge] => [
      path,
      { content: bytes(content), mine: mine === null ? null : bytes(mine) },
    ]);
    this.#merges.set(transaction, new Map(merges));
    this.#comments.set(transaction, known.comments);
  }

  #remember(transaction: string): void {
    const model = this.#models.get(transaction);
    if (model === undefined) return;
    this.#memory.keep(transaction, () => ({
      ...model.choices(),
      edits: [...(this.#edits.get(transaction) ?? [])].map(([path, text]) => [path, base64(text)]),
      merges: [...(this.#merges.get(transaction) ?? [])].map(([path, { content, mine }]) => [
        path,
        { content: base64(content), mine: mine === null ? null : base64(mine) },
      ]),
      comments: [...(this.#comments.get(transaction) ?? [])],
    }));
  }

  /** Loads the change set now. */
  async load(transaction: LiveTransaction): Promise<ReviewModel> {
    const generation = (this.#loads.get(transaction.id) ?? 0) + 1;
    this.#loads.set(transaction.id, generation);
    const begun = performance.now();
    const view = await transaction.changes();
    this.#loadMs = performance.now() - begun;
    const model = this.of(transaction.id);
    // A later load is on its way or done: this answer is about an older shadow.
    if (this.#loads.get(transaction.id) !== generation || this.#store.isDisposed) return model;
    model.load(view);
    transaction.setConflicts(model.unresolved());
    this.#changed.fire({ transaction: transaction.id, reloaded: true });
    return model;
  }

  /** Changes what is chosen and tells the views. */
  choose(transaction: LiveTransaction, change: (model: ReviewModel) => void): void {
    const model = this.of(transaction.id);
    change(model);
    this.#remember(transaction.id);
    transaction.setConflicts(model.unresolved());
    this.#changed.fire({ transaction: transaction.id, reloaded: false });
  }

  isEditable(transaction: string, path: string): boolean {
    const one = this.#transactions.all.find(({ id }) => id === transaction);
    const state = one?.status.state;
    const file = this.of(transaction).file(path);
    const sealed = state === "sealed" || state === "undone";
    return sealed && file !== undefined && !file.binary && file.kind !== "deleted";
  }

  edit(transaction: string, path: string, content: Uint8Array): void {
    let edits = this.#edits.get(transaction);
    if (edits === undefined) {
      edits = new Map();
      this.#edits.set(transaction, edits);
    }
    edits.set(path, content);
    this.of(transaction).tick(path, true);
    this.#remember(transaction);
    this.#changed.fire({ transaction, reloaded: false });
  }

  /** What was written to lines of a transaction's changes. */
  commentsOf(transaction: string): readonly ReviewComment[] {
    this.of(transaction);
    return this.#comments.get(transaction) ?? [];
  }

  setComments(transaction: string, comments: readonly ReviewComment[]): void {
    this.of(transaction);
    this.#comments.set(transaction, comments);
    this.#remember(transaction);
  }

  /** A conflict merged by hand; undefined while markers are left in it. */
  merged(transaction: string, path: string, merge: HandMerge | undefined): void {
    const merges = this.#merges.get(transaction) ?? new Map<string, HandMerge>();
    this.#merges.set(transaction, merges);
    if (merge === undefined) merges.delete(path);
    else merges.set(path, merge);
    const one = this.#transactions.all.find(({ id }) => id === transaction);
    const settle = (model: ReviewModel): void =>
      merge === undefined ? model.unresolve(path) : model.resolve(path, "merged");
    if (one !== undefined) this.choose(one, settle);
  }

  /** Conflicts merged by hand among some files, as the supervisor takes them. */
  merges(transaction: string, files: readonly ChangedFile[]): NonNullable<Selection["merges"]> {
    const model = this.of(transaction);
    const merges = this.#merges.get(transaction);
    const made = files.flatMap(({ path }) => {
      const merge = model.sideOf(path) === "merged" ? merges?.get(path) : undefined;
      if (merge === undefined) return [];
      const { content, mine } = merge;
      return [[path, { content: base64(content), mine: mine === null ? null : base64(mine) }]];
    });
    return Object.fromEntries(made) as NonNullable<Selection["merges"]>;
  }

  hasEdit(transaction: string, path: string): boolean {
    return this.editOf(transaction, path) !== undefined;
  }

  /** The reviewer's own version of a file. */
  editOf(transaction: string, path: string): Uint8Array | undefined {
    this.of(transaction);
    return this.#edits.get(transaction)?.get(path);
  }

  /** A conflict that was merged by hand, as it was saved last. */
  mergeOf(transaction: string, path: string): HandMerge | undefined {
    this.of(transaction);
    return this.#merges.get(transaction)?.get(path);
  }

  /** The reviewer's own versions of some files, base64 by path. */
  edits(transaction: string, files: readonly ChangedFile[]): Record<string, string> {
    const wanted = new Set(files.map(({ path }) => path));
    const edits = [...(this.#edits.get(transaction) ?? [])];
    return Object.fromEntries(
      edits.filter(([path]) => wanted.has(path)).map(([path, content]) => [path, base64(content)]),
    );
  }

  dispose(): void {
    clearTimeout(this.#timer);
    this.#store.dispose();
  }

  /** A new state is read at once, and what a commit of a part, or its undoing, has left: when it is done, for while a commit
   * is on its way nothing is read. */
  #onStatus(transaction: LiveTransaction): void {
    const { state } = transaction.status;
    const readable = String(reviewable.has(transaction.state));
    const commits = transaction.commits.list().map((one) => `${one.commit} ${one.state}`);
    const seen = [state, readable, ...commits].join("\n");
    if (this.#states.get(transaction.id) === seen) return;
    this.#states.set(transaction.id, seen);
    if (state === "discarded") this.#forget(transaction.id);
    this.#reload();
  }

  /** While the agent works, changes are gathered for a moment: the longer, the longer reading them takes. */
  #reloadSoon(): void {
    this.#timer ??= setTimeout(
      () => {
        this.#timer = undefined;
        this.#reload();
      },
      Math.max(liveReloadMs, 5 * this.#loadMs),
    );
  }

  /** Nothing can be committed any more. (What is committed may be undone, and reviewed again.) */
  #forget(transaction: string): void {
    this.#memory.forget(transaction);
    this.#edits.delete(transaction);
    this.#merges.delete(transaction);
    this.#comments.delete(transaction);
  }

  #reload(): void {
    const { shown } = this.#transactions;
    if (shown === undefined || !reviewable.has(shown.state)) {
      this.#changed.fire({ transaction: shown?.id ?? "", reloaded: true });
      return;
    }
    this.load(shown).catch((error: unknown) => {
      if (!(error instanceof Failure)) this.#onError(error);
      // While the fork is made or the supervisor ends there is no change set to speak of: the next status asks again.
      this.#states.delete(shown.id);
    });
  }
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64");
}

function bytes(text: string): Uint8Array {
  return Buffer.from(text, "base64");
}
