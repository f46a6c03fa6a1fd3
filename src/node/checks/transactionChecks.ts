import { join } from "node:path";
import { Failure } from "../../base/errors.ts";
import { combinedDelta } from "../../core/check/answers.ts";
import type {
  ChangedPath,
  CheckResult,
  Checks,
  Fork,
  ForkReader,
  TransactionPaths,
} from "../../runtime/ports.ts";
import { BaseContent } from "./baseContent.ts";
import { CheckFailure } from "./checkFailure.ts";
import type { CheckContext, Checker, CheckLimits, EarlyAnswer } from "./checker.ts";
import type { CheckSandbox } from "./checkSandbox.ts";
import { comparison } from "./comparison.ts";

export interface ChecksOptions {
  /** Reads both sides of the fork: `Workspaces.reader`. */
  readonly reader: (fork: Fork, workspace: string, paths: TransactionPaths) => ForkReader;
  /** The differences now: `Workspaces.changes`. Lets a base run find out that the agent wrote meanwhile. */
  readonly changes?: (
    fork: Fork,
    workspace: string,
    paths: TransactionPaths,
  ) => Promise<readonly ChangedPath[]>;
  readonly sandbox: CheckSandbox;
  /** Bounds of each run of the check of that name. */
  readonly limits: (check: string) => CheckLimits;
  /** The checkers that may apply, made anew for this transaction. */
  readonly checkers: readonly Checker[];
}

type Request = Parameters<Checks["run"]>[0];

/**
 * The checks of one transaction. Generations of one checker run one after the other; of those that wait, only the newest runs,
 * and the others answer `skipped`. Call it once right after the fork with no changes, so that bases are ready early.
 */
export class TransactionChecks implements Checks {
  readonly #options: ChecksOptions;
  readonly #lines = new Map<Checker, Promise<unknown>>();
  readonly #closed = new AbortController();
  #newest = -1;
  #base: BaseContent | undefined;

  constructor(options: ChecksOptions) {
    this.#options = options;
  }

  async run(request: Request): Promise<readonly CheckResult[]> {
    this.#newest = Math.max(this.#newest, request.generation);
    const results = await Promise.all(
      this.#options.checkers.map((checker) => this.#inLine(checker, request)),
    );
    return results.filter((result) => result !== undefined);
  }

  concerns(check: string, path: string): boolean {
    const checker = this.#options.checkers.find(({ name }) => name === check);
    return checker !== undefined && !path.startsWith(".git/") && checker.concerns(path);
  }

  /** Ends what runs, and what was just being started: nothing of the checks writes afterwards. */
  async close(): Promise<void> {
    this.#closed.abort();
    await this.#closeAll();
    await Promise.all(this.#lines.values());
    await this.#closeAll();
  }

  async #closeAll(): Promise<void> {
    await Promise.all(this.#options.checkers.map((checker) => checker.close()));
  }

  #inLine(checker: Checker, request: Request): Promise<CheckResult | undefined> {
    const before = this.#lines.get(checker) ?? Promise.resolve();
    const mine = before.then(() => this.#one(checker, request));
    this.#lines.set(
      checker,
      mine.catch(() => undefined),
    );
    return mine;
  }

  async #one(checker: Checker, request: Request): Promise<CheckResult | undefined> {
    const begun = performance.now();
    const nothing = { introduced: [], resolved: [], unchanged: 0 };
    const done = (): number => Math.round(performance.now() - begun);
    if (request.generation < this.#newest) {
      const note = `superseded by generation ${this.#newest}`;
      return { check: checker.name, status: "skipped", durationMs: 0, note, ...nothing };
    }
    if (request.signal.aborted || this.#closed.signal.aborted) {
      return { check: checker.name, status: "skipped", durationMs: 0, note: "stopped", ...nothing };
    }
    try {
      const plain = this.#context(request, checker.name);
      const context: CheckContext = {
        ...plain,
        onProvisional: async (early) => {
          if (request.generation === this.#newest)
            await tellEarly(request, plain, checker.name, early);
        },
      };
      const answer = await checker.run(context);
      if (answer.pairs.length === 0) return undefined;
      const delta = combinedDelta(answer.pairs, await comparison(context, answer.pairs));
      const note = [...delta.reasons, ...answer.notes].join("; ");
      return {
        check: checker.name,
        status: delta.status,
        durationMs: done(),
        ...(note === "" ? {} : { note }),
        introduced: delta.introduced,
        resolved: delta.resolved,
        unchanged: delta.unchanged,
        ...(delta.partial ? { partial: true as const } : {}),
      };
    } catch (error) {
      const { status, message } = failureOf(error);
      return { check: checker.name, status, durationMs: done(), note: message, ...nothing };
    }
  }

  #context(request: Request, check: string): CheckContext {
    const { workspace, fork, paths, changed } = request;
    const signal = AbortSignal.any([request.signal, this.#closed.signal]);
    const reader = this.#options.reader(fork, workspace, paths);
    this.#base ??= new BaseContent(join(paths.state, "checks", "base"), reader);
    const { sandbox, limits, changes } = this.#options;
    return {
      changesNow:
        changes === undefined ? undefined : async () => ours(await changes(fork, workspace, paths)),
      workspace,
      fork,
      paths,
      reader,
      changed: ours(changed),
      base: this.#base,
      sandbox,
      limits: limits(check),
      signal,
      onProvisional: undefined,
    };
  }
}

async function tellEarly(
  request: Request,
  context: CheckContext,
  check: string,
  { paths, pairs }: EarlyAnswer,
): Promise<void> {
  const delta = combinedDelta(pairs, await comparison(context, pairs));
  const { introduced, resolved } = delta;
  request.onProvisional?.({ check, paths, introduced, resolved });
}

/** A sandbox that cannot be built and a base that is lost are told like any other end without an answer. */
function failureOf(error: unknown): CheckFailure {
  if (error instanceof CheckFailure) return error;
  if (!(error instanceof Failure)) throw error;
  return new CheckFailure(error.code === "base-lost" ? "notChecked" : "crashed", error.line);
}

/** Git's own files concern no check. */
function ours(changed: readonly ChangedPath[]): readonly ChangedPath[] {
  return changed.filter((change) => !change.path.startsWith(".git/"));
}
