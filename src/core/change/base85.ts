/** The lines of a git binary patch: base 85 with git's alphabet, at most 52 bytes a line, the first letter its length. */
const alphabet =
  "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";

export const bytesPerLine = 52;

/** One line for at most 52 bytes, with its `\n`. */
export function base85Line(bytes: Uint8Array): string {
  const length = bytes.length;
  let line =
    length <= 26 ? String.fromCharCode(64 + length) : String.fromCharCode(96 + length - 26);
  for (let at = 0; at < length; at += 4) {
    let word = 0;
    for (let index = 0; index < 4; index++) word = word * 256 + (bytes[at + index] ?? 0);
    let group = "";
    for (let index = 0; index < 5; index++) {
      group = (alphabet[word % 85] ?? "") + group;
      word = Math.floor(word / 85);
    }
    line += group;
  }
  return `${line}\n`;
}
