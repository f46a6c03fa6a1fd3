import { Transform, type Duplex } from "node:stream";
import * as zlib from "node:zlib";
import type { ByteReplacer } from "../secrets/byteMatcher.ts";

/** A body decoded larger than this is not worth the memory: it is held as opaque. */
const largestAtOnce = 16 * 1024 * 1024;
/** A body that is decoded as it passes costs time alone; still no more of it than may be held. */
const largestPassing = 2 * 1024 ** 3;

interface Coding {
  readonly atOnce: (bytes: Uint8Array, options: zlib.ZlibOptions) => unknown;
  readonly passing: () => Duplex & { readonly bytesWritten: number };
}

/** Newer Nodes than the oldest that runs us decode Zstandard. */
const newer = zlib as typeof zlib & {
  readonly zstdDecompressSync?: Coding["atOnce"];
  readonly createZstdDecompress?: Coding["passing"];
};

const gzip: Coding = { atOnce: zlib.gunzipSync, passing: zlib.createGunzip };
const codings = new Map<string, Coding>([
  ["gzip", gzip],
  ["x-gzip", gzip],
  ["deflate", { atOnce: zlib.inflateSync, passing: zlib.createInflate }],
  ["br", { atOnce: zlib.brotliDecompressSync, passing: zlib.createBrotliDecompress }],
]);
if (newer.zstdDecompressSync !== undefined && newer.createZstdDecompress !== undefined) {
  codings.set("zstd", { atOnce: newer.zstdDecompressSync, passing: newer.createZstdDecompress });
}

/** Whether a content encoding (see `encodingOf`) can be undone. */
export function canDecode(encoding: string): boolean {
  return encoding === "" || codings.has(encoding);
}

/** Undoes the content encoding (see `encodingOf`) of a whole body; `undefined` when that is not possible. */
export function decodeBody(
  bytes: Uint8Array,
  encoding: string,
  complete: boolean,
): Uint8Array | undefined {
  if (encoding === "" || bytes.length === 0) return bytes;
  const coding = codings.get(encoding);
  if (!complete || coding === undefined) return undefined;
  try {
    const options = { maxOutputLength: largestAtOnce, info: true };
    const { buffer, engine } = coding.atOnce(bytes, options) as {
      readonly buffer: Uint8Array;
      readonly engine: { readonly bytesWritten: number };
    };
    // What follows the end is skipped here; some origin reads on.
    return engine.bytesWritten === bytes.length ? buffer : undefined;
  } catch {
    return undefined; // Malformed or too large: held as opaque, never let through unread.
  }
}

/** What undoes an encoding in passing: `undefined` where there is none. */
export function decoderFor(encoding: string): Duplex | "unknown" | undefined {
  return encoding === "" ? undefined : (codings.get(encoding)?.passing() ?? "unknown");
}

/**
 * Passes an encoded body on as it is, each piece once what it means has been looked through: `watch` throws at what may not
 * go, and pieces stay while it may be seeing the beginning of that. Ends with an error what cannot be decoded to its end.
 */
export function decodedWatch(encoding: string, watch: ByteReplacer): Transform {
  const decoder = codings.get(encoding)?.passing();
  if (decoder === undefined) throw new Error(cannotSearch(encoding));
  let [taken, decoded] = [0, 0];
  let failure: Error | undefined;
  const fail = (error: Error): void => void (failure ??= error);
  decoder.on("error", () => fail(new Error(cannotSearch(encoding))));
  decoder.on("data", (chunk: Buffer) => {
    decoded += chunk.length;
    if (decoded > largestPassing)
      fail(new Error("the body is too large when it is decoded (2 GiB)"));
    if (failure !== undefined) return;
    try {
      watch.write(chunk);
    } catch (error) {
      fail(error as Error);
    }
  });
  const waiting: Buffer[] = [];
  const checked = (): boolean => {
    if (decoder.bytesWritten !== taken) fail(new Error(cannotSearch(encoding)));
    return failure === undefined;
  };
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      taken += chunk.length;
      waiting.push(chunk);
      const release = (): void => {
        if (!checked()) done(failure);
        else if (watch.holds) done();
        else done(null, Buffer.concat(waiting.splice(0)));
      };
      whenOver(decoder, release, (over) => decoder.write(chunk, over));
    },
    flush(done) {
      const release = (): void => {
        if (!checked()) done(failure);
        else done(null, Buffer.concat(waiting.splice(0)));
      };
      whenOver(decoder, release, () => decoder.end());
    },
    destroy(error, done) {
      decoder.destroy();
      done(error);
    },
  });
}

/** Calls back once, when a step is over or the decoder is: one that failed, or is at its end, calls back no more. */
function whenOver(decoder: Duplex, callBack: () => void, step: (over: () => void) => void): void {
  let isOver = false;
  const over = (): void => {
    if (isOver) return;
    isOver = true;
    decoder.off("close", over);
    callBack();
  };
  if (decoder.closed) over();
  else {
    decoder.once("close", over);
    step(over);
  }
}

function cannotSearch(encoding: string): string {
  return `the body is encoded as ${encoding} and cannot be searched for secrets`;
}
