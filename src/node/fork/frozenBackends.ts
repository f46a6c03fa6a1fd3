import { mkdirSync, rmdirSync, statfsSync, statSync } from "node:fs";
import path from "node:path";
import { Failure, messageOf } from "../../base/errors.ts";
import type { Backend } from "./backend.ts";
import { leftOutNotes } from "./forkNotes.ts";
import { prepareOverlay } from "./heavyDirectories.ts";
import { listTree } from "./listing.ts";
import { mountsBelow } from "./mounts.ts";
import type { ForkAbilities } from "./probeForks.ts";

const btrfsMagic = 0x9123683en; // BTRFS_SUPER_MAGIC
const topOfSubvolume = 256n; // BTRFS_FIRST_FREE_OBJECTID

/** A btrfs snapshot of the workspace, which must be a subvolume: one to write in, one that stays as the base. */
export const snapshotBackend: Backend = async (context) => {
  const inside = mountsBelow(context.workspace);
  if (inside.length > 0)
    throw unavailable("snapshot", `${inside[0] ?? ""} is mounted inside the workspace`);
  const baseTree = path.join(context.place, "base-tree");
  const counts = await listTree(context, baseTree).catch((error: unknown) => {
    const isFrozen = !(error instanceof Failure && error.code === "native-clone-freeze");
    throw isFrozen ? error : unfrozen(context.workspace, error);
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

function unavailable(backend: string, reason: string, fix = "take --backend auto"): Failure {
  const message = `the backend ${backend} cannot be used here: ${reason}`;
  return new Failure("failed", "backend-unavailable", message, fix);
}

/** Why no snapshot could be made, in other words than the system's "Invalid argument". */
function unfrozen(workspace: string, error: unknown): Failure {
  const { type } = statfsSync(workspace, { bigint: true });
  const { ino, uid } = statSync(workspace, { bigint: true });
  const told = JSON.stringify(workspace);
  if (type !== btrfsMagic) return unavailable("snapshot", `${told} is not on btrfs`);
  if (ino !== topOfSubvolume) {
    const fix = `take --backend auto, or make the folder a subvolume: move it away, \`btrfs subvolume create\` it anew, and move back what was in it`;
    const reason = `${told} is a plain folder of btrfs and not a subvolume, and only subvolumes can be snapshotted`;
    return unavailable("snapshot", reason, fix);
  }
  if (uid !== BigInt(process.getuid?.() ?? 0) && process.getuid?.() !== 0)
    return unavailable("snapshot", `the subvolume ${told} is another user's`);
  return unavailable("snapshot", messageOf(error));
}
