/**
 * The port to the workspace for the one thing that writes there: publishing. The adapter is in src/node/publish.
 *
 * Invariants of an adapter:
 * - Every path is resolved beneath the workspace's root without following a symbolic link in any component.
 * - A step whose `expected` no longer stands at its path is not done; the whole publish is taken back.
 * - What a step replaces or removes is kept, whole, until the commit is forgotten.
 * - After `publish` settles, or after `recover` when the process died, either every step is done or none is.
 */
import type { FileState } from "../../core/change/changeSet.ts";
import type { ForkReader } from "../ports.ts";

/** What stands at a path of the workspace: its state, its content when small enough, and its identity. */
export interface Standing {
  readonly state: FileState;
  /** The content of a file that is small enough to be merged (core/change/lines, `textLimit`). */
  readonly bytes?: Uint8Array;
  /** Opaque: equal as long as nobody wrote, replaced, or changed the permissions of what stands there. */
  readonly identity: string;
}

/** What a file's new content comes from. */
export type Content =
  | { readonly from: "bytes"; readonly bytes: Uint8Array }
  | { readonly from: "shadow"; readonly reader: ForkReader; readonly path: string }
  | { readonly from: "kept"; readonly commit: string; readonly path: string };

/** One thing that a publish does. `expected` is the identity of what must still stand there, undefined for nothing. */
export type PublishStep =
  | {
      readonly step: "put";
      readonly path: string;
      readonly state: FileState & { readonly type: "file" };
      readonly content: Content;
      readonly expected: string | undefined;
    }
  | {
      readonly step: "link";
      readonly path: string;
      readonly target: string;
      readonly expected: string | undefined;
    }
  | { readonly step: "remove"; readonly path: string; readonly expected: string }
  | {
      readonly step: "mode";
      readonly path: string;
      readonly mode: number;
      readonly expected: string;
    }
  | { readonly step: "makeDirectory"; readonly path: string; readonly mode: number }
  /** Done only when the directory is empty by then. */
  | { readonly step: "removeDirectory"; readonly path: string };

/** One path of a commit as it is remembered, for undo and for the history. */
export interface CommittedPath {
  readonly path: string;
  readonly before?: FileState;
  readonly after?: FileState;
}

/** What a commit took out of the change set: a whole file, or some of its hunks. */
export interface CommittedPart {
  readonly path: string;
  readonly whole: boolean;
  readonly hunks: readonly string[];
}

/** What is remembered of a commit beside its steps: plain data, written before anything happens. */
export interface CommitNote {
  readonly commit: string;
  readonly transaction: string;
  readonly at: string;
  readonly parts: readonly CommittedPart[];
  readonly paths: readonly CommittedPath[];
  readonly published: number;
  readonly merged: number;
  readonly complete: boolean;
  /** Paths whose content a person wrote or chose in review. */
  readonly edited: readonly string[];
  /** The commit (or undo) that this one takes back. */
  readonly undoes?: string;
  /** The commit whose effect this one, as an undo of an undo, brings back. */
  readonly restores?: string;
}

/** One publish that has been decided: it happened, whatever the journal says. */
export interface CommitRecord extends CommitNote {
  readonly madeDirectories: readonly string[];
  readonly removedDirectories: readonly { readonly path: string; readonly mode: number }[];
}

/** Everything is prepared; nothing of the workspace is touched yet. */
export interface PreparedPublish {
  readonly commit: string;
  /**
   * Does all steps. `changed`: something else than expected stood at `path`, and all was taken back; prepare anew.
   * Throws a Failure after everything was taken back, or one with code `publish-unfinished` when not even that could
   * be done: recover will.
   */
  publish(): Promise<
    /** `leftover`: why a directory of ours is still beside the workspace; recover removes it. */
    | { readonly outcome: "published"; readonly leftover?: string }
    | { readonly outcome: "changed"; readonly path: string; readonly reason: string }
  >;
  abandon(): Promise<void>;
}

/** Collects the steps of one commit, copying contents beside their targets as they come. */
export interface Staging {
  readonly commit: string;
  add(step: PublishStep): Promise<void>;
  /** Keeps a text that the workspace is to hold after the commit, for a later three-way undo. */
  keepText(path: string, bytes: Uint8Array): Promise<void>;
  /** Makes everything durable, then the intent. */
  prepare(note: CommitNote): Promise<PreparedPublish>;
  abandon(): Promise<void>;
}

/** How one interrupted publish was brought to an end. */
export interface RecoveredPublish {
  readonly note: CommitNote;
  readonly outcome: "published" | "abandoned";
  /** Paths that a person changed after the interruption: left as they are, the other version is kept. */
  readonly leftAlone: readonly string[];
  /** Where the other versions of `leftAlone` are kept. */
  readonly keptAt?: string;
}

/** A workspace and the state directory of one transaction that publishes into it. */
export interface PublishTarget {
  look(path: string): Promise<Standing | undefined>;
  /** Names in a directory, undefined when there is none. */
  list(path: string): Promise<readonly string[] | undefined>;
  stage(): Promise<Staging>;
  /** Decided commits, oldest first. */
  records(): Promise<readonly CommitRecord[]>;
  /** What a commit replaced at a path, and what it left there; undefined when not kept or nothing was there. */
  replaced(commit: string, path: string): Promise<Uint8Array | undefined>;
  left(commit: string, path: string): Promise<Uint8Array | undefined>;
  /** Ends interrupted publishes, one way or the other. Idempotent. */
  recover(): Promise<readonly RecoveredPublish[]>;
  close(): Promise<void>;
}
