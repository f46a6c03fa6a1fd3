import { createHash, type Hash } from "node:crypto";
import { open, rm, type FileHandle } from "node:fs/promises";
import type { Readable } from "node:stream";
import type { SharedBytes } from "./doorLimits.ts";
import type { IncomingCall } from "./incomingCall.ts";

/** Where held bodies may go, and how many bytes of one: what all of them share is counted in `shared`, and given back by
 * whoever removes the file. */
export interface SpoolRoom {
  readonly mostOfOne: number;
  readonly shared: SharedBytes;
}

/** A body for which there is no room on the disk: it cannot be held, and does not go out. */
export class TooLargeToHold extends Error {}

/** A body taken in whole: in memory, or in a 0600 file of ours. */
export interface WholeBody {
  readonly bytes: number;
  readonly sha256: string;
  /** The whole body when it is small, else its beginning. */
  readonly start: Buffer;
  /** Where the rest is; absent when `start` is everything. */
  readonly file?: string;
}

/** Where the body of one call ended up. */
export type Taken =
  | { readonly state: "complete"; readonly bytes: Buffer }
  | { readonly state: "partial"; readonly bytes: Buffer; readonly stalled: boolean };

/**
 * Reads the body of a call only as far as somebody needs it. `peek` reads up to a cap and keeps what it read; `rest`
 * gives the untouched remainder after it, for streaming on; `spool` takes everything, for a hold. A chunk is never read
 * before it is wanted, so a held or denied upload costs no memory.
 */
export class BodyIntake {
  readonly #source: Readable;
  readonly #memory: SharedBytes;
  readonly #isCutOff: () => boolean;
  #counted = 0;
  readonly #chunks: Buffer[] = [];
  #length = 0;
  #ended: boolean;

  constructor(call: Pick<IncomingCall, "body" | "hasBody" | "isCutOff">, memory: SharedBytes) {
    this.#source = call.body;
    this.#memory = memory;
    this.#isCutOff = () => call.isCutOff();
    this.#ended = !call.hasBody;
  }

  /** Counts what was made of the body and is kept as long as it. */
  count(bytes: number): void {
    this.#counted += bytes;
    this.#memory.take(bytes);
  }

  /** The call is over, and nothing of its body is in memory any more. */
  release(): void {
    this.#memory.give(this.#counted);
    this.#counted = 0;
  }

  /** Reads until the end, `cap` bytes, `stallMs` without a byte, or until there is no memory for more. Rejects when the client
   * breaks off. */
  async peek(cap: number, stallMs: number): Promise<Taken> {
    let stalled = false;
    while (!this.#ended && this.#length < cap && !stalled && !this.#memory.full) {
      stalled = !(await this.#more(stallMs));
    }
    const bytes = this.#joined();
    return this.#ended ? { state: "complete", bytes } : { state: "partial", bytes, stalled };
  }

  /** What `peek` took, put back in front: to be piped on. `undefined` when `peek` took everything. */
  rest(): Readable | undefined {
    if (this.#ended) return undefined;
    if (this.#length > 0) this.#source.unshift(this.#joined());
    return this.#source;
  }

  /** Takes the whole body: up to `memory` bytes in memory, the rest in `file` (created exclusively, 0600). Rejects with
   * {@link TooLargeToHold} where there is no room. */
  async spool(file: string, memory: number, room: SpoolRoom): Promise<WholeBody> {
    await this.peek(memory, Number.POSITIVE_INFINITY);
    const hash = createHash("sha256");
    const taken = this.#joined();
    hash.update(taken);
    if (this.#ended && taken.length <= memory) {
      return { bytes: taken.length, sha256: hash.digest("hex"), start: taken };
    }
    const handle = await open(file, "wx", 0o600);
    try {
      const bytes = await this.#spoolInto(handle, hash, room).catch(async (error: unknown) => {
        // Of a client that broke off, or sends too much, nothing may stay on the disk.
        await rm(file, { force: true });
        throw error;
      });
      await handle.sync();
      // A copy, so that a thousand held calls keep a thousand beginnings and not what they were cut from.
      const start = Buffer.from(taken.subarray(0, memory));
      return { bytes, sha256: hash.digest("hex"), start, file };
    } finally {
      await handle.close();
    }
  }

  async #spoolInto(handle: FileHandle, hash: Hash, room: SpoolRoom): Promise<number> {
    let bytes = 0;
    const write = async (chunk: Buffer): Promise<void> => {
      bytes += chunk.length;
      room.shared.take(chunk.length);
      if (bytes > room.mostOfOne) throw new TooLargeToHold("the body is too large to be held");
      if (room.shared.full) throw new TooLargeToHold("too much waits for a person already");
      await handle.writeFile(chunk);
    };
    try {
      await write(this.#joined());
      if (this.#ended) return bytes;
      for await (const chunk of this.#source.iterator({ destroyOnReturn: false })) {
        hash.update(chunk as Buffer);
        await write(chunk as Buffer);
      }
      this.#end();
      return bytes;
    } catch (error) {
      room.shared.give(bytes);
      throw error;
    }
  }

  /** Waits for bytes, the end, an error or the stall; true unless it stalled. */
  async #more(stallMs: number): Promise<boolean> {
    const chunk = this.#source.read() as Buffer | null;
    if (chunk !== null) {
      this.#chunks.push(chunk);
      this.#length += chunk.length;
      this.count(chunk.length);
      return true;
    }
    if (this.#source.readableEnded) {
      this.#end();
      return true;
    }
    if (this.#source.destroyed) throw new Error("the client broke off");
    return await this.#signalled(stallMs);
  }

  async #signalled(stallMs: number): Promise<boolean> {
    const source = this.#source;
    return await new Promise((resolve, reject) => {
      const timer = Number.isFinite(stallMs)
        ? setTimeout(() => done(() => resolve(false)), stallMs)
        : undefined;
      const done = (settle: () => void): void => {
        clearTimeout(timer);
        source.off("readable", onReadable).off("end", onEnd).off("error", onError);
        source.off("close", onClose);
        settle();
      };
      const onReadable = (): void => done(() => resolve(true));
      const onEnd = (): void => done(() => resolve(true));
      const onError = (error: Error): void => done(() => reject(error));
      const onClose = (): void => done(() => reject(new Error("the client broke off")));
      source.on("readable", onReadable).on("end", onEnd).on("error", onError);
      source.on("close", onClose);
    });
  }

  /** Throws when it is not the client's end. */
  #end(): void {
    if (this.#isCutOff()) throw new Error("the client broke off");
    this.#ended = true;
  }

  #joined(): Buffer {
    if (this.#chunks.length !== 1) {
      this.#chunks.splice(0, this.#chunks.length, Buffer.concat(this.#chunks));
    }
    return this.#chunks[0] ?? Buffer.alloc(0);
  }
}
