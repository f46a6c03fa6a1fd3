/** What the first bytes of a connection say: the server name of a TLS ClientHello (`undefined` when it has none),
 * that more bytes are needed, or that it is no ClientHello. */
export type Hello = { readonly serverName: string | undefined } | "incomplete" | "notTls";

/** Reads a ClientHello (RFC 8446 §4.1.2, RFC 6066 §3) that may be split over several records. */
export function readClientHello(bytes: Buffer): Hello {
  const handshake: Buffer[] = [];
  for (let at = 0; ;) {
    if (bytes.length - at < 5) return at === 0 && bytes[0] !== 22 ? "notTls" : "incomplete";
    if (bytes[at] !== 22 || bytes[at + 1] !== 3) return "notTls";
    const length = bytes.readUInt16BE(at + 3);
    if (length === 0 || length > 16_640) return "notTls";
    if (bytes.length < at + 5 + length) return "incomplete";
    handshake.push(bytes.subarray(at + 5, at + 5 + length));
    at += 5 + length;
    const message = Buffer.concat(handshake);
    if (message[0] !== 1) return "notTls";
    if (message.length < 4) continue;
    const total = message.readUIntBE(1, 3);
    if (message.length >= 4 + total) return serverNameOf(message.subarray(4, 4 + total));
  }
}

function serverNameOf(hello: Buffer): Hello {
  try {
    let at = 2 + 32;
    at += 1 + hello.readUInt8(at);
    at += 2 + hello.readUInt16BE(at);
    at += 1 + hello.readUInt8(at);
    if (at >= hello.length) return { serverName: undefined };
    const end = at + 2 + hello.readUInt16BE(at);
    at += 2;
    while (at + 4 <= end) {
      const type = hello.readUInt16BE(at);
      const length = hello.readUInt16BE(at + 2);
      if (type === 0) {
        const nameLength = hello.readUInt16BE(at + 7);
        return { serverName: hello.subarray(at + 9, at + 9 + nameLength).toString("latin1") };
      }
      at += 4 + length;
    }
    return { serverName: undefined };
  } catch {
    return "notTls"; // Lengths that lead out of the message.
  }
}
