import { randomBytes } from "node:crypto";
import { Transform } from "node:stream";
import type { ByteReplacer } from "../secrets/byteMatcher.ts";

/** A frame larger than this is not looked into, so it does not pass. */
const largestFrame = 64 * 1024 * 1024;

interface Frame {
  readonly fin: boolean;
  readonly opcode: number;
  readonly masked: boolean;
  readonly payload: Buffer;
}

/** Runs the data frames of one direction of a WebSocket (RFC 6455 §5, no extensions) through a replacer, one pass a
 * message; control frames go as they are. */
export function webSocketFilter(passFor: (first: Buffer) => ByteReplacer): Transform {
  let buffered = Buffer.alloc(0);
  let pass: ByteReplacer | undefined;
  const filtered = (frame: Frame): Buffer => {
    if (frame.opcode >= 8) return encodeFrame(frame, frame.payload);
    pass ??= passFor(frame.payload);
    const bytes = pass.write(frame.payload);
    if (!frame.fin) return encodeFrame(frame, bytes);
    const last = pass.end();
    pass = undefined;
    return encodeFrame(frame, Buffer.concat([bytes, last]));
  };
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      buffered = Buffer.concat([buffered, chunk]);
      try {
        for (let next = readFrame(buffered); next !== undefined; next = readFrame(buffered)) {
          buffered = buffered.subarray(next.length);
          this.push(filtered(next.frame));
        }
        done();
      } catch (error) {
        done(error as Error);
      }
    },
  });
}

function readFrame(bytes: Buffer): { frame: Frame; length: number } | undefined {
  if (bytes.length < 2) return undefined;
  const [first = 0, second = 0] = bytes;
  if ((first & 0x70) !== 0) throw new Error("a WebSocket frame uses an extension nobody agreed to");
  const masked = (second & 0x80) !== 0;
  const short = second & 0x7f;
  const sizeBytes = short === 126 ? 2 : short === 127 ? 8 : 0;
  const head = 2 + sizeBytes + (masked ? 4 : 0);
  if (bytes.length < head) return undefined;
  const size =
    sizeBytes === 0
      ? short
      : sizeBytes === 2
        ? bytes.readUInt16BE(2)
        : Number(bytes.readBigUInt64BE(2));
  if (size > largestFrame) throw new Error("a WebSocket frame is too large to be looked into");
  if (bytes.length < head + size) return undefined;
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
