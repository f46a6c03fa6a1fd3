import { Transform, type Readable, type TransformCallback } from "node:stream";
import type { ByteReplacer } from "../secrets/byteMatcher.ts";
import type { UsedSecrets } from "./usedSecrets.ts";

/** A stream on its way out: bytes are counted, placeholders filled, leaks end it with an error. `atEnd` looks at what
 * follows the last byte, and throws when that may not go. */
export function fillingStream(
  source: Readable,
  pass: ByteReplacer | undefined,
  used: UsedSecrets,
  count: (bytes: number) => void,
  atEnd: () => void,
): Readable {
  const through = (make: () => Buffer, done: TransformCallback): void => {
    let bytes: Buffer;
    try {
      bytes = make();
    } catch (error) {
      done(error as Error);
      return;
    }
    count(bytes.length);
    if (!used.isPending) {
      done(null, bytes);
      return;
    }
    // The use is durable before the bytes that carry the value go on.
    used.durable().then(
      () => done(null, bytes),
      (error: unknown) => done(error as Error),
    );
  };
  const stream = new Transform({
    transform: (chunk: Buffer, _encoding, done) =>
      through(() => (pass === undefined ? chunk : pass.write(chunk)), done),
    flush: (done) =>
      through(() => {
        atEnd();
        return pass === undefined ? Buffer.alloc(0) : pass.end();
      }, done),
  });
  // It can fail before anybody reads it; whoever begins to then finds it in `errored`.
  stream.on("error", () => undefined);
  source.once("error", (error: Error) => stream.destroy(error));
  source.once("close", () => {
    if (!source.readableEnded) stream.destroy(new Error("the client broke off"));
  });
  return source.pipe(stream);
}
