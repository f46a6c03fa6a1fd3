/**
 * The first key that stands twice in one object of a JSON text, escapes undone; `undefined` when none does. `JSON.parse`
 * takes the last of them and other parsers the first, so that what is judged need not be what the origin does. The text is
 * valid JSON.
 */
export function repeatedKey(text: string): string | undefined {
  /** Keys of each object that is open; `undefined` for an array. */
  const open: (Set<string> | undefined)[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (character === "{") open.push(new Set());
    else if (character === "[") open.push(undefined);
    else if (character === "}" || character === "]") open.pop();
    else if (character === '"') {
      const end = endOfString(text, at);
      const keys = open.at(-1);
      if (keys !== undefined && isKey(text, end)) {
        const key = JSON.parse(text.slice(at, end)) as string;
        if (keys.has(key)) return key;
        keys.add(key);
      }
      at = end - 1;
    }
  }
  return undefined;
}

/** Just behind the quote that closes the string which begins at `start`. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    if (text[at] === "\\") at += 1;
    else if (text[at] === '"') return at + 1;
  }
  return text.length;
}

function isKey(text: string, from: number): boolean {
  let at = from;
  while (at < text.length && /\s/.test(text[at] ?? "")) at += 1;
  return text[at] === ":";
}
