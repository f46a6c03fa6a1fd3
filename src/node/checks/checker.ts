import type { PairAnswer } from "../../core/check/answers.ts";
import type { ChangedPath, Fork, ForkReader, TransactionPaths } from "../../runtime/ports.ts";
import type { BaseContent } from "./baseContent.ts";
import type { CheckSandbox } from "./checkSandbox.ts";

/** Bounds of one run of one check. */
export interface CheckLimits {
  readonly timeoutMs: number;
  readonly memoryMb: number;
}

/** What is known early: some files, and both sides of nothing but them. */
export interface EarlyAnswer {
  readonly paths: readonly string[];
  readonly pairs: readonly PairAnswer[];
}

/** What a checker gets to answer for one generation of the shadow. */
export interface CheckContext {
  readonly workspace: string;
  readonly fork: Fork;
  readonly paths: TransactionPaths;
  readonly reader: ForkReader;
  readonly changed: readonly ChangedPath[];
  /** The differences as they are at the call; absent where nothing can tell. */
  readonly changesNow: (() => Promise<readonly ChangedPath[]>) | undefined;
  readonly base: BaseContent;
  readonly sandbox: CheckSandbox;
  readonly limits: CheckLimits;
  readonly signal: AbortSignal;
  /** Takes both sides of a few files whose answer is there before the whole one. */
  readonly onProvisional: ((early: EarlyAnswer) => Promise<void>) | undefined;
}

/** All diagnostics of both sides, project by project, and what a person should know about the run. */
export interface CheckerAnswer {
  readonly pairs: readonly PairAnswer[];
  readonly notes: readonly string[];
}

/** One kind of check over one fork. `run` throws {@link CheckFailure} when there is no answer. */
export interface Checker {
  readonly name: string;
  /** True when a change to this path can change the answer. */
  concerns(path: string): boolean;
  run(context: CheckContext): Promise<CheckerAnswer>;
  close(): Promise<void>;
}
