import type { FileChangeKind } from "../journal/entry.ts";
import type { Hunk } from "./hunks.ts";

/**
 * What stands at a path on one side. `mode` is the nine permission bits; `target` and paths are strings as the fork's
 * reader gives them; `sha256` is lower-case hex of the content, secrets as placeholders.
 */
export type FileState =
  | {
      readonly type: "file";
      readonly mode: number;
      readonly size: number;
      readonly sha256: string;
    }
  | { readonly type: "symlink"; readonly target: string }
  | { readonly type: "directory"; readonly mode: number };

/** Where review shows a file. Only `change` is ticked from the start. */
export type Section = "change" | "runsLater" | "ignored" | "conflict";

/** One changed path. `before` is absent for an added file, `after` for a deleted one. */
export interface ChangedFile {
  readonly path: string;
  readonly kind: FileChangeKind;
  /** The old path of a rename. */
  readonly from?: string;
  readonly before?: FileState;
  readonly after?: FileState;
  /** Not shown by lines: holds a NUL, or is too large to be compared by lines. */
  readonly binary: boolean;
  readonly section: Section;
  /** Why the file is not in `change`, in words for a person. */
  readonly why?: string;
  /** The base's own ignore rules exclude it; needed besides `section` where both apply. */
  readonly ignored: boolean;
  /** Why the file would have an effect by itself later; needed besides `section` where both apply. */
  readonly runsLater?: string;
  /** Never published, ticked or not, and why. */
  readonly refused?: string;
  /** Empty for binary files, symbolic links, directories, and files whose content is the same. */
  readonly hunks: readonly Hunk[];
}

/** The difference base → shadow at the seal: immutable, and kept as JSON as it is here. Sorted by path. */
export interface ChangeSet {
  readonly version: 1;
  readonly files: readonly ChangedFile[];
}

/** One file as `holdfast changes --json` shows it. */
export interface ListedFile {
  readonly path: string;
  readonly kind: FileChangeKind;
  readonly from?: string;
  /** Git's mode of the new side (`100755`, `120000`), when it is not that of the old side. */
  readonly mode?: string;
  readonly binary: boolean;
  readonly section: Section;
  readonly why?: string;
  readonly hunks: readonly Omit<Hunk, "edits">[];
}

/** The document of `holdfast changes --json` (DESIGN §11; `why` is there outside the section `change`). */
export function changesDocument(changeSet: ChangeSet): { readonly files: readonly ListedFile[] } {
  return { files: changeSet.files.map(listedFile) };
}

function listedFile(file: ChangedFile): ListedFile {
  const mode = file.after === undefined ? undefined : gitMode(file.after);
  const oldMode = file.before === undefined ? undefined : gitMode(file.before);
  return {
    path: file.path,
    kind: file.kind,
    ...(file.from !== undefined && { from: file.from }),
    ...(mode !== undefined && mode !== oldMode && { mode }),
    binary: file.binary,
    section: file.section,
    ...(file.why !== undefined && { why: file.why }),
    hunks: file.hunks.map(({ id, oldStart, oldLines, newStart, newLines }) => ({
      id,
      oldStart,
      oldLines,
      newStart,
      newLines,
    })),
  };
}

/** Git's mode of a state; undefined for a directory, which git does not know. */
export function gitMode(state: FileState): string | undefined {
  switch (state.type) {
    case "file":
      return (state.mode & 0o100) === 0 ? "100644" : "100755";
    case "symlink":
      return "120000";
    case "directory":
      return undefined;
  }
}

/** True when both sides are the same thing with the same content (and, unless told otherwise, the same mode). */
export function sameState(
  left: FileState | undefined,
  right: FileState | undefined,
  withMode = true,
): boolean {
  if (left === undefined || right === undefined) return left === right;
  if (left.type === "symlink" || right.type === "symlink") {
    return left.type === "symlink" && right.type === "symlink" && left.target === right.target;
  }
  if (withMode && left.mode !== right.mode) return false;
  if (left.type === "directory" || right.type === "directory") return left.type === right.type;
  return left.sha256 === right.sha256;
}
