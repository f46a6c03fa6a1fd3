import { PassThrough, type Readable } from "node:stream";

/**
 * A stream that waits for its reader. Node empties the pipes of a child when it learns of its exit, which can be before
 * anybody has listened: a short command's output would be lost, and so would the end of it.
 */
export function kept(stream: Readable): Readable {
  const waiting = new PassThrough();
  stream.pipe(waiting);
  stream.once("close", () => waiting.end());
  stream.on("error", () => waiting.end());
  return waiting;
}
