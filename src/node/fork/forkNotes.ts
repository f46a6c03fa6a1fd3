/** The counts of a `cloned` report; absent ones are 0. */
export class CloneCounts {
  readonly #report: Readonly<Record<string, unknown>>;

  constructor(report: Readonly<Record<string, unknown>>) {
    this.#report = report;
  }

  count(name: string): number {
    const value = this.#report[name];
    return typeof value === "number" ? value : 0;
  }

  /** Paths that could not be read, at most a hundred. */
  get leftOut(): readonly string[] {
    const list = this.#report["left_out"];
    return Array.isArray(list) ? list.map((one: { path?: unknown }) => String(one.path)) : [];
  }
}

/** A size for people: MB of a million bytes. */
export function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB`;
}

const leftOutWords: readonly (readonly [string, string])[] = [
  ["special", "FIFOs, sockets or devices left out"],
  ["unreadable", "files or folders that cannot be read left out"],
  ["changing", "files were being written during the fork"],
  ["xattrs_lost", "extended attributes could not be kept"],
];

/** What is not in the fork, in words. */
export function leftOutNotes(counts: CloneCounts): string[] {
  const notes = leftOutWords
    .filter(([name]) => counts.count(name) > 0)
    .map(([name, words]) => `${counts.count(name)} ${words}`);
  const { leftOut } = counts;
  if (leftOut.length > 0) notes.push(`not readable: ${someOf(leftOut, 5)}`);
  return notes;
}

/** The first few of a list of paths, with a sign that there are more. */
export function someOf(list: readonly string[], count: number): string {
  const shown = list
    .slice(0, count)
    .map((one) => (one.length > 200 ? `${one.slice(0, 120)} … ${one.slice(-60)}` : one));
  return shown.join(", ") + (list.length > count ? ", …" : "");
}
