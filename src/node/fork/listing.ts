import { createHash } from "node:crypto";
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import type { ForkContext } from "./backend.ts";
import { CloneCounts } from "./forkNotes.ts";
import { homeOf } from "../state/home.ts";
import { buildOf, runNative, type NativeAnswer } from "./runNative.ts";

/*
 * A listing is the manifest of a tree that is not cloned. Its walk asks for the attributes of every file, and reads the
 * small ones that may hold a secret. The last listing of a workspace is kept in `$HOLDFAST_HOME/listings/<key>`: of a file
 * that is the same by device, inode, ctime, mtime and size, and had been left alone for a minute when it was read, the next
 * listing takes what was found then. Nothing else is taken from it, and no file is left out of the walk.
 *
 * With a snapshot the listing says in `<key>.origin` what it is of, and the next one starts from there: btrfs tells what has
 * changed since (native/src/cloneOrigin.c). When nothing has, it is the same listing once more.
 *
 * It holds names and attributes, no content. One that is damaged or made by another build of the native program is as none.
 */

function listingsIn(home: string): string {
  return path.join(home, "listings");
}

/** Another build of the program may look for other marks of secrets. */
function keptListing({ nativePath, workspace, paths }: ForkContext): string {
  const identity = `${realpathSync(workspace)}\0${buildOf(nativePath)}`;
  const key = createHash("sha256").update(identity).digest("hex").slice(0, 24);
  return path.join(listingsIn(homeOf(paths)), key);
}

/** Lists the workspace, or a snapshot of it that is made at `baseTree`, with one of that at the shadow's place. */
export async function listTree(context: ForkContext, baseTree?: string): Promise<CloneCounts> {
  const { nativePath, workspace, shadow, manifest, signal } = context;
  const kept = keptListing(context);
  const freeze = baseTree === undefined ? [] : ["--freeze", baseTree, "--snapshot", shadow];
  const args = ["--from", workspace, "--manifest", manifest, ...freeze];
  const list = async (more: readonly string[]): Promise<NativeAnswer["report"]> =>
    (await runNative(nativePath, "clone", [...args, ...more], { signal })).report;
  const report = existsSync(kept)
    ? await list(["--known", kept, ...(baseTree === undefined ? [] : sinceOrigin(kept))]).catch(
        (error: unknown) => {
          if (signal.aborted) throw error;
          return list([]); // what it had made is gone
        },
      )
    : await list([]);
  const { origin } = report;
  keep(manifest, kept, typeof origin === "string" ? origin : undefined);
  return new CloneCounts(report);
}

function originOf(kept: string): string {
  return `${kept}.origin`;
}

function sinceOrigin(kept: string): readonly string[] {
  try {
    return ["--since", readFileSync(originOf(kept), "utf8")];
  } catch {
    return []; // it was made otherwise
  }
}

/** Under a second name: a manifest is never written again. An origin names its manifest: an other's is as none. */
function keep(manifest: string, kept: string, origin: string | undefined): void {
  const making = `${kept}.${process.pid}`;
  try {
    mkdirSync(path.dirname(kept), { recursive: true, mode: 0o700 });
    linkSync(manifest, making);
    renameSync(making, kept);
    rmSync(making, { force: true }); // still there when both were one file
    if (origin === undefined) {
      rmSync(originOf(kept), { force: true });
    } else {
      writeFileSync(making, origin, { mode: 0o600 });
      renameSync(making, originOf(kept));
    }
  } catch {
    rmSync(making, { force: true }); // the next listing reads all again
  }
}

/** Removes listings made before a time. */
export function removeListings(home: string, before: Date): number {
  const directory = listingsIn(home);
  if (!existsSync(directory)) return 0;
  const old = readdirSync(directory)
    .map((name) => path.join(directory, name))
    .filter((file) => (statSync(file, { throwIfNoEntry: false })?.mtime ?? before) <= before);
  for (const file of old) rmSync(file, { force: true });
  return old.filter((file) => !file.endsWith(".origin")).length;
}
