import type { Socket } from "node:net";

/** Takes exact numbers of bytes from a socket and leaves the rest in it, so that its end is never told before they are
 * read. Rejects when the peer breaks off. */
export class ByteReader {
  readonly #socket: Socket;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  async take(count: number): Promise<Buffer> {
    const parts: Buffer[] = [];
    for (let missing = count; missing > 0;) {
      const part = this.#next();
      if (part === undefined) {
        await this.#readable();
        continue;
      }
      if (part.length > missing) this.#socket.unshift(part.subarray(missing));
      parts.push(part.subarray(0, missing));
      missing -= Math.min(part.length, missing);
    }
    return Buffer.concat(parts);
  }

  /** Up to the next newline, without it; `undefined` when it is longer than `most` bytes. */
  async line(most: number): Promise<string | undefined> {
    let text = "";
    for (;;) {
      const part = this.#next();
      if (part === undefined) {
        await this.#readable();
        continue;
      }
      const end = part.indexOf(10);
      if (end >= 0 && end + 1 < part.length) this.#socket.unshift(part.subarray(end + 1));
      text += part.toString("latin1", 0, end < 0 ? part.length : end);
      if (text.length > most) return undefined;
      if (end >= 0) return text;
    }
  }

  #next(): Buffer | undefined {
    return (this.#socket.read() as Buffer | null) ?? undefined;
  }

  async #readable(): Promise<void> {
    const socket = this.#socket;
    // The end may have been told between a wake and this.
    if (socket.readableEnded || socket.destroyed) throw new Error("the client broke off");
    await new Promise<void>((resolve, reject) => {
      const done = (settle: () => void): void => {
        socket.off("readable", onReadable).off("end", onEnd).off("close", onEnd);
        settle();
      };
      const onReadable = (): void => done(resolve);
      const onEnd = (): void => done(() => reject(new Error("the client broke off")));
      socket.on("readable", onReadable).on("end", onEnd).on("close", onEnd);
    });
  }
}
