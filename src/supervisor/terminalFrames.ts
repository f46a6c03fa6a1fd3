/** Frames of the terminal socket: one byte type, four bytes length (big-endian), then that many bytes. */
const frameTypes = [
  "stdin",
  "stdout",
  "stderr",
  "resize",
  "stdinEnd",
  "interrupt",
  "terminate",
  "stdinClosed",
  "end",
] as const;

export type FrameType = (typeof frameTypes)[number];

export interface Frame {
  readonly type: FrameType;
  readonly bytes: Buffer;
}

/** Largest payload of one frame, bytes. */
const largest = 16 * 1024 * 1024;

export function encodeFrame(type: FrameType, bytes: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(frameTypes.indexOf(type), 0);
  head.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
}

/** Size of a terminal as the payload of a `resize` frame: columns, rows, two bytes each. */
export function encodeSize(columns: number, rows: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt16BE(Math.min(columns, 0xffff), 0);
  bytes.writeUInt16BE(Math.min(rows, 0xffff), 2);
  return bytes;
}

/** Cuts a byte stream into frames. `push` throws a RangeError for an unknown type or a frame that is too large. */
export class FrameReader {
  #rest: Buffer = Buffer.alloc(0);

  push(bytes: Buffer): Frame[] {
    const frames: Frame[] = [];
    let rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    while (rest.length >= 5) {
      const type = frameTypes[rest.readUInt8(0)];
      const length = rest.readUInt32BE(1);
      if (type === undefined || length > largest) throw new RangeError("not a terminal frame");
      if (type === "resize" && length !== 4) throw new RangeError("a resize frame has four bytes");
      if (rest.length < 5 + length) break;
      frames.push({ type, bytes: rest.subarray(5, 5 + length) });
      rest = rest.subarray(5 + length);
    }
    this.#rest = rest;
    return frames;
  }
}
