/** Messages of a language server are framed like HTTP: a `Content-Length` header, an empty line, that many bytes of JSON. */

const separator = "\r\n\r\n";

/** A longer message, in bytes, is not believed. */
const longestMessage = 64 * 1024 * 1024;

export function frameOf(message: object): Buffer {
  const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }));
  return Buffer.concat([Buffer.from(`Content-Length: ${body.length}${separator}`), body]);
}

/** Takes bytes as they come and gives whole messages. Throws a RangeError for what is no frame, or too long a one. */
export class MessageFrames {
  #bytes = Buffer.alloc(0);

  push(more: Buffer): readonly string[] {
    this.#bytes = Buffer.concat([this.#bytes, more]);
    const messages: string[] = [];
    for (;;) {
      const end = this.#bytes.indexOf(separator);
      if (end < 0) break;
      const length = /^content-length: *(\d{1,10})$/im.exec(this.#bytes.toString("latin1", 0, end));
      const size = Number(length?.[1]);
      if (length === null || size > longestMessage) throw new RangeError("not a message frame");
      const from = end + separator.length;
      if (this.#bytes.length < from + size) break;
      messages.push(this.#bytes.toString("utf8", from, from + size));
      this.#bytes = this.#bytes.subarray(from + size);
    }
    if (this.#bytes.length > longestMessage) throw new RangeError("too long a message");
    return messages;
  }
}
