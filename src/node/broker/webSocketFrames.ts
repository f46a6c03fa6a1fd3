import { randomBytes } from "node:crypto";
import { Transform } from "node:stream";
import type { ByteReplacer } from "../secrets/byteMatcher.ts";
import type { SharedBytes } from "./doorLimits.ts";

/** A frame larger than this is not looked into, so it does not pass. */
const largestFrame = 64 * 1024 * 1024;

interface Frame {
  readonly fin: boolean;
  readonly opcode: number;
  readonly masked: boolean;
  readonly payload: Buffer;
}

/** What happens to the frames of one direction. */
export interface FrameFilter {
  /** Begins the pass over one message, by the payload of its first frame. */
  message(first: Buffer): ByteReplacer;
  /** What a control frame (ping, pong, close) may carry in the place of this. */
  control(payload: Buffer): Buffer;
  /** Resolves when the frames so far may go on; absent: at once. */
  ready?(): Promise<void> | undefined;
}

/** Runs the frames of one direction of a WebSocket (RFC 6455 §5, no extensions) through a filter: data frames in one
 * pass a message, control frames each by itself. */
export function webSocketFilter(filter: FrameFilter, memory: SharedBytes): Transform {
  const buffered = new FrameBytes(memory);
  let pass: ByteReplacer | undefined;
  const filtered = (frame: Frame): Buffer => {
    if (frame.opcode >= 8) return encodeFrame(frame, filter.control(frame.payload));
    pass ??= filter.message(frame.payload);
    const bytes = pass.write(frame.payload);
    if (!frame.fin) return encodeFrame(frame, bytes);
    const last = pass.end();
    pass = undefined;
    return encodeFrame(frame, Buffer.concat([bytes, last]));
  };
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const out: Buffer[] = [];
      try {
        if (memory.full) throw new Error("there is no memory for the frames of a WebSocket");
        buffered.add(chunk);
        for (let next = buffered.next(); next !== undefined; next = buffered.next()) {
          out.push(filtered(next));
        }
      } catch (error) {
        done(error as Error);
        return;
      }
      const bytes = Buffer.concat(out);
      const ready = filter.ready?.();
      if (ready === undefined) done(null, bytes);
      else {
        ready.then(
          () => done(null, bytes),
          (error: unknown) => done(error as Error),
        );
      }
    },
    destroy(error, done) {
      buffered.release();
      done(error);
    },
  });
}

/** Bytes of which frames are taken; put together only once a whole frame is there. They count among those of all bodies. */
class FrameBytes {
  readonly #memory: SharedBytes;
  #chunks: Buffer[] = [];
  #length = 0;
  #wanted = 0;

  constructor(memory: SharedBytes) {
    this.#memory = memory;
  }

  add(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#memory.take(chunk.length);
    this.#length += chunk.length;
  }

  /** No more frames are taken. */
  release(): void {
    this.#memory.give(this.#length);
    this.#chunks = [];
    this.#length = 0;
  }

  next(): Frame | undefined {
    if (this.#length < this.#wanted) return undefined;
    const bytes = this.#chunks.length === 1 ? this.#chunks[0] : Buffer.concat(this.#chunks);
    if (bytes === undefined) return undefined;
    const read = readFrame(bytes);
    const rest = typeof read === "number" ? bytes : bytes.subarray(read.length);
    this.#chunks = rest.length === 0 ? [] : [rest];
    this.#memory.give(this.#length - rest.length);
    this.#length = rest.length;
    this.#wanted = typeof read === "number" ? read : 0;
    return typeof read === "number" ? undefined : read.frame;
  }
}

/** The first frame, or how many bytes must be there before there can be one. */
function readFrame(bytes: Buffer): { frame: Frame; length: number } | number {
  if (bytes.length < 2) return 2;
  const [first = 0, second = 0] = bytes;
  if ((first & 0x70) !== 0) throw new Error("a WebSocket frame uses an extension nobody agreed to");
  const masked = (second & 0x80) !== 0;
  const short = second & 0x7f;
  const sizeBytes = short === 126 ? 2 : short === 127 ? 8 : 0;
  const head = 2 + sizeBytes + (masked ? 4 : 0);
  if (bytes.length < head) return head;
  const size =
    sizeBytes === 0
      ? short
      : sizeBytes === 2
        ? bytes.readUInt16BE(2)
        : Number(bytes.readBigUInt64BE(2));
  if (size > largestFrame) throw new Error("a WebSocket frame is too large to be looked into");
  if (bytes.length < head + size) return head + size;
  const payload = Buffer.from(bytes.subarray(head, head + size));
  if (masked) applyMask(payload, bytes.subarray(head - 4, head));
  const frame = { fin: (first & 0x80) !== 0, opcode: first & 0x0f, masked, payload };
  return { frame, length: head + size };
}

function encodeFrame(frame: Frame, payload: Buffer): Buffer {
  const size = payload.length;
  const sizeBytes = size < 126 ? 0 : size < 65_536 ? 2 : 8;
  const head = Buffer.alloc(2 + sizeBytes);
  head[0] = (frame.fin ? 0x80 : 0) | frame.opcode;
  head[1] = (frame.masked ? 0x80 : 0) | (sizeBytes === 0 ? size : sizeBytes === 2 ? 126 : 127);
  if (sizeBytes === 2) head.writeUInt16BE(size, 2);
  if (sizeBytes === 8) head.writeBigUInt64BE(BigInt(size), 2);
  if (!frame.masked) return Buffer.concat([head, payload]);
  const mask = randomBytes(4);
  const hidden = Buffer.from(payload);
  applyMask(hidden, mask);
  return Buffer.concat([head, mask, hidden]);
}

function applyMask(bytes: Buffer, mask: Buffer): void {
  for (let at = 0; at < bytes.length; at += 1) {
    bytes[at] = (bytes[at] ?? 0) ^ (mask[at & 3] ?? 0);
  }
}
