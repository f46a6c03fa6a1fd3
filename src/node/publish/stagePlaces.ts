import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmdirSync,
} from "node:fs";
import path from "node:path";

/** Linux: names a place without opening what is there. Node has no constant for it. */
const openAsPlace = 0o10000000;

/** The mount that a directory is on: renames work only within one (two binds of one filesystem are two mounts). */
export function mountOf(directory: string): string {
  const fd = openSync(directory, openAsPlace | constants.O_DIRECTORY);
  try {
    const mount = /^mnt_id:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "utf8"));
    return `${fstatSync(fd).dev}:${mount?.[1] ?? ""}`;
  } finally {
    closeSync(fd);
  }
}

/** Where a stage for a mount can be: in the state directory, else beside the workspace, else (dot-named) within it. */
export interface StagePlace {
  readonly path: string;
  /** In the state directory: it stays there as the store of what was replaced. */
  readonly own: boolean;
}

/**
 * The places to try, best first. `directory` is a directory of the workspace on the wanted mount. Nothing is made here.
 */
export function stagePlaces(
  stateDirectory: string,
  workspace: string,
  directory: string,
  name: string,
): readonly StagePlace[] {
  const mount = mountOf(directory);
  const places: StagePlace[] = [];
  if (mountOf(stateDirectory) === mount) places.push({ path: stateDirectory, own: true });
  for (const above of onMountAbove(workspace, mount)) {
    places.push({ path: path.join(above, `.holdfast-publish-${name}`), own: false });
  }
  let top = directory;
  while (top !== workspace && mountOf(path.dirname(top)) === mount) top = path.dirname(top);
  places.push({ path: path.join(top, `.holdfast-publish-${name}`), own: false });
  return places;
}

/** Directories above the workspace on the mount, highest first. */
function onMountAbove(workspace: string, mount: string): readonly string[] {
  const above: string[] = [];
  for (let at = path.dirname(workspace); ; at = path.dirname(at)) {
    if (at === workspace || mountOf(at) !== mount) break;
    above.unshift(at);
    if (at === path.dirname(at)) break;
  }
  return above;
}

const notHere: ReadonlySet<string> = new Set(["EACCES", "EPERM", "EROFS", "ENOENT", "EEXIST"]);

/** Makes a private directory; false when it cannot be here (not ours to write, or the name is taken). */
export function makeStage(directory: string): boolean {
  try {
    mkdirSync(directory, { mode: 0o700 });
  } catch (error) {
    if (notHere.has((error as NodeJS.ErrnoException).code ?? "")) return false;
    throw error;
  }
  const made = lstatSync(directory);
  if (made.isDirectory()) return true;
  rmdirSync(directory);
  return false;
}
