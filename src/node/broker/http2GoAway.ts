/** Why HTTP/2 without TLS is refused. */
export const clearHttp2 = "HTTP/2 without TLS is not passed on: use TLS or HTTP/1.1";

/** An empty SETTINGS frame, then GOAWAY with HTTP_1_1_REQUIRED and the reason (RFC 9113 §6.5, §6.8). */
export function http2GoAway(reason: string): Buffer {
  const words = Buffer.from(reason);
  const head = Buffer.alloc(17);
  head.writeUIntBE(8 + words.length, 0, 3);
  head[3] = 7;
  head.writeUInt32BE(13, 13);
  return Buffer.concat([Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]), head, words]);
}
