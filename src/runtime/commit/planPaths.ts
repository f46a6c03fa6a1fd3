import { Failure } from "../../base/errors.ts";
import { sameState, type FileState } from "../../core/change/changeSet.ts";
import { mergeStates, type MergeAction } from "../../core/change/mergeStates.ts";
import { mergeTexts } from "../../core/change/mergeText.ts";
import { isShownByLines } from "../../core/change/patch.ts";
import { byteText, hashOf, textBytes } from "./byteText.ts";
import type { PathConflict } from "./conflictFailure.ts";
import type { Content, PublishTarget, Standing } from "./publishPort.ts";

/** One side of a path: its state, its bytes when small enough, and where its content is taken from. */
export interface Side {
  readonly state: FileState;
  readonly bytes?: Uint8Array;
  readonly content?: Content;
}

/** One path to bring from `base` to `theirs`, whatever else happened to it in the workspace. */
export interface PathChange {
  readonly path: string;
  /** The old path of a rename: what stands there is merged, moved here and taken away there. */
  readonly from?: string;
  /** The base's state when it is known without reading; the same content in the workspace means unchanged. */
  readonly quickBase?: FileState;
  readonly removes: boolean;
  readonly base: () => Promise<Side | undefined>;
  readonly theirs: () => Promise<Side | undefined>;
  /** A person's choice: publish `theirs` over whatever stands there. */
  readonly force?: true;
}

/** What is to stand at a path afterwards; `result` is undefined for nothing. */
export interface PlannedPath {
  readonly path: string;
  readonly mine: Standing | undefined;
  readonly result: Side | undefined;
}

/** How one change came out. */
export interface PlannedChange {
  readonly paths: readonly PlannedPath[];
  readonly conflicts: readonly PathConflict[];
  /** Both sides had changed, and were combined. */
  readonly merged: boolean;
}

type Looker = Pick<PublishTarget, "look" | "list">;

const nothingToDo: PlannedChange = { paths: [], conflicts: [], merged: false };

/** Merges changes, one at a time, with what stands in the workspace now. Reads only. */
export class PathPlanner {
  readonly #target: Looker;
  /** Paths that this plan takes away or moves. */
  readonly #vacated: ReadonlySet<string>;
  /** Paths that this plan fills. */
  readonly #filled: ReadonlySet<string>;

  constructor(target: Looker, changes: readonly PathChange[]) {
    this.#target = target;
    this.#vacated = new Set(
      changes.flatMap(({ path, from, removes }) => [
        ...(removes ? [path] : []),
        ...(from === undefined ? [] : [from]),
      ]),
    );
    this.#filled = new Set(changes.flatMap(({ path, removes }) => (removes ? [] : [path])));
  }

  /** True when the workspace still has what the transaction began with, so that there is nothing to merge. */
  async isUntouched({ path, from, quickBase }: PathChange): Promise<boolean> {
    const old = await this.#target.look(from ?? path);
    if (!sameState(old?.state, quickBase)) return false;
    return from === undefined || (await this.#target.look(path)) === undefined;
  }

  async plan(change: PathChange): Promise<PlannedChange> {
    try {
      return await this.#plan(change);
    } catch (error) {
      if (!(error instanceof Failure) || error.code !== "base-lost") throw error;
      return conflictAt(change.path, error.message);
    }
  }

  async #plan(change: PathChange): Promise<PlannedChange> {
    if (change.from !== undefined && change.from !== change.path) {
      return this.#planRename(change, change.from);
    }
    const standing = await this.#target.look(change.path);
    const theirs = await change.theirs();
    if (change.force === true) return forced(change.path, standing, theirs);
    const moved = !change.removes && this.#vacated.has(change.path);
    const emptied =
      standing?.state.type === "directory" &&
      theirs !== undefined &&
      theirs.state.type !== "directory" &&
      (await this.#isEmptied(change.path));
    const mine = moved || emptied ? undefined : standing;
    const base = moved ? undefined : await baseOf(change, mine);
    const outcome = combine(base, mine, theirs);
    if ("reason" in outcome) return conflictAt(change.path, outcome.reason);
    if (outcome.result === "keep") return { ...nothingToDo, merged: outcome.merged };
    return {
      paths: [{ path: change.path, mine: emptied ? undefined : standing, result: outcome.result }],
      conflicts: [],
      merged: outcome.merged,
    };
  }

  /** True when everything below a directory is taken away by this plan. */
  async #isEmptied(path: string): Promise<boolean> {
    for (const name of (await this.#target.list(path)) ?? []) {
      const below = `${path}/${name}`;
      if (this.#vacated.has(below)) continue;
      const standing = await this.#target.look(below);
      if (standing?.state.type !== "directory" || !(await this.#isEmptied(below))) return false;
    }
    return true;
  }

  async #planRename(change: PathChange, from: string): Promise<PlannedChange> {
    const { path } = change;
    const [old, standing, theirs] = [
      await this.#target.look(from),
      await this.#target.look(path),
      await change.theirs(),
    ];
    const occupied = this.#vacated.has(path) ? undefined : standing;
    if (old === undefined) {
      return theirs !== undefined && sameState(occupied?.state, theirs.state)
        ? nothingToDo
        : conflictAt(path, `renamed in the transaction, but ${from} is gone from the workspace`);
    }
    const outcome =
      change.force === true
        ? { result: theirs ?? ("keep" as const), merged: false }
        : combine(await baseOf(change, old), old, theirs);
    if ("reason" in outcome) return conflictAt(path, outcome.reason);
    const result = outcome.result === "keep" ? sideOf(old) : outcome.result;
    if (result === undefined) return conflictAt(path, "a rename to nothing");
    const moved = withContent(result, old, theirs);
    if (moved === undefined)
      return conflictAt(path, "too large to carry your edits to its new name");
    const removal: readonly PlannedPath[] = this.#filled.has(from)
      ? []
      : [{ path: from, mine: old, result: undefined }];
    if (occupied !== undefined) {
      if (sameState(occupied.state, moved.state)) {
        return { paths: removal, conflicts: [], merged: outcome.merged };
      }
      if (change.force !== true) {
        return conflictAt(path, "something else stands at the new name in the workspace");
      }
    }
    return {
      paths: [...removal, { path, mine: standing, result: moved }],
      conflicts: [],
      merged: outcome.merged || (outcome.result === "keep" && !sameState(old.state, theirs?.state)),
    };
  }
}

/** What one path holds becomes another's content: a result that changes only the mode brings its content with it. */
function withContent(result: Side, old: Standing, theirs: Side | undefined): Side | undefined {
  if (result.state.type !== "file" || result.content !== undefined) return result;
  if (theirs !== undefined && sameState(theirs.state, result.state, false)) {
    return { ...theirs, state: result.state };
  }
  return old.bytes === undefined
    ? undefined
    : { ...result, bytes: old.bytes, content: { from: "bytes", bytes: old.bytes } };
}

type Outcome =
  | { readonly reason: string }
  | { readonly result: Side | undefined | "keep"; readonly merged: boolean };

async function baseOf(change: PathChange, mine: Standing | undefined): Promise<Side | undefined> {
  return change.quickBase !== undefined && sameState(change.quickBase, mine?.state, false)
    ? { state: change.quickBase }
    : change.base();
}

function sideOf(standing: Standing): Side {
  return {
    state: standing.state,
    ...(standing.bytes !== undefined && { bytes: standing.bytes }),
  };
}

/** The three-way merge of one path. */
function combine(
  base: Side | undefined,
  mine: Standing | undefined,
  theirs: Side | undefined,
): Outcome {
  const decision = mergeStates(base?.state, mine?.state, theirs?.state);
  switch (decision.action) {
    case "keep":
      return { result: "keep", merged: !sameState(mine?.state, theirs?.state) };
    case "conflict":
      return { reason: decision.reason };
    case "remove":
      return { result: undefined, merged: false };
    case "take":
      return {
        result: { ...theirs, state: decision.state },
        merged: !sameState(mine?.state, base?.state),
      };
    case "mode":
      return modeOutcome(decision.mode, mine, base);
    case "mergeText":
      return mergeBytes(decision, base, mine, theirs);
  }
}

function modeOutcome(mode: number, mine: Standing | undefined, base: Side | undefined): Outcome {
  if (mine === undefined || mine.state.type === "symlink") throw new Error("a mode of nothing");
  return {
    result: { state: { ...mine.state, mode } },
    merged: !sameState(mine.state, base?.state),
  };
}

function mergeBytes(
  decision: Extract<MergeAction, { action: "mergeText" }>,
  base: Side | undefined,
  mine: Standing | undefined,
  theirs: Side | undefined,
): Outcome {
  if (base?.bytes === undefined || mine?.bytes === undefined || theirs?.bytes === undefined) {
    return { reason: "changed on both sides and too large to merge by lines" };
  }
  const [baseText, mineText, theirText] = [
    byteText(base.bytes),
    byteText(mine.bytes),
    byteText(theirs.bytes),
  ];
  if (!isShownByLines(baseText, mineText, theirText)) {
    return { reason: "binary, and changed on both sides" };
  }
  const merge = mergeTexts(baseText, mineText, theirText);
  if (!merge.clean) {
    const lines = merge.conflicts.map(({ at }) => at + 1).join(", ");
    return { reason: `both sides changed the same lines (near line ${lines} of the base)` };
  }
  return { result: fileSide(textBytes(merge.text), decision.mode), merged: true };
}

/** A file with these bytes. */
export function fileSide(bytes: Uint8Array, mode: number): Side {
  return {
    state: { type: "file", mode, size: bytes.length, sha256: hashOf(bytes) },
    bytes,
    content: { from: "bytes", bytes },
  };
}

function forced(
  path: string,
  standing: Standing | undefined,
  theirs: Side | undefined,
): PlannedChange {
  if (sameState(standing?.state, theirs?.state)) return nothingToDo;
  if (standing?.state.type === "directory" && theirs?.state.type !== "directory") {
    return conflictAt(path, "a directory stands there in the workspace");
  }
  return { paths: [{ path, mine: standing, result: theirs }], conflicts: [], merged: false };
}

function conflictAt(path: string, reason: string): PlannedChange {
  return { paths: [], conflicts: [{ path, reason }], merged: false };
}
