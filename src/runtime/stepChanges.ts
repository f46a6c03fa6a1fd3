import type { FileChangeKind } from "../core/journal/entry.ts";
import type { ChangedPath } from "./ports.ts";

/** What a step did to one path, against the step before it. */
export interface StepChange {
  readonly path: string;
  readonly change: FileChangeKind;
  readonly from?: string;
  readonly bytes?: number;
  /** As in {@link ChangedPath}; none where nothing is left that could tell. */
  readonly changedAtMs?: number;
  /** Tells this change from a later one of the same path. */
  readonly key: string;
}

/** A scan: what differs from the base, by path. */
export type Scanned = ReadonlyMap<string, ChangedPath>;

/**
 * What changed between two scans, each of which tells the difference from the base: a file that is added and then edited
 * was `added`, then `modified`; one that is as it was in the base again has changed too.
 */
export function stepChanges(before: Scanned, now: Scanned): readonly StepChange[] {
  const [was, is] = [presence(before), presence(now)];
  const paths = new Set([...was.keys(), ...is.keys()]);
  const inBase = (path: string): boolean => isInBase(before.get(path) ?? now.get(path));
  const stood = (path: string): boolean => was.get(path) ?? inBase(path);
  const stands = (path: string): boolean => is.get(path) ?? inBase(path);
  const gone = [...paths].filter((path) => stood(path) && !stands(path));
  /** By the name in the base, where what has gone now stood. */
  const goneFrom = new Map(gone.map((path) => [before.get(path)?.from ?? path, path]));
  const moved = new Set<string>();
  const changes: StepChange[] = [];
  for (const path of paths) {
    const [known, one] = [before.get(path), now.get(path)];
    if (!stands(path)) continue;
    if (stood(path)) {
      if (!isSame(known, one)) changes.push(stepOf(path, one, changeTo(one)));
      continue;
    }
    // Not listed: back at its own name.
    const source = one === undefined ? path : one.from;
    const from = source === undefined ? undefined : goneFrom.get(source);
    if (from === undefined) changes.push(stepOf(path, one, "added"));
    else changes.push({ ...stepOf(path, one, "renamed"), from });
    if (from !== undefined) moved.add(from);
  }
  for (const path of gone) {
    if (!moved.has(path)) changes.push(stepOf(path, now.get(path), "deleted"));
  }
  return changes;
}

/** Whether something stands at the paths that a scan speaks of, also as the source of a rename. */
function presence(scanned: Scanned): ReadonlyMap<string, boolean> {
  const present = new Map<string, boolean>();
  for (const { from } of scanned.values()) if (from !== undefined) present.set(from, false);
  for (const { path, change } of scanned.values()) present.set(path, change !== "deleted");
  return present;
}

/** A path that no scan lists is the source of a rename, which is in the base. */
function isInBase(listed: ChangedPath | undefined): boolean {
  return listed?.change !== "added" && listed?.change !== "renamed";
}

/** The same file in the same state, whatever it counts as; not listed is as in the base. */
function isSame(known: ChangedPath | undefined, one: ChangedPath | undefined): boolean {
  if (known?.stamp !== undefined && one?.stamp !== undefined) return known.stamp === one.stamp;
  return keyOf(known) === keyOf(one);
}

function changeTo(one: ChangedPath | undefined): FileChangeKind {
  return one?.change === "symlink" || one?.change === "mode" ? one.change : "modified";
}

function stepOf(path: string, one: ChangedPath | undefined, change: FileChangeKind): StepChange {
  return {
    path,
    change,
    ...(one?.bytes === undefined ? {} : { bytes: one.bytes }),
    ...(one?.changedAtMs === undefined ? {} : { changedAtMs: one.changedAtMs }),
    key: `${change}|${keyOf(one)}`,
  };
}

function keyOf(one: ChangedPath | undefined): string {
  if (one === undefined) return "";
  return [one.change, one.from ?? "", one.mode ?? "", one.bytes ?? "", one.stamp ?? ""].join("|");
}
