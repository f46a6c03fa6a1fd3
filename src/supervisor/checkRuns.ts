import type { Entry, EntryOf } from "../core/journal/entry.ts";
import { Failure, messageOf } from "../base/errors.ts";
import { CheckSteps, type CheckStep } from "../core/check/checkSteps.ts";
import type { Journal } from "../runtime/journal.ts";
import type {
  ChangedPath,
  CheckResult,
  Checks,
  Fork,
  ProvisionalResult,
  TransactionPaths,
} from "../runtime/ports.ts";
import { AgentPause } from "./agentPause.ts";

/** The shadow to check. */
export interface CheckedShadow {
  readonly fork: Fork;
  readonly workspace: string;
  readonly paths: TransactionPaths;
  readonly changed: readonly ChangedPath[];
  /** The differences as they are at the call. */
  readonly changesNow: () => Promise<readonly ChangedPath[]>;
}

/**
 * Runs the checks of one transaction, one generation after the other, and journals each answer, and what lies between it
 * and the one before under the tool call that did it. A result is current only when its generation is the newest; an older one is
 * never shown.
 */
export class CheckRuns {
  readonly #checks: Checks;
  readonly #journal: Journal;
  readonly #abort = new AbortController();
  readonly #steps: CheckSteps;
  /** Entries that the steps have taken. */
  #taken = 0;
  /** Output that ignore rules exclude is no cause of a step. */
  #ignored: ReadonlySet<string> = new Set();
  #generation: number;
  /** The newest generation whose answers are journaled. */
  #recorded = 0;
  readonly #pause: AgentPause;
  #latest: Promise<readonly CheckResult[]> | undefined;
  #answered: readonly CheckResult[] = [];

  constructor(checks: Checks, journal: Journal) {
    this.#checks = checks;
    this.#journal = journal;
    this.#pause = new AgentPause(journal);
    this.#steps = new CheckSteps(
      (check, path) => !this.#ignored.has(path) && checks.concerns(check, path),
    );
    // Generations go on where a supervisor before this one stopped.
    this.#generation = journal
      .entries()
      .reduce(
        (most, entry) => (entry.kind === "check.started" ? Math.max(most, entry.generation) : most),
        0,
      );
  }

  /** Starts the checks for a new state of the shadow; the answer before is stale from now on. */
  start(shadow: CheckedShadow): void {
    this.#pause.cancel();
    if (this.#abort.signal.aborted) return;
    const generation = ++this.#generation;
    const { changed, changesNow, ...where } = shadow;
    const { signal } = this.#abort;
    this.#ignored = new Set(changed.filter(({ ignored }) => ignored).map(({ path }) => path));
    this.#answered = [];
    this.#journal.append({ kind: "check.started", source: "holdfast", check: "all", generation });
    this.#latest = this.#checks
      .run({
        ...where,
        changed,
        generation,
        signal,
        onProvisional: (early) => this.#recordEarly(early, generation),
      })
      .catch((error: unknown) => [crashed(error)])
      .then(async (results) => {
        if (this.#isCurrent(generation)) {
          this.#answered = results;
          this.#record(results, generation, await movedSince(changed, changesNow));
        }
        return results;
      });
  }

  /** Starts the checks once the agent pauses: it writes several files in a row, and works faster alone. */
  startSoon(begin: () => void): void {
    if (!this.#abort.signal.aborted) this.#pause.await(begin);
  }

  /** The newest generation's results; empty when none was started. */
  async latest(): Promise<readonly CheckResult[]> {
    for (;;) {
      const wanted = this.#latest;
      const results = (await wanted) ?? [];
      if (wanted === this.#latest) return results;
    }
  }

  /** The newest generation's results as far as they are there. */
  get answered(): readonly CheckResult[] {
    return this.#answered;
  }

  async close(): Promise<void> {
    this.#pause.dispose();
    this.#abort.abort(new Error("the transaction ends"));
    await this.#checks.close();
  }

  #isCurrent(generation: number): boolean {
    return generation === this.#generation && !this.#abort.signal.aborted;
  }

  /** Only while the answer is still to come. */
  #recordEarly(early: ProvisionalResult, generation: number): void {
    if (!this.#isCurrent(generation) || this.#recorded >= generation) return;
    this.#journal.append({ kind: "check.provisional", source: "holdfast", generation, ...early });
  }

  #record(
    results: readonly CheckResult[],
    generation: number,
    moved: readonly ChangedPath[] | "unknown",
  ): void {
    if (!this.#isCurrent(generation)) return;
    this.#recorded = generation;
    const none: CheckResult = {
      ...crashed("no check applies here"),
      check: "all",
      status: "skipped",
    };
    for (const result of results.length > 0 ? results : [none]) {
      const unsteady =
        moved === "unknown" ||
        moved.some(({ path, ignored }) => !ignored && this.#checks.concerns(result.check, path));
      this.#journal.append({
        kind: "check.finished",
        source: "holdfast",
        generation,
        ...result,
        ...(unsteady ? { unsteady: true as const } : {}),
      });
      for (const step of this.#newSteps()) {
        this.#journal.append({ kind: "check.step", source: "holdfast", ...step });
      }
    }
  }

  /** The steps that the newest entry tells; those of earlier entries are journaled already. */
  #newSteps(): readonly CheckStep[] {
    const entries = this.#journal.entries();
    let steps: readonly CheckStep[] = [];
    for (; this.#taken < entries.length; this.#taken++) {
      const entry = entries[this.#taken];
      if (entry !== undefined) steps = this.#steps.apply(entry);
    }
    return steps;
  }
}

/** The paths that differ otherwise now than they did at the start of a run. */
async function movedSince(
  changed: readonly ChangedPath[],
  changesNow: () => Promise<readonly ChangedPath[]>,
): Promise<readonly ChangedPath[] | "unknown"> {
  const before = new Map(changed.map((one) => [one.path, keyOf(one)]));
  const now = await changesNow().catch((error: unknown) => {
    if (error instanceof Failure) return "unknown" as const;
    throw error;
  });
  if (now === "unknown") return now;
  const there = new Set(now.map(({ path }) => path));
  return [
    ...now.filter((one) => before.get(one.path) !== keyOf(one)),
    ...changed.filter(({ path }) => !there.has(path)),
  ];
}

function keyOf({ change, from, stamp }: ChangedPath): string {
  return `${change} ${from ?? ""} ${stamp ?? ""}`;
}

function crashed(error: unknown): CheckResult {
  return {
    check: "checks",
    status: "crashed",
    durationMs: 0,
    note: messageOf(error),
    introduced: [],
    resolved: [],
    unchanged: 0,
  };
}

/** The results of the newest generation that the journal has, for a supervisor that was started again; none when they are
 * older than the seal. */
export function lastCheckOf(entries: readonly Entry[]): readonly EntryOf<"check.finished">[] {
  const sealed = entries.findLast((entry) => entry.kind === "transaction.sealed")?.seq ?? 0;
  const finished = entries
    .slice(sealed)
    .filter((entry): entry is EntryOf<"check.finished"> => entry.kind === "check.finished")
    .filter((entry) => entry.check !== "all");
  const newest = finished.at(-1)?.generation;
  return finished.filter((entry) => entry.generation === newest);
}
