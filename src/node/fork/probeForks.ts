import { statSync } from "node:fs";
import { messageOf } from "../../base/errors.ts";
import { mountOf } from "./mounts.ts";
import { runNative } from "./runNative.ts";

/** What the filesystem of a directory can do, found by doing it; a text is the reason why not. */
export interface ForkAbilities {
  /** Files share blocks (reflink). */
  readonly share: true | string;
  /** An overlay can be mounted and written. */
  readonly overlay: true | string;
  /** btrfs subvolumes can be made and snapshotted. */
  readonly subvolume: true | string;
}

/** One row of `holdfast doctor`. */
export interface ForkRow {
  readonly name: string;
  readonly state: "ok" | "missing" | "weaker";
  readonly detail: string;
  readonly fix?: string;
}

function ability(report: Readonly<Record<string, unknown>>, name: string): true | string {
  const reason = report[name];
  if (typeof reason !== "string") return "not told";
  return reason === "" ? true : reason;
}

/** What was found before, by filesystem: it does not change while a process lives. */
const known = new Map<string, Promise<ForkAbilities>>();

/** The abilities of the filesystem that holds a directory, tried once. */
export function abilitiesOf(nativePath: string, directory: string): Promise<ForkAbilities> {
  const key = `${nativePath}\0${mountOf(directory).device}`;
  const found = known.get(key) ?? probeAbilities(nativePath, directory);
  known.set(key, found);
  found.catch(() => known.delete(key)); // a failure is told to whoever asked, and tried again by the next
  return found;
}

/** Tries everything in a temporary directory below `directory`. */
async function probeAbilities(nativePath: string, directory: string): Promise<ForkAbilities> {
  const { report } = await runNative(nativePath, "fork-probe", ["--dir", directory]);
  return {
    share: ability(report, "share"),
    overlay: ability(report, "overlay"),
    subvolume: ability(report, "subvolume"),
  };
}

/** The rows of `holdfast doctor` about forks of this workspace. Probes where a fork of it would be kept. */
export async function probeForks(request: {
  readonly nativePath: string;
  readonly workspace: string;
  readonly home: string;
}): Promise<readonly ForkRow[]> {
  try {
    const found = await probeAbilities(request.nativePath, request.home);
    return rowsOf(found, sameDevice(request.workspace, request.home));
  } catch (error) {
    const detail = messageOf(error);
    return [{ name: "fork", state: "missing", detail, fix: "run `npm run build`" }];
  }
}

function sameDevice(a: string, b: string): boolean {
  return statSync(a).dev === statSync(b).dev;
}

function rowsOf(found: ForkAbilities, together: boolean): readonly ForkRow[] {
  const apart = together ? "" : " (the workspace is on another filesystem than HOLDFAST_HOME)";
  return [
    {
      name: "fork snapshot",
      state: found.subvolume === true ? "ok" : "weaker",
      detail:
        found.subvolume === true
          ? `btrfs subvolumes can be snapshotted${apart}`
          : `no btrfs subvolumes here: ${found.subvolume}${apart}`,
    },
    {
      name: "fork clone",
      state: found.share === true ? "ok" : "weaker",
      detail:
        found.share === true
          ? `files share their blocks${apart}`
          : `files are copied byte by byte: ${found.share}${apart}`,
      ...(found.share !== true && {
        fix: "works, but forks take space: a filesystem with reflinks (xfs, btrfs) makes them free",
      }),
    },
    {
      name: "fork overlay",
      state: found.overlay === true ? "ok" : "missing",
      detail:
        found.overlay === true
          ? "overlays can be mounted and written"
          : `no overlay can be mounted: ${found.overlay}`,
      ...(found.overlay !== true && {
        fix: "sysctl kernel.unprivileged_userns_clone=1, or allow user namespaces in AppArmor",
      }),
    },
    { name: "fork copy", state: "ok", detail: "always there, as the last resort" },
  ];
}
