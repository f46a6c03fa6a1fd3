import { execFileSync } from "node:child_process";
import type { BackendName } from "../../src/core/journal/entry.ts";
import { ForkFixture } from "./forkFixture.ts";
import { LoopFilesystem } from "./loopFilesystem.ts";

/** Where a workspace stands, and the backend that forks it there. */
export interface ForkPlace {
  readonly name: string;
  readonly backend: BackendName;
  readonly filesystem?: "xfs" | "btrfs";
  /** The workspace is a btrfs subvolume. */
  readonly subvolume?: true;
}

const places: readonly ForkPlace[] = [
  { name: "clone", backend: "clone" },
  { name: "copy", backend: "copy" },
  { name: "overlay", backend: "overlay" },
  { name: "clone on xfs", backend: "clone", filesystem: "xfs" },
  { name: "clone on btrfs", backend: "clone", filesystem: "btrfs" },
  { name: "snapshot on btrfs", backend: "snapshot", filesystem: "btrfs", subvolume: true },
];

/** Every place that this user can have on this machine. */
export const forkPlaces = places.filter(
  ({ filesystem }) => filesystem === undefined || LoopFilesystem.possible(filesystem),
);

/** A fixture in a place, with the filesystem it needs. */
export class PlacedFixture {
  readonly fixture: ForkFixture;
  readonly #place: ForkPlace;
  readonly #filesystem: LoopFilesystem | undefined;

  constructor(place: ForkPlace) {
    this.#place = place;
    if (place.filesystem !== undefined) this.#filesystem = new LoopFilesystem(place.filesystem);
    this.fixture = new ForkFixture(this.#filesystem?.point);
    this.empty();
  }

  /** Makes the workspace anew, with nothing in it. */
  empty(): void {
    const { workspace, nativePath } = this.fixture;
    execFileSync(nativePath, ["remove", workspace]); // through whatever modes were left in it
    if (this.#place.subvolume === true)
      execFileSync(nativePath, ["subvolume", "create", workspace]);
    else execFileSync("mkdir", [workspace]);
  }

  /** A filesystem of its own goes as a whole: read-only snapshots in it are not removed one by one. */
  [Symbol.dispose](): void {
    (this.#filesystem ?? this.fixture)[Symbol.dispose]();
  }
}
