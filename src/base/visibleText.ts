/** One stretch of a text: as it is, or a character that would not be seen, with the name to show in its place. */
export type TextPart =
  | { readonly kind: "plain"; readonly text: string }
  | {
      readonly kind: "hidden";
      readonly text: string;
      readonly shown: string;
      readonly name: string;
    };

const names: ReadonlyMap<number, string> = new Map([
  [0x00, "null"],
  [0x08, "backspace"],
  [0x0d, "carriage return"],
  [0x1b, "escape"],
  [0x7f, "delete"],
  [0xa0, "no-break space"],
  [0xad, "soft hyphen"],
  [0x61c, "Arabic letter mark"],
  [0x180e, "Mongolian vowel separator"],
  [0x200b, "zero-width space"],
  [0x200c, "zero-width non-joiner"],
  [0x200d, "zero-width joiner"],
  [0x200e, "left-to-right mark"],
  [0x200f, "right-to-left mark"],
  [0x2028, "line separator"],
  [0x2029, "paragraph separator"],
  [0x202a, "left-to-right embedding"],
  [0x202b, "right-to-left embedding"],
  [0x202c, "pop directional formatting"],
  [0x202d, "left-to-right override"],
  [0x202e, "right-to-left override"],
  [0x2060, "word joiner"],
  [0x2066, "left-to-right isolate"],
  [0x2067, "right-to-left isolate"],
  [0x2068, "first strong isolate"],
  [0x2069, "pop directional isolate"],
  [0xfeff, "byte order mark"],
  [0xfffd, "replacement character"],
]);

/**
 * Characters that a reader cannot see or that change how others are shown: controls other than tab and line ends, format
 * characters (bidirectional, zero-width, tags), separators other than the space, fillers, lone surrogates, private use.
 */
const hidden =
  /[^\P{Cc}\t\n\r]|\r(?!\n)|\p{Cf}|\p{Zl}|\p{Zp}|[^\P{Zs} ]|\p{Cs}|\p{Co}|[\u115F\u1160\u3164\uFFA0\u034F\u17B4\u17B5\uFE00-\uFE0F\uFFFD]|[\u{E0100}-\u{E01EF}]/gu;

/** Nothing but letters, digits and signs of ASCII on one line: most texts, and quickly told. */
const plainLine = /^[ -~]*$/;

/** Splits a text so that nothing in it stays unseen. Joining the `text` of all parts gives the text back. */
export function visibleParts(text: string): readonly TextPart[] {
  const parts: TextPart[] = [];
  let from = 0;
  for (const match of text.matchAll(hidden)) {
    if (match.index > from) parts.push({ kind: "plain", text: text.slice(from, match.index) });
    const point = match[0].codePointAt(0) ?? 0;
    const code = `U+${point.toString(16).toUpperCase().padStart(4, "0")}`;
    parts.push({
      kind: "hidden",
      text: match[0],
      shown: code,
      name: `${code} ${names.get(point) ?? "hidden character"}`,
    });
    from = match.index + match[0].length;
  }
  if (from < text.length) parts.push({ kind: "plain", text: text.slice(from) });
  return parts;
}

/** The text on one line with hidden characters spelled out, for titles and labels. */
export function visibleLine(text: string): string {
  if (plainLine.test(text)) return text;
  return visibleParts(text.replaceAll(/(?:\t|\r?\n)+/g, " "))
    .map((part) => (part.kind === "plain" ? part.text : `⟨${part.shown}⟩`))
    .join("");
}

/** How many characters of the text would not be seen. */
export function hiddenCount(text: string): number {
  return visibleParts(text).filter((part) => part.kind === "hidden").length;
}
