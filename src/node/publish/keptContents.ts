import {
  constants,
  createReadStream,
  lstatSync,
  openSync,
  readFileSync,
  readSync,
  closeSync,
} from "node:fs";
import path from "node:path";
import { packFile, type Intent } from "./intent.ts";

/** Reads what a commit replaced and what it left, out of the commit's own directory. */
export class KeptContents {
  readonly #commits: string;
  readonly #memoryLimit: number;
  readonly #recordOf: (commit: string) => Intent | undefined;

  constructor(
    commits: string,
    memoryLimit: number,
    recordOf: (commit: string) => Intent | undefined,
  ) {
    this.#commits = commits;
    this.#memoryLimit = memoryLimit;
    this.#recordOf = recordOf;
  }

  /** The file that a commit replaced or removed at a path; undefined when there was none, or it was no regular file. */
  replacedFile(commit: string, at: string): string | undefined {
    const record = this.#recordOf(commit);
    const operation = record?.operations.find(
      ({ kind, path: target, expected }) =>
        target === at && (kind === "remove" || kind === "put") && expected !== "",
    );
    if (record === undefined || operation === undefined) return undefined;
    const stage = record.stages[operation.stage];
    if (stage === undefined) return undefined;
    const directory = stage.own
      ? stage.path
      : path.join(this.#commits, commit, `kept-${operation.stage}`);
    const file = path.join(directory, operation.slot);
    return lstatSync(file, { throwIfNoEntry: false })?.isFile() === true ? file : undefined;
  }

  /** Its content, when it is small enough to be merged. */
  replaced(commit: string, at: string): Uint8Array | undefined {
    const file = this.replacedFile(commit, at);
    if (file === undefined || lstatSync(file).size > this.#memoryLimit) return undefined;
    return readFileSync(file);
  }

  replacedPieces(commit: string, at: string): AsyncIterable<Uint8Array> | undefined {
    const file = this.replacedFile(commit, at);
    return file === undefined
      ? undefined
      : (createReadStream(file, { highWaterMark: 1 << 20 }) as AsyncIterable<Uint8Array>);
  }

  /** The text that a commit left at a path, when it kept it. */
  left(commit: string, at: string): Uint8Array | undefined {
    const kept = this.#recordOf(commit)?.left.find(({ path: target }) => target === at);
    if (kept === undefined) return undefined;
    const bytes = Buffer.alloc(kept.bytes);
    const fd = openSync(path.join(this.#commits, commit, packFile), constants.O_RDONLY);
    try {
      for (let done = 0; done < kept.bytes;) {
        const got = readSync(fd, bytes, done, kept.bytes - done, kept.at + done);
        if (got === 0) throw new Error(`${packFile} of ${commit} is too short`);
        done += got;
      }
    } finally {
      closeSync(fd);
    }
    return bytes;
  }
}
