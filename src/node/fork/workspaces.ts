import { existsSync, mkdirSync, rmSync } from "node:fs";
import path from "node:path";
import { Failure, messageOf } from "../../base/errors.ts";
import type { BackendName } from "../../core/journal/entry.ts";
import type { Fork, TransactionPaths, Workspaces } from "../../runtime/ports.ts";
import { forkKey, type Backend, type ForkContext, type MadeFork } from "./backend.ts";
import { changedPaths } from "./changedPaths.ts";
import { cloneBackend, copyBackend } from "./cloneBackend.ts";
import { overlayBackend, overlayLimits, snapshotBackend } from "./frozenBackends.ts";
import { separateGit } from "./gitDirectory.ts";
import { freezeIgnoreRules, IgnoreRules } from "./ignoreRules.ts";
import { hideSecrets } from "./hideSecrets.ts";
import { besideWorkspace, checkWorkspace, tidyBeside } from "./place.ts";
import { abilitiesOf, type ForkAbilities } from "./probeForks.ts";
import { Reader } from "./reader.ts";
import { runNative } from "./runNative.ts";
import { scanFork } from "./scanFork.ts";
import { takenSpare, takeSpare } from "./spare.ts";
import { trackedFiles } from "./trackedFiles.ts";

type ForkRequest = Parameters<Workspaces["fork"]>[0];

/** From here on `auto` takes an overlay where blocks cannot be shared: a clone would take seconds and the bytes again. */
const largeTree = 200_000;

/** DESIGN §3 over the native program. `large`: tracked files of a tree that is too large to be copied. */
export function workspaces(options: {
  readonly nativePath: string;
  readonly large?: number;
}): Workspaces {
  const { nativePath, large = largeTree } = options;
  const readers = new Map<string, Reader>();
  const ignoreRules = new Map<string, IgnoreRules>();
  const tidying = new Map<string, Promise<void>>();
  const readerOf = (fork: Fork, workspace: string, paths: TransactionPaths): Reader => {
    const known = readers.get(forkKey(fork)) ?? new Reader(fork, workspace, paths);
    readers.set(forkKey(fork), known);
    return known;
  };
  return {
    async fork(request) {
      const fork = await forkWorkspace(nativePath, request, large);
      const { root } = request.paths;
      // What is left of the spare goes while the agent begins.
      if (existsSync(takenSpare(root))) tidying.set(forkKey(fork), tidy(nativePath, root));
      return fork;
    },
    reader: readerOf,
    async changes(fork, workspace, paths) {
      const reader = readerOf(fork, workspace, paths);
      const rules = ignoreRules.get(forkKey(fork)) ?? new IgnoreRules(paths.state);
      ignoreRules.set(forkKey(fork), rules);
      const records = await scanFork(nativePath, fork, workspace, paths);
      reader.scanned(new Set(records.filter(({ code }) => code === "O").map((one) => one.path)));
      return changedPaths(records, reader, rules);
    },
    async remove(fork, paths) {
      readers.delete(forkKey(fork));
      ignoreRules.delete(forkKey(fork));
      await tidying.get(forkKey(fork));
      tidying.delete(forkKey(fork));
      await takeDown(nativePath, path.dirname(fork.shadow), paths);
    },
  };
}

/** What cannot be removed now goes with the fork. */
async function tidy(nativePath: string, root: string): Promise<void> {
  const background = { inBackground: true } as const;
  await runNative(nativePath, "remove", [takenSpare(root)], background).catch(() => undefined);
}

/** Removes what a fork has made, as far as it got. `place` is the directory that holds its shadow. */
async function takeDown(nativePath: string, place: string, paths: TransactionPaths): Promise<void> {
  const more = [takenSpare(paths.root), paths.base, path.join(paths.state, "rules")];
  await takeDownTrees(nativePath, place, paths, more);
  rmSync(path.join(paths.state, "masks.json"), { force: true });
  if (place !== paths.root) tidyBeside(place);
}

/** What one backend has made. The next one needs the spare with its base, and the rules are being frozen meanwhile. */
async function takeDownTrees(
  nativePath: string,
  place: string,
  paths: TransactionPaths,
  more: readonly string[] = [],
): Promise<void> {
  const made = ["shadow", "base-tree", "overlays"].map((name) => path.join(place, name));
  await runNative(nativePath, "remove", [...made, ...more]);
  rmSync(path.join(paths.state, "manifest"), { force: true });
}

/** The backends to try, best first; with `auto` each but the last may turn out to be unavailable. */
function backendsFor(
  wanted: "auto" | BackendName,
  abilities: ForkAbilities,
  isLarge: boolean,
): readonly (readonly [BackendName, Backend])[] {
  const all: Readonly<Record<BackendName, Backend>> = {
    snapshot: snapshotBackend,
    clone: cloneBackend(abilities),
    overlay: overlayBackend(abilities),
    copy: copyBackend,
  };
  if (wanted !== "auto") return [[wanted, all[wanted]]];
  const best: BackendName[] = ["clone"];
  if (isLarge && abilities.share !== true && abilities.overlay === true) best.unshift("overlay");
  if (abilities.subvolume === true) best.unshift("snapshot");
  return best.map((name) => [name, all[name]]);
}

interface Chosen {
  readonly backend: BackendName;
  readonly made: MadeFork;
  readonly notes: readonly string[];
}

async function makeFork(
  wanted: "auto" | BackendName,
  abilities: ForkAbilities,
  context: ForkContext,
  large: number,
): Promise<Chosen> {
  const notes: string[] = [];
  const tracked = wanted === "auto" ? (trackedFiles(context.workspace) ?? 0) : 0;
  const backends = backendsFor(wanted, abilities, tracked >= large);
  for (const [index, [backend, make]] of backends.entries()) {
    try {
      const made = await make(context);
      if (wanted === "auto" && backend === "overlay")
        notes.push(
          `an overlay, because ${tracked} files would have to be copied here; --backend clone does`,
        );
      return { backend, made, notes };
    } catch (error) {
      const isLast = index === backends.length - 1;
      const isUnavailable = error instanceof Failure && error.code === "backend-unavailable";
      if (isLast || !isUnavailable) throw error;
      notes.push(messageOf(error));
      await takeDownTrees(context.nativePath, context.place, context.paths);
    }
  }
  throw new Error("no backend");
}

async function forkWorkspace(
  nativePath: string,
  request: ForkRequest,
  large: number,
): Promise<Fork> {
  const { workspace, paths, signal } = request;
  const started = performance.now();
  checkWorkspace(workspace, paths);
  const place = besideWorkspace(workspace, paths) ?? paths.root;
  const shadow = path.join(place, "shadow");
  const manifest = path.join(paths.state, "manifest");
  if (existsSync(shadow) || existsSync(manifest))
    throw new Failure("failed", "fork-exists", `there is a fork in ${paths.root} already`);
  for (const directory of [paths.base, paths.state, place])
    mkdirSync(directory, { recursive: true, mode: 0o700 });
  const spare =
    place === paths.root && (request.backend === "auto" || request.backend === "clone")
      ? takeSpare(nativePath, workspace, paths)
      : undefined;
  const { onWaiting } = request;
  const own = { nativePath, workspace, paths, place, shadow, manifest, signal, onWaiting };
  const context: ForkContext = spare === undefined ? own : { ...own, spare };
  let writing: readonly Promise<unknown>[] = [];
  try {
    const abilities = await abilitiesOf(nativePath, place);
    const making = makeFork(request.backend, abilities, context, large);
    const rules = freezeIgnoreRules(workspace, paths.state); // after the walk was started: git takes less long
    writing = [making, rules];
    void Promise.allSettled(writing); // a failure of the rules is told when they are waited for
    const chosen = await making;
    const { backend, made } = chosen;
    if (backend === "overlay")
      for (const note of [...chosen.notes, ...overlayLimits]) request.onProgress(note);
    const { overlays, files, bytes, baseTree, refreshed } = made;
    const fork: Fork = {
      ...{ backend, shadow, overlays, manifest, files, bytes },
      ...(baseTree !== undefined && { baseTree }),
      ...(refreshed !== undefined && { spare: true as const, refreshed }),
      forkMs: 0,
      notes: [],
    };
    const reader = new Reader(fork, workspace, paths);
    const git = await separateGit(context, fork, reader.manifest);
    const hidden = await hideSecrets(context, fork, reader);
    await rules;
    return {
      ...fork,
      forkMs: Math.round(performance.now() - started),
      notes: [...chosen.notes, ...made.notes, ...git, ...hidden],
    };
  } catch (error) {
    await Promise.allSettled(writing); // what is being made goes too
    await takeDown(nativePath, place, paths);
    throw error;
  }
}
