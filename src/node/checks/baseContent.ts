import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { ChangedPath, ForkReader } from "../../runtime/ports.ts";
import { CheckFailure } from "./checkFailure.ts";
import type { ChangedInput } from "./workerProtocol.ts";

/** More changed files than this are not laid out one by one. */
const mostFiles = 20_000;

/** What a type check reads of installed packages. */
const ofPackages = /(?:\.d\.[cm]?ts|\.tsx?|(?:^|\/)package\.json)$/;

/**
 * The base content of changed files, laid out in a directory as the sandbox shows it. A base file never changes, so the
 * directory only grows. Content comes from the fork's reader, never from the workspace as it is now.
 */
export class BaseContent {
  readonly directory: string;
  readonly #reader: ForkReader;
  readonly #known = new Map<string, "file" | "absent">();

  constructor(directory: string, reader: ForkReader) {
    this.directory = directory;
    this.#reader = reader;
  }

  /**
   * Lays out what a check needs of the changed paths, renames taken apart, and says what is where. Of ignored files only those
   * of packages count, and of very many of them only the first: a base run that came before their installation is right
   * all the same. Throws a CheckFailure when too many other files changed.
   */
  async inputs(
    changed: readonly ChangedPath[],
    concerns: (path: string) => boolean,
  ): Promise<readonly ChangedInput[]> {
    const wanted = apart(changed).filter((change) => concerns(change.path));
    const own = wanted.filter((change) => !change.ignored);
    const packages = wanted.filter((change) => change.ignored && ofPackages.test(change.path));
    if (own.length > mostFiles) {
      throw new CheckFailure("notChecked", `more than ${mostFiles} files changed`);
    }
    const inputs: ChangedInput[] = [];
    for (const change of [...own, ...packages].slice(0, mostFiles)) {
      inputs.push({
        path: change.path,
        base: await this.#baseOf(change.path),
        shadow: change.gone ? "absent" : "file",
        ...(change.stamp === undefined ? {} : { stamp: change.stamp }),
      });
    }
    return inputs;
  }

  async #baseOf(path: string): Promise<"file" | "absent"> {
    const known = this.#known.get(path);
    if (known !== undefined) return known;
    const bytes = await this.#reader.read("base", path);
    if (bytes !== undefined) {
      const at = join(this.directory, path);
      await mkdir(dirname(at), { recursive: true, mode: 0o700 });
      await writeFile(at, bytes, { mode: 0o600 });
    }
    const state = bytes === undefined ? "absent" : "file";
    this.#known.set(path, state);
    return state;
  }
}

interface Part {
  readonly path: string;
  readonly gone: boolean;
  readonly ignored: boolean;
  readonly stamp: string | undefined;
}

/** A rename is a deletion and an addition here. */
function apart(changed: readonly ChangedPath[]): readonly Part[] {
  return changed.flatMap(({ path, change, from, type, ignored, stamp }) => {
    if (type === "directory") return [];
    const now = { path, gone: change === "deleted", ignored, stamp };
    return from === undefined ? [now] : [{ ...now, path: from, gone: true }, now];
  });
}
