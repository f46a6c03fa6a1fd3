/**
 * File names as strings without loss: valid UTF-8 reads as itself, any other byte 0x80–0xFF as the lone surrogate
 * U+DC80–U+DCFF (the "surrogateescape" of PEP 383). Such strings survive JSON; `encodePath` gives the bytes back.
 */
import { isUtf8 } from "node:buffer";

const loneSurrogate = /[\uD800-\uDFFF]/u;

/** Length of the valid UTF-8 sequence that starts at `at`, 0 when there is none. */
function sequenceLength(bytes: Buffer, at: number): number {
  const lead = bytes[at] ?? 0;
  if (lead < 0x80) return 1;
  const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  return at + length <= bytes.length && isUtf8(bytes.subarray(at, at + length)) ? length : 0;
}

/** The string for the bytes of a file name or path. */
export function decodePath(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString("utf8");
  let text = "";
  for (let at = 0; at < bytes.length;) {
    const length = sequenceLength(bytes, at);
    text +=
      length === 0
        ? String.fromCharCode(0xdc00 + (bytes[at] ?? 0))
        : bytes.toString("utf8", at, at + length);
    at += Math.max(length, 1);
  }
  return text;
}

/** The bytes of a string made by {@link decodePath}. */
export function encodePath(text: string): Buffer {
  if (!loneSurrogate.test(text)) return Buffer.from(text, "utf8");
  const parts: Buffer[] = [];
  for (const character of text) {
    const unit = character.charCodeAt(0);
    const raw = character.length === 1 && unit >= 0xdc80 && unit <= 0xdcff;
    parts.push(raw ? Buffer.from([unit - 0xdc00]) : Buffer.from(character, "utf8"));
  }
  return Buffer.concat(parts);
}
