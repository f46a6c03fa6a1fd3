import { mkdirSync, rmdirSync } from "node:fs";
import path from "node:path";
import { Failure, messageOf } from "../../base/errors.ts";
import type { Backend } from "./backend.ts";
import { leftOutNotes } from "./forkNotes.ts";
import { prepareOverlay } from "./heavyDirectories.ts";
import { listTree } from "./listing.ts";
import { mountsBelow } from "./mounts.ts";
import type { ForkAbilities } from "./probeForks.ts";

/** A btrfs snapshot of the workspace, which must be a subvolume: one to write in, one that stays as the base. */
export const snapshotBackend: Backend = async (context) => {
  const inside = mountsBelow(context.workspace);
  if (inside.length > 0)
    throw unavailable("snapshot", `${inside[0] ?? ""} is mounted inside the workspace`);
  const baseTree = path.join(context.place, "base-tree");
  const counts = await listTree(context, baseTree).catch((error: unknown) => {
    const isFrozen = !(error instanceof Failure && error.code === "native-clone-freeze");
    throw isFrozen ? error : unavailable("snapshot", messageOf(error));
  });
  return {
    overlays: [],
    files: counts.count("files"),
    bytes: counts.count("bytes"),
    notes: leftOutNotes(counts),
    baseTree,
  };
};

/** What an overlay of the whole tree cannot do: told before the run. */
export const overlayLimits = [
  "renaming a directory that the workspace already had fails (EXDEV): `mv` copies it, `git mv` of a directory fails",
  "edits in the workspace show through while the agent runs; a secret file that you add there is not masked",
  "of a file with several names (hard links) only the one that is written changes",
];

/** One overlay over the whole workspace. */
export function overlayBackend(abilities: ForkAbilities): Backend {
  return async (context) => {
    const { workspace, shadow, place } = context;
    if (abilities.overlay !== true) throw unavailable("overlay", abilities.overlay);
    const inside = mountsBelow(workspace);
    if (inside.length > 0)
      throw unavailable("overlay", `${inside[0] ?? ""} is mounted inside the workspace`);
    mkdirSync(shadow, { mode: 0o700 });
    try {
      const counts = await listTree(context);
      return {
        overlays: [prepareOverlay(workspace, ".", path.join(place, "overlays", "0"))],
        files: counts.count("files"),
        bytes: 0,
        notes: [...overlayLimits, ...leftOutNotes(counts)],
      };
    } catch (error) {
      rmdirSync(shadow);
      throw error;
    }
  };
}

function unavailable(backend: string, reason: string): Failure {
  return new Failure(
    "failed",
    "backend-unavailable",
    `the backend ${backend} cannot be used here: ${reason}`,
    "take --backend auto",
  );
}
