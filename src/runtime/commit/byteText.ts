import { createHash } from "node:crypto";

/** Bytes as a text in which each character stands for one byte (see core/change/lines). */
export function byteText(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
}

/** The bytes of such a text. */
export function textBytes(text: string): Uint8Array {
  return Buffer.from(text, "latin1");
}

/** SHA-256 in lower-case hex. */
export function hashOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
