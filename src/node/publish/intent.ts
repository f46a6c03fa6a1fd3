import { readFileSync } from "node:fs";
import type { CommitNote, CommitRecord } from "../../runtime/commit/publishPort.ts";

/** One operation of the native program (native/PROTOCOL.md, publish). Paths are strings as pathBytes.ts decodes them. */
export interface PublishOperation {
  readonly kind: "put" | "remove" | "rmdir" | "mkdir" | "mode";
  readonly stage: number;
  readonly slot: string;
  readonly path: string;
  readonly expected: string;
  readonly staged: string;
  /** Identity of the directory that `path` is in, as it was looked into; absent in intents of earlier versions. */
  readonly parent?: string;
}

/** A directory on the mount of its targets, where new files wait and old ones are kept. */
export interface StageDirectory {
  readonly path: string;
  readonly own: boolean;
}

/** A text that the commit leaves in the workspace, kept in `left.pack`. */
export interface KeptText {
  readonly path: string;
  readonly at: number;
  readonly bytes: number;
}

/**
 * The intent of a publish, durable before its first operation, and unchanged its record afterwards:
 * `commits/<commit>/intent.json` means undecided (recover takes it back or finishes it), the same file under the name
 * `record.json` means that it happened. A commit's directory with neither is leftovers of a preparation.
 */
export interface Intent {
  readonly version: 1;
  readonly note: CommitNote;
  readonly root: string;
  readonly rootIdentity: string;
  readonly stages: readonly StageDirectory[];
  readonly operations: readonly PublishOperation[];
  readonly left: readonly KeptText[];
  readonly madeDirectories: CommitRecord["madeDirectories"];
  readonly removedDirectories: CommitRecord["removedDirectories"];
}

export const intentFile = "intent.json";
export const recordFile = "record.json";
export const stagesFile = "stages.json";
export const packFile = "left.pack";

/** The intent or record at a path; undefined when there is none. Only Holdfast writes there. */
export function readIntent(file: string): Intent | undefined {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as Intent;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

export function recordOf({ note, madeDirectories, removedDirectories }: Intent): CommitRecord {
  return { ...note, madeDirectories, removedDirectories };
}
