import { Failure } from "../../base/errors.ts";
import type { ChangeSet, FileState } from "../../core/change/changeSet.ts";
import {
  chooseFiles,
  isComplete,
  remaining,
  type Chosen,
  type Published,
  type Selection,
} from "../../core/change/selection.ts";
import type { ForkReader } from "../ports.ts";
import { changeOf, type PathChoice } from "./chosenChange.ts";
import { ConflictFailure, type PathConflict } from "./conflictFailure.ts";
import { publishedBy } from "./history.ts";
import { PathPlanner, type PathChange, type PlannedPath } from "./planPaths.ts";
import { planDirectories, stepOf, type DirectoryKnowledge } from "./planSteps.ts";
import type {
  CommitNote,
  CommittedPart,
  CommittedPath,
  PreparedPublish,
  PublishTarget,
  Staging,
} from "./publishPort.ts";

/** A commit as a person asks for it. */
export interface CommitRequest {
  readonly transaction: string;
  readonly target: PublishTarget;
  readonly reader: ForkReader;
  readonly changeSet: ChangeSet;
  readonly selection: Selection;
  /** What the person decided for single paths; each path here is chosen even when `selection` does not name it. */
  readonly choices?: ReadonlyMap<string, PathChoice>;
  /** ISO 8601. */
  readonly now: string;
}

/** A commit with everything merged, staged and durable, and nothing written into the workspace. */
export interface PreparedCommit {
  readonly note: CommitNote;
  readonly publish: PreparedPublish["publish"];
  readonly abandon: PreparedPublish["abandon"];
}

/** Merges and stages what was chosen; throws a {@link ConflictFailure} when a person must choose first. */
export async function prepareCommit(request: CommitRequest): Promise<PreparedCommit> {
  const published = publishedBy(await request.target.records());
  const chosen = chooseWithChoices(request, published);
  if (chosen.length === 0) throwForNothing(request.changeSet, published);
  const choices = request.choices ?? new Map<string, PathChoice>();
  const changes = chosen.flatMap((one) => {
    const choice = choices.get(one.file.path);
    return choice?.take === "mine" ? [] : [changeOf(request.reader, one, choice)];
  });
  const parts = chosen.map(partOf);
  const knowledge: DirectoryKnowledge = {
    modeOf: async (path) => directoryMode(await request.reader.stat("shadow", path)),
    stays: async (path) => (await request.reader.stat("shadow", path))?.type === "directory",
  };
  const after = publishedAfter(published, parts);
  return stageChanges(request.target, changes, knowledge, (commit, outcome) => ({
    commit,
    transaction: request.transaction,
    at: request.now,
    parts,
    paths: outcome.paths,
    published: changes.length,
    merged: outcome.merged,
    complete: isComplete(request.changeSet, after),
    edited: [...choices].filter(([, choice]) => choice.take === "edited").map(([path]) => path),
  }));
}

/** Nothing of an empty change set is a commit like any other; else the person is told what is left, and why. */
function throwForNothing(changeSet: ChangeSet, published: Published): void {
  const left = remaining(changeSet, published);
  if (changeSet.files.length === 0) return;
  if (left.length === 0) {
    const fix = "`holdfast undo` takes it back";
    throw new Failure("failed", "committed", "everything is committed already", fix);
  }
  const [never, open] = [left.filter(isRefused), left.filter((one) => !isRefused(one))];
  if (open.length === 0) {
    const why = never[0]?.file.refused ?? "";
    throw new Failure(
      "refused",
      "never-published",
      `nothing is left that can be published; ${standing(never)} (${why})`,
      "what is in it can be read with `holdfast diff`; `holdfast discard` ends the transaction",
    );
  }
  const ways = [
    ...(open.some(({ file }) => file.runsLater !== undefined) ? ["--include-runs-later"] : []),
    ...(open.some(({ file }) => file.ignored) ? ["--include-ignored"] : []),
  ];
  throw new Failure(
    "failed",
    "nothing-ticked",
    `nothing is left that is published unasked; ${standing(open)}`,
    `look at them with \`holdfast changes\`, then add ${ways.join(" or ")}`,
  );
}

type Left = ReturnType<typeof remaining>[number];

function isRefused({ file }: Left): boolean {
  return file.refused !== undefined;
}

/** `there are still "a", "b", "c" and 2 more` */
function standing(left: readonly Left[]): string {
  const names = left.slice(0, 3).map(({ file }) => JSON.stringify(file.path));
  const more = left.length > 3 ? ` and ${left.length - 3} more` : "";
  return `there ${left.length === 1 ? "is" : "are"} still ${names.join(", ")}${more}`;
}

function directoryMode(found: Awaited<ReturnType<ForkReader["stat"]>>): number | undefined {
  return found?.type === "directory" ? found.mode & 0o777 : undefined;
}

function chooseWithChoices(request: CommitRequest, published: Published): readonly Chosen[] {
  const { changeSet, selection, choices } = request;
  const named = (selection.paths?.length ?? 0) + (selection.hunks?.length ?? 0) > 0;
  const paths = [...(selection.paths ?? []), ...(choices?.keys() ?? [])];
  const chosen = chooseFiles(changeSet, published, named ? { ...selection, paths } : selection);
  const missing = [...(choices?.keys() ?? [])].filter(
    (path) => !chosen.some(({ file }) => file.path === path),
  );
  const extra =
    missing.length === 0
      ? []
      : chooseFiles(changeSet, published, { ...selection, hunks: [], paths: missing });
  return [...chosen, ...extra];
}

function partOf({ file, whole, now }: Chosen): CommittedPart {
  return { path: file.path, whole, hunks: now.map(({ id }) => id) };
}

function publishedAfter(before: Published, parts: readonly CommittedPart[]): Published {
  const after = new Map(before);
  for (const { path, whole, hunks } of parts) {
    after.set(path, { whole, hunks: new Set([...(before.get(path)?.hunks ?? []), ...hunks]) });
  }
  return after;
}

interface StageOutcome {
  readonly paths: readonly CommittedPath[];
  readonly merged: number;
}

/** Plans, merges and stages changes of paths; leaves nothing staged when it throws. */
export async function stageChanges(
  target: PublishTarget,
  changes: readonly PathChange[],
  knowledge: DirectoryKnowledge,
  noteOf: (commit: string, outcome: StageOutcome) => CommitNote,
): Promise<PreparedCommit> {
  const staging = await target.stage();
  try {
    const outcome = await fillStage(target, staging, changes, knowledge);
    const note = noteOf(staging.commit, outcome);
    const prepared = await staging.prepare(note);
    return {
      note,
      publish: () => prepared.publish(),
      abandon: () => prepared.abandon(),
    };
  } catch (error) {
    await abandonQuietly(staging);
    throw error;
  }
}

/** The reason that is told is that of the failure before; what stays behind is removed by recover. */
async function abandonQuietly(staging: Staging): Promise<boolean> {
  try {
    await staging.abandon();
    return true;
  } catch {
    return false;
  }
}

async function fillStage(
  target: PublishTarget,
  staging: Staging,
  changes: readonly PathChange[],
  knowledge: DirectoryKnowledge,
): Promise<StageOutcome> {
  const planner = new PathPlanner(target, changes);
  const planned: PlannedPath[] = [];
  const conflicts: PathConflict[] = [];
  let merged = 0;
  for (const change of changes) {
    const outcome = await planner.plan(change);
    conflicts.push(...outcome.conflicts);
    if (outcome.merged) merged++;
    if (conflicts.length > 0) continue;
    for (const path of outcome.paths) planned.push(await stagePath(staging, path));
  }
  const directories = await planDirectories(target, planned, knowledge);
  conflicts.push(...directories.conflicts);
  if (conflicts.length > 0) throw new ConflictFailure(conflicts);
  for (const step of directories.steps) await staging.add(step);
  return { paths: planned.map(committedPath), merged };
}

/** Stages one path and forgets its bytes. */
async function stagePath(staging: Staging, path: PlannedPath): Promise<PlannedPath> {
  const step = stepOf(path);
  if (step !== undefined) await staging.add(step);
  const { result } = path;
  if (step?.step === "put" && result?.bytes !== undefined) {
    await staging.keepText(path.path, result.bytes);
  }
  return {
    path: path.path,
    mine: path.mine === undefined ? undefined : { state: path.mine.state, identity: "" },
    result: result === undefined ? undefined : { state: result.state },
  };
}

function committedPath({ path, mine, result }: PlannedPath): CommittedPath {
  const before: FileState | undefined = mine?.state;
  const after: FileState | undefined = result?.state;
  return {
    path,
    ...(before !== undefined && { before }),
    ...(after !== undefined && { after }),
  };
}

/** A failure for a publish that kept meeting somebody else's writes. */
export function restlessFailure(path: string, reason: string): Failure {
  return new ConflictFailure([{ path, reason: `${reason}, again and again` }]);
}
