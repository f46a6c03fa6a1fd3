import type { ChangesView, Selection } from "../../protocol/control.ts";

export type ChangedFile = ChangesView["files"][number];
export type Section = ChangedFile["section"];

/** How a conflict is settled: the workspace's version stays, the agent's is taken, or both were merged by hand. */
export type ConflictSide = "mine" | "theirs" | "merged";

export interface ReviewChoices {
  readonly ticked: [string, boolean][];
  readonly rejected: string[];
  readonly sides: [string, ConflictSide][];
}

export const sections: readonly Section[] = ["conflict", "change", "runsLater", "ignored"];

/**
 * What a person chose in the review of one transaction: files that are ticked, hunks that are rejected, sides taken for
 * conflicts. Pure; the supervisor applies it.
 *
 * - Files of section *Changes* are ticked to begin with, all others wait for a person.
 * - A new change set keeps the choices about files and hunks that are still there.
 */
export class ReviewModel {
  #files: readonly ChangedFile[] = [];
  #byPath: ReadonlyMap<string, ChangedFile> = new Map();
  #bySection: ReadonlyMap<Section, readonly ChangedFile[]> = new Map();
  readonly #ticked = new Map<string, boolean>();
  readonly #rejected = new Set<string>();
  readonly #sides = new Map<string, ConflictSide>();

  get files(): readonly ChangedFile[] {
    return this.#files;
  }

  load(view: ChangesView): void {
    this.#files = view.files;
    const paths = new Map(view.files.map((file) => [file.path, file]));
    this.#byPath = paths;
    this.#bySection = new Map(
      sections.map((name) => [name, view.files.filter(({ section }) => section === name)]),
    );
    const hunks = new Set(view.files.flatMap((file) => file.hunks.map(({ id }) => id)));
    for (const path of this.#ticked.keys()) if (!paths.has(path)) this.#ticked.delete(path);
    for (const path of this.#sides.keys()) if (!paths.has(path)) this.#sides.delete(path);
    for (const hunk of this.#rejected) if (!hunks.has(hunk)) this.#rejected.delete(hunk);
  }

  /** The choices as plain data, and back; those about what a change set does not have go when it is loaded. */
  choices(): ReviewChoices {
    return {
      ticked: [...this.#ticked],
      rejected: [...this.#rejected],
      sides: [...this.#sides],
    };
  }

  restore({ ticked, rejected, sides }: ReviewChoices): void {
    for (const [path, chosen] of ticked) this.#ticked.set(path, chosen);
    for (const hunk of rejected) this.#rejected.add(hunk);
    for (const [path, side] of sides) this.#sides.set(path, side);
  }

  file(path: string): ChangedFile | undefined {
    return this.#byPath.get(path);
  }

  inSection(section: Section): readonly ChangedFile[] {
    return this.#bySection.get(section) ?? [];
  }

  isTicked(path: string): boolean {
    const chosen = this.#ticked.get(path);
    if (chosen !== undefined) return chosen;
    return this.file(path)?.section === "change";
  }

  tick(path: string, ticked: boolean): void {
    this.#ticked.set(path, ticked);
    const file = this.file(path);
    if (file === undefined) return;
    // Ticking a file again means all of it.
    if (ticked) for (const { id } of file.hunks) this.#rejected.delete(id);
  }

  isRejected(hunk: string): boolean {
    return this.#rejected.has(hunk);
  }

  /** Rejects an accepted hunk, or accepts a rejected one. A file whose last hunk goes is no longer ticked. */
  toggleHunk(path: string, hunk: string): void {
    const file = this.file(path);
    // A conflict is settled as a whole.
    if (file?.hunks.some(({ id }) => id === hunk) !== true || file.section === "conflict") return;
    if (!this.isTicked(path)) {
      // From a file left out, one hunk is taken.
      for (const { id } of file.hunks) this.#rejected.add(id);
      this.#rejected.delete(hunk);
      this.#ticked.set(path, true);
      return;
    }
    if (this.#rejected.has(hunk)) this.#rejected.delete(hunk);
    else this.#rejected.add(hunk);
    if (file.hunks.every(({ id }) => this.#rejected.has(id))) this.#ticked.set(path, false);
  }

  acceptedHunks(file: ChangedFile): number {
    if (!this.isTicked(file.path)) return 0;
    return file.hunks.filter(({ id }) => !this.#rejected.has(id)).length;
  }

  sideOf(path: string): ConflictSide | undefined {
    return this.#sides.get(path);
  }

  resolve(path: string, side: ConflictSide): void {
    this.#sides.set(path, side);
    this.#ticked.set(path, side !== "mine");
  }

  /** Takes back what was settled for a conflict. */
  unresolve(path: string): void {
    this.#sides.delete(path);
    this.#ticked.delete(path);
  }

  /** Paths of conflicts that nobody has settled. */
  unresolved(): readonly string[] {
    return this.inSection("conflict")
      .map(({ path }) => path)
      .filter((path) => !this.#sides.has(path));
  }

  ticked(): readonly ChangedFile[] {
    return this.#files.filter((file) => this.isTicked(file.path));
  }

  /** What the supervisor is asked to publish, of `chosen`: always named, never "everything". */
  selection(chosen = this.ticked()): Required<Pick<Selection, "paths" | "hunks">> & Selection {
    const isPart = (file: ChangedFile): boolean =>
      file.hunks.some(({ id }) => this.#rejected.has(id));
    const whole = chosen.filter((file) => !isPart(file));
    const partly = chosen.filter(isPart);
    const sides = [...this.#sides].filter(([, side]) => side !== "merged");
    const resolutions = Object.fromEntries(sides) as Record<string, "mine" | "theirs">;
    return {
      paths: whole.map(({ path }) => path),
      hunks: partly.flatMap((file) =>
        file.hunks.map(({ id }) => id).filter((id) => !this.#rejected.has(id)),
      ),
      ...(chosen.some(({ section }) => section === "runsLater") ? { includeRunsLater: true } : {}),
      ...(chosen.some(({ section }) => section === "ignored") ? { includeIgnored: true } : {}),
      ...(sides.length > 0 ? { resolutions } : {}),
    };
  }
}
