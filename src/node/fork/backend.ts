import type { Spare } from "./spare.ts";
import type { Fork, OverlayMount, TransactionPaths } from "../../runtime/ports.ts";

/** What every backend gets. */
export interface ForkContext {
  readonly nativePath: string;
  readonly workspace: string;
  readonly paths: TransactionPaths;
  /** Directory, on the filesystem that was chosen, below which everything of the fork's bytes lies. */
  readonly place: string;
  /** Where the shadow goes; nothing is there yet. */
  readonly shadow: string;
  readonly manifest: string;
  readonly signal: AbortSignal;
  /** As asked for with the fork. */
  readonly onWaiting?: (() => void) | undefined;
  /** An earlier clone that this one may use up. */
  readonly spare?: Spare;
}

/** What a backend has made. `agentSide` is the directory in which the agent's first writes lie (shadow or upper). */
export interface MadeFork {
  readonly overlays: readonly OverlayMount[];
  readonly files: number;
  readonly bytes: number;
  readonly notes: readonly string[];
  readonly baseTree?: string;
  /** Made of a spare: how many files were not in it as they are now. */
  readonly refreshed?: number;
}

/** Makes a fork, or throws a Failure. What it leaves behind then is removed by its caller. */
export type Backend = (context: ForkContext) => Promise<MadeFork>;

/** Key under which the readers of a fork are kept. */
export function forkKey(fork: Fork): string {
  return `${fork.manifest}\0${fork.shadow}`;
}
