import { mkdirSync, readFileSync } from "node:fs";
import path from "node:path";
import type { Fork, Savepoints, TransactionPaths } from "../../runtime/ports.ts";
import { forkKey } from "./backend.ts";
import { MountedShadow } from "./mountedShadow.ts";
import { Reader } from "./reader.ts";
import { RestorePlan } from "./restorePlan.ts";
import { RestoredBase } from "./restoredBase.ts";
import { ShadowRestore } from "./restoreShadow.ts";
import {
  loadSavepoint,
  pathsThatDiffer,
  savepointNumbers,
  savepointsIn,
  storeSavepoint,
  viewOf,
  type Difference,
  type Saved,
} from "./savepointFile.ts";
import { Saving } from "./saving.ts";
import { scanFork } from "./scanFork.ts";

/*
 * A savepoint is what differs from the base, in `state/savepoints/<number>.json`, with contents by hash in `blobs/`; so it
 * costs what has changed, and a file that is the same as in the savepoint before (same inode, ctime and size) is not read
 * again; small ones that are many are read by the native program. `.git` is in it: going back takes the agent's commits back too. So is what an overlay's upper layer changes (heavy
 * ignored directories, git's objects, or the whole tree): the base is the lower layer there, the upper one is only read.
 *
 * It knows times to the nanosecond, which names are one file, FIFOs and sockets, as far as the base or the shadow has them.
 *
 * Invariants: a savepoint file appears whole, after its blobs. Restoring first takes a savepoint, writes only paths that
 * differ, and so leaves everything else alone, times and all. Nothing that the base had is removed, unless the savepoint
 * itself had it removed. What lies in an overlay is written through its mount (see {@link MountedShadow}).
 */

/** What a call works on. */
interface Subject {
  readonly fork: Fork;
  readonly workspace: string;
  readonly paths: TransactionPaths;
}

/** Files that changed: directories alone, and what is in git's own, are not counted. */
function countFiles(
  changed: readonly string[],
  before: ReadonlyMap<string, Difference>,
  now: ReadonlyMap<string, Difference>,
): number {
  return changed.filter((one) => {
    const states = [before.get(one), now.get(one)].filter((state) => state !== undefined);
    const isDirectory = states.every(
      (state) => state.is === "directory" || (state.is === "absent" && state.directory === true),
    );
    return !isDirectory && !one.split("/").includes(".git");
  }).length;
}

/** Savepoints over the native scan. */
export function savepoints(options: { readonly nativePath: string }): Savepoints {
  const { nativePath } = options;
  const readers = new Map<string, Reader>();

  function readerOf({ fork, workspace, paths }: Subject): Reader {
    const known = readers.get(forkKey(fork)) ?? new Reader(fork, workspace, paths);
    readers.set(forkKey(fork), known);
    return known;
  }

  async function take(
    subject: Subject,
    at: string,
    name: string | undefined,
    always: boolean,
  ): Promise<Saved | undefined> {
    const { fork, workspace, paths } = subject;
    const number = savepointNumbers(paths).at(-1) ?? 0;
    const last = number === 0 ? undefined : loadSavepoint(paths, `s${number}`);
    const before = last?.differences ?? new Map<string, Difference>();
    const blobs = path.join(savepointsIn(paths), "blobs");
    mkdirSync(blobs, { recursive: true, mode: 0o700 });
    const records = await scanFork(nativePath, fork, workspace, paths, true);
    const reader = readerOf(subject);
    reader.scanned(new Set(records.filter(({ code }) => code === "O").map((one) => one.path)));
    const saving = new Saving(fork, reader, blobs, before);
    const differences = await saving.differences(nativePath, records);
    const changed = pathsThatDiffer(before, differences);
    if (changed.length === 0 && !always) return undefined;
    const saved: Saved = {
      savepoint: `s${number + 1}`,
      at,
      ...(name !== undefined && { name }),
      files: countFiles(changed, before, differences),
      overlays: true,
      exact: true,
      differences,
    };
    storeSavepoint(paths, saved);
    return saved;
  }

  return {
    async take(fork, workspace, paths, { at, name }) {
      const saved = await take({ fork, workspace, paths }, at, name, name !== undefined);
      return saved && viewOf(saved);
    },
    list: (paths) =>
      savepointNumbers(paths).map((number) => viewOf(loadSavepoint(paths, `s${number}`))),
    async read(fork, workspace, paths, { savepoint, path: at }) {
      const found = loadSavepoint(paths, savepoint).differences.get(at);
      if (found === undefined || found.is === "same")
        return readerOf({ fork, workspace, paths }).read("base", at);
      if (found.is === "symlink") return Buffer.from(found.target);
      if (found.is !== "file") return undefined;
      return readFileSync(path.join(savepointsIn(paths), "blobs", found.blob));
    },
    async restore(fork, workspace, paths, { at, to, hostView }) {
      const target = loadSavepoint(paths, to);
      const subject = { fork, workspace, paths };
      const shadow = await MountedShadow.open(nativePath, fork, hostView);
      try {
        const before = await take(subject, at, `before going back to ${to}`, true);
        if (before === undefined) throw new Error("a savepoint that is always taken was not");
        const reader = readerOf(subject);
        const base = new RestoredBase(reader, fork);
        const inPlace = (one: string): boolean => target.overlays || !isInOverlay(fork, one);
        const plan = new RestorePlan({ before, target, base, shadow, inPlace });
        await new ShadowRestore(
          plan,
          { base, shadow, nativePath },
          savepointsIn(paths),
        ).bringBack();
        return viewOf(before);
      } finally {
        await shadow.close();
      }
    },
  };
}

function isInOverlay(fork: Fork, one: string): boolean {
  return fork.overlays.some(({ at }) => one.startsWith(`${at}/`));
}
