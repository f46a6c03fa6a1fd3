import type { Readable, Writable } from "node:stream";
import type { Fork } from "../../runtime/ports.ts";
import type { View } from "./typescript/viewFiles.ts";

/** A host path shown read-only at a path inside. */
export interface Shown {
  readonly from: string;
  readonly to: string;
}

export interface CheckLaunch {
  readonly workspace: string;
  readonly fork: Fork;
  /** Which side of the change set stands at the workspace's path. */
  readonly view: View;
  /** Needed for the base: host directory with the base content of changed files, and the paths that the base lacks. */
  readonly baseContent: string;
  readonly absentInBase: readonly string[];
  /** What a write into the workspace does: it fails, or it goes to memory and is forgotten. */
  readonly writes: "refused" | "discarded";
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Working directory, at or below the workspace. */
  readonly cwd: string;
  readonly shown: readonly Shown[];
  /** Host directory that is writable and lasts, at `workerPlaces.scratch`. */
  readonly scratch: string;
  /** The bound that the caller measures; the sandbox has an outer one that follows from it. */
  readonly memoryMb: number;
}

/** A checker at work. */
export interface CheckProcess {
  /** The sandbox's first process: everything in the sandbox is below it. */
  readonly pid: number;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Resolves when the process and everything it started is gone, and both streams are read to their end. */
  readonly exited: Promise<CheckExit>;
  /** Ends the whole process tree. */
  kill(): void;
}

export interface CheckExit {
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** The outer bound of the sandbox that ended it, in words. */
  readonly limit?: string;
}

/**
 * Runs checkers on one side of a change set: without network, without secrets, with nothing of the host but system
 * directories and what is shown, the workspace at its own path. Throws a Failure of kind `refused` when it cannot.
 */
export interface CheckSandbox {
  launch(spec: CheckLaunch): Promise<CheckProcess>;
}
