import { Failure } from "../../base/errors.ts";
import type { ChangedFile, ChangeSet } from "./changeSet.ts";
import type { Hunk } from "./hunks.ts";

/**
 * What a person chose of a change set. Without `paths` and `hunks`: everything that is still to be published. A path
 * chooses the file, the rename from or to it, or all below a folder; a hunk's id chooses that hunk.
 */
export interface Selection {
  readonly paths?: readonly string[];
  readonly hunks?: readonly string[];
  readonly includeRunsLater?: boolean;
  readonly includeIgnored?: boolean;
}

/** What earlier commits published of one file. */
export interface PublishedPart {
  /** The whole file, whatever hunks it has. */
  readonly whole: boolean;
  readonly hunks: ReadonlySet<string>;
}

export type Published = ReadonlyMap<string, PublishedPart>;

/** One file to publish. `earlier` and `now` are hunks; `whole` says that nothing of the file remains afterwards. */
export interface Chosen {
  readonly file: ChangedFile;
  readonly whole: boolean;
  readonly earlier: readonly Hunk[];
  readonly now: readonly Hunk[];
}

/** The files of a change set that are not published yet, each with its hunks that remain. */
export function remaining(
  changeSet: ChangeSet,
  published: Published,
): readonly { readonly file: ChangedFile; readonly hunks: readonly Hunk[] }[] {
  return changeSet.files.flatMap((file) => {
    const part = published.get(file.path);
    if (part?.whole === true) return [];
    return [{ file, hunks: file.hunks.filter((hunk) => part?.hunks.has(hunk.id) !== true) }];
  });
}

/** True when nothing that is ticked from the start remains to be published. */
export function isComplete(changeSet: ChangeSet, published: Published): boolean {
  return remaining(changeSet, published).every(
    ({ file }) => file.ignored || file.runsLater !== undefined || file.refused !== undefined,
  );
}

/** The chosen files; throws a Failure of kind `usage` or `refused` for a choice that cannot be met. */
export function chooseFiles(
  changeSet: ChangeSet,
  published: Published,
  selection: Selection,
): readonly Chosen[] {
  const paths = selection.paths ?? [];
  const hunks = selection.hunks ?? [];
  if (paths.length === 0 && hunks.length === 0) {
    return remaining(changeSet, published)
      .filter(({ file }) => obstacle(file, selection) === undefined)
      .map(({ file }) => chosen(file, published));
  }
  const picked = new Map<string, Set<string> | "whole">();
  for (const path of paths) pickPath(changeSet, selection, path, picked);
  for (const id of hunks) pickHunk(changeSet, selection, id, picked);
  return changeSet.files.flatMap((file) => {
    const pick = picked.get(file.path);
    if (pick === undefined || published.get(file.path)?.whole === true) return [];
    return [chosen(file, published, pick === "whole" ? undefined : pick)];
  });
}

function chosen(file: ChangedFile, published: Published, only?: ReadonlySet<string>): Chosen {
  const done = published.get(file.path)?.hunks;
  const earlier = file.hunks.filter((hunk) => done?.has(hunk.id) === true);
  const open = file.hunks.filter((hunk) => done?.has(hunk.id) !== true);
  const now = only === undefined ? open : open.filter((hunk) => only.has(hunk.id));
  return { file, whole: now.length === open.length, earlier, now };
}

function obstacle(file: ChangedFile, selection: Selection): Failure | undefined {
  const name = JSON.stringify(file.path);
  if (file.refused !== undefined) {
    return new Failure("refused", "never-published", `${name} is never published: ${file.refused}`);
  }
  if (file.runsLater !== undefined && selection.includeRunsLater !== true) {
    return new Failure(
      "usage",
      "runs-later",
      `${name} runs later on your machine (${file.runsLater})`,
      "look at it, then add --include-runs-later",
    );
  }
  if (file.ignored && selection.includeIgnored !== true) {
    return new Failure(
      "usage",
      "ignored-output",
      `${name} is ignored output`,
      "add --include-ignored to publish it",
    );
  }
  return undefined;
}

function pickPath(
  changeSet: ChangeSet,
  selection: Selection,
  path: string,
  picked: Map<string, Set<string> | "whole">,
): void {
  const wanted = path.replace(/^(\.\/)+/, "").replace(/\/+$/, "");
  const exact = changeSet.files.filter((file) => file.path === wanted || file.from === wanted);
  const below = changeSet.files.filter(
    (file) => wanted === "" || wanted === "." || file.path.startsWith(`${wanted}/`),
  );
  if (exact.length === 0 && below.length === 0) {
    throw new Failure(
      "usage",
      "unknown-path",
      `the change set has no ${JSON.stringify(path)}`,
      "holdfast changes lists what it has",
    );
  }
  for (const file of exact) {
    const problem = obstacle(file, selection);
    if (problem !== undefined) throw problem;
    picked.set(file.path, "whole");
  }
  for (const file of below) {
    if (obstacle(file, selection) === undefined) picked.set(file.path, "whole");
  }
}

function pickHunk(
  changeSet: ChangeSet,
  selection: Selection,
  id: string,
  picked: Map<string, Set<string> | "whole">,
): void {
  const file = changeSet.files.find(({ hunks }) => hunks.some((hunk) => hunk.id === id));
  if (file === undefined) {
    throw new Failure(
      "usage",
      "unknown-hunk",
      `the change set has no hunk ${JSON.stringify(id)}`,
      "holdfast changes --json lists the hunks",
    );
  }
  const problem = obstacle(file, selection);
  if (problem !== undefined) throw problem;
  const pick = picked.get(file.path) ?? new Set<string>();
  if (pick !== "whole") picked.set(file.path, pick.add(id));
}
