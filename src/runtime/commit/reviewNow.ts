import type { ChangedFile, ChangeSet } from "../../core/change/changeSet.ts";
import { chooseFiles, type Published } from "../../core/change/selection.ts";
import type { ForkReader } from "../ports.ts";
import { changeOf } from "./chosenChange.ts";
import type { PathConflict } from "./conflictFailure.ts";
import { publishedBy } from "./history.ts";
import { PathPlanner } from "./planPaths.ts";
import type { PublishTarget } from "./publishPort.ts";

/**
 * The part of a change set that is still to be published, as review shows it now: files that the workspace has meanwhile
 * changed against are in the section `conflict`, with the reason; hunks and files that earlier commits published are left
 * out, until nothing remains: then it is the whole change set again. Reads only.
 */
export async function reviewNow(
  target: PublishTarget,
  reader: ForkReader,
  changeSet: ChangeSet,
): Promise<ChangeSet> {
  const published = publishedBy(await target.records());
  const conflicts = await conflictsNow(target, reader, changeSet, published);
  const reasons = new Map(conflicts.map(({ path, reason }) => [path, reason]));
  const files = changeSet.files.flatMap((file) => openFile(file, published, reasons));
  return files.length === 0 ? changeSet : { version: 1, files };
}

function openFile(
  file: ChangedFile,
  published: Published,
  reasons: ReadonlyMap<string, string>,
): readonly ChangedFile[] {
  const part = published.get(file.path);
  if (part?.whole === true) return [];
  const hunks = file.hunks.filter((hunk) => part?.hunks.has(hunk.id) !== true);
  const why = reasons.get(file.path);
  return [{ ...file, hunks, ...(why !== undefined && { section: "conflict" as const, why }) }];
}

async function conflictsNow(
  target: PublishTarget,
  reader: ForkReader,
  changeSet: ChangeSet,
  published: Published,
): Promise<readonly PathConflict[]> {
  const everything = { includeRunsLater: true, includeIgnored: true };
  const chosen = chooseFiles(changeSet, published, everything);
  const changes = chosen.map((one) => changeOf(reader, one, undefined));
  const planner = new PathPlanner(target, changes);
  const conflicts: PathConflict[] = [];
  for (const change of changes) {
    if (await planner.isUntouched(change)) continue;
    const outcome = await planner.plan(change);
    conflicts.push(...outcome.conflicts);
  }
  return conflicts;
}
