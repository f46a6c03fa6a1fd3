/**
 * Text as this layer sees it: a string in which every character stands for one byte (0–255), so that encodings, byte
 * order marks and line ends are kept byte for byte. Lines keep their `\n`; a last line without one differs from the
 * same line with one.
 */

/** The lines of a text, each with its `\n`; joining them gives the text back. */
export function splitLines(text: string): readonly string[] {
  const lines: string[] = [];
  let start = 0;
  while (start < text.length) {
    const end = text.indexOf("\n", start);
    const next = end === -1 ? text.length : end + 1;
    lines.push(text.slice(start, next));
    start = next;
  }
  return lines;
}

/** Git's own test for binary content: a NUL among the first 8,000 bytes. */
export function looksBinary(text: string): boolean {
  const nul = text.indexOf("\0");
  return nul !== -1 && nul < 8000;
}

/** Files above this many bytes are never held in memory: they are compared by hash and copied in pieces. */
export const textLimit = 8 * 1024 * 1024;
