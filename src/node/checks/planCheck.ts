import { join } from "node:path";
import type { OverlayMount } from "../../runtime/ports.ts";
import { sandboxHome } from "../sandbox/insidePaths.ts";
import { idsInside, type Machine } from "../sandbox/machine.ts";
import type { PlanRecord } from "../sandbox/plan.ts";
import { limitRecords } from "../sandbox/planSandbox.ts";
import { readOnlyRecords } from "../sandbox/readOnlyMounts.ts";
import { etcRecords, procRecords, systemRecords } from "../sandbox/systemMounts.ts";
import type { CheckLaunch } from "./checkSandbox.ts";
import { workerPlaces } from "./workerProtocol.ts";

/** A launch plan for supervise, and the empty host directories that its overlays are mounted on. */
export interface CheckPlan {
  readonly records: readonly PlanRecord[];
  readonly places: readonly string[];
}

const hostname = "check";

/** Bounds besides time and memory, which nothing ordinary comes near: threads of all processes, bytes of one file, bytes that
 * the caches in the scratch directory grow by. */
const outerBounds = { processes: 4096, fileBytes: 4 * 1024 ** 3, growthBytes: 16 * 1024 ** 3 };

/**
 * The agent's sandbox without its door, around one side of the change set: the same isolation, seccomp and Landlock. Reads
 * the host's /etc and /.
 */
export function planCheck(spec: CheckLaunch, machine: Machine): CheckPlan {
  const ids = idsInside(machine);
  const own = spec.shown.filter(({ from, to }) => from === to).map(({ from }) => from);
  const view = viewRecords(spec);
  const records: PlanRecord[] = [
    ["bwrap", machine.bwrapPath],
    ["uid", String(ids.uid)],
    ["gid", String(ids.gid)],
    ["hostname", hostname],
    ["unobserved"],
    // The agent comes first; the answer is wanted when it is done.
    ["background"],
    ...view.overlays,
    ...systemRecords(),
    ...procRecords(true),
    ["dev", "/dev"],
    ["tmpfs", "/tmp", "1777"],
    ["tmpfs", "/var/tmp", "1777"],
    ["tmpfs", sandboxHome, "0700"],
    ...etcRecords({ ...ids, home: sandboxHome, hostname, resolver: false }, []),
    ...readOnlyRecords(own, spec.workspace, machine.home, spec.scratch).records,
    ...view.mounts,
    ["write", spec.scratch, workerPlaces.scratch],
    ...spec.shown
      .filter(({ from, to }) => from !== to)
      .map(({ from, to }): PlanRecord => ["read", from, to]),
    ["read", spec.baseContent, workerPlaces.base],
    ["seal", "/"],
    ...spec.argv.map((text): PlanRecord => ["argument", text]),
    ...Object.entries(environment(spec)).map(([name, value]): PlanRecord => [
      "variable",
      name,
      value,
    ]),
    ["cwd", spec.cwd],
    ...limitRecords({ ...outerBounds, memoryBytes: outerMemory(spec.memoryMb) }),
  ];
  return { records, places: view.places };
}

/**
 * Bytes of all resident memory, shared pages counted for each process, and of each file system in memory. The caller measures the
 * bound itself more exactly; this is for what hides from that.
 */
function outerMemory(memoryMb: number): number {
  return (2 * memoryMb + 1024) * 1024 * 1024;
}

function environment(spec: CheckLaunch): Readonly<Record<string, string>> {
  return {
    HOME: sandboxHome,
    USER: "agent",
    PATH: "/usr/local/bin:/usr/bin:/bin",
    LANG: "C.UTF-8",
    TMPDIR: "/tmp",
    ...spec.env,
  };
}

interface ViewRecords {
  readonly overlays: readonly PlanRecord[];
  readonly mounts: readonly PlanRecord[];
  readonly places: readonly string[];
}

/** Layers of one directory of the view, topmost first. */
type Layers = readonly [string] | readonly [string, string];

/** The view at the workspace's path: a layer alone is bound, more than one and discarded writes need an overlay. */
function viewRecords(spec: CheckLaunch): ViewRecords {
  const base = spec.view === "base";
  const whole = spec.fork.overlays.find(isWhole);
  const overlays: PlanRecord[] = [];
  const mounts: PlanRecord[] = [];
  const places: string[] = [];
  const show = (name: string, layers: Layers, to: string): void => {
    const kind = spec.writes === "discarded" ? "write" : "read";
    const [top, bottom] = layers;
    if (bottom === undefined && kind === "read") {
      mounts.push(["read", top, to]);
      return;
    }
    const at = join(spec.scratch, "../stage", name);
    places.push(at);
    mounts.push([kind, at, to]);
    if (kind === "write")
      overlays.push(["overlay-memory", at, bottom === undefined ? "" : top, bottom ?? top]);
    else if (bottom !== undefined) overlays.push(["overlay-read", at, bottom, top]);
  };
  show("root", rootLayers(spec, whole), spec.workspace);
  spec.fork.overlays
    .filter((overlay) => overlay !== whole)
    .forEach(({ at, lower, upper }, index) => {
      show(`part${index}`, base ? [lower] : [upper, lower], join(spec.workspace, at));
    });
  return { overlays, mounts, places };
}

function rootLayers(spec: CheckLaunch, whole: OverlayMount | undefined): Layers {
  const below = whole?.lower ?? spec.fork.shadow;
  if (spec.view === "base") return [spec.baseContent, below];
  return whole === undefined ? [below] : [whole.upper, below];
}

function isWhole(overlay: OverlayMount): boolean {
  return overlay.at === "" || overlay.at === ".";
}
