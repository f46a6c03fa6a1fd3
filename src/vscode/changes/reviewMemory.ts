import fs from "node:fs";
import path from "node:path";
import * as z from "zod/mini";
import type { Ending } from "../../base/lifecycle.ts";

const comment = z.object({
  path: z.string(),
  side: z.enum(["base", "shadow"]),
  line: z.number(),
  text: z.string(),
  sent: z.boolean(),
});

const side = z.enum(["mine", "theirs", "merged"]);

/** What a person has chosen in a review so far; contents are base64. */
const remembered = z.object({
  ticked: z.array(z.tuple([z.string(), z.boolean()])),
  rejected: z.array(z.string()),
  sides: z.array(z.tuple([z.string(), side])),
  edits: z.array(z.tuple([z.string(), z.string()])),
  merges: z.array(
    z.tuple([z.string(), z.object({ content: z.string(), mine: z.nullable(z.string()) })]),
  ),
  comments: z._default(z.array(comment), []),
});
export type RememberedReview = z.output<typeof remembered>;

const delayMs = 300;
const keptReviews = 50;
const idShape = /^[\w-]+$/;

/**
 * Keeps choices of reviews over a reload of the window, one file per transaction in the storage that the editor gives us for
 * this workspace. It is the person's draft, nothing that anybody else reads; without it the review begins anew.
 */
export class ReviewMemory implements Ending {
  readonly #folder: string | undefined;
  readonly #onError: (error: unknown) => void;
  readonly #waiting = new Map<string, () => RememberedReview>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** Without a folder (no workspace is open) nothing is kept. `onError` hears what the disk refuses; the review goes on. */
  constructor(folder: string | undefined, onError: (error: unknown) => void) {
    this.#folder = folder;
    this.#onError = onError;
  }

  /** What was chosen before; undefined when nothing was, or when it cannot be read. */
  read(transaction: string): RememberedReview | undefined {
    const file = this.#fileOf(transaction);
    if (file === undefined || !fs.existsSync(file)) return undefined;
    try {
      return remembered.parse(JSON.parse(fs.readFileSync(file, "utf8")));
    } catch {
      return undefined; // of another version: the choices are made anew
    }
  }

  /** Keeps the choices, soon. */
  keep(transaction: string, review: () => RememberedReview): void {
    this.#waiting.set(transaction, review);
    this.#timer ??= setTimeout(() => this.#flush(), delayMs);
  }

  forget(transaction: string): void {
    this.#waiting.delete(transaction);
    const file = this.#fileOf(transaction);
    if (file !== undefined) this.#try(() => fs.rmSync(file, { force: true }));
  }

  dispose(): void {
    this.#flush();
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const [transaction, review] of waiting) {
      const file = this.#fileOf(transaction);
      if (file === undefined) continue;
      this.#try(() => {
        fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
        fs.writeFileSync(`${file}.new`, JSON.stringify(review()), { mode: 0o600 });
        fs.renameSync(`${file}.new`, file);
      });
    }
    this.#try(() => this.#prune());
  }

  #try(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#onError(error);
    }
  }

  /** Transactions end elsewhere too: only the newest files stay. */
  #prune(): void {
    if (this.#folder === undefined) return;
    const folder = path.join(this.#folder, "reviews");
    if (!fs.existsSync(folder)) return;
    // Names of transactions sort by time.
    for (const name of fs.readdirSync(folder).sort().slice(0, -keptReviews))
      fs.rmSync(path.join(folder, name), { force: true });
  }

  #fileOf(transaction: string): string | undefined {
    return this.#folder === undefined || !idShape.test(transaction)
      ? undefined
      : path.join(this.#folder, "reviews", `${transaction}.json`);
  }
}
