import type { JsonValue } from "../../journal/entry.ts";

/** Decodes `application/x-www-form-urlencoded`; `undefined` when an escape is broken. */
export function parseForm(text: string): (readonly [string, string])[] | undefined {
  const pairs: (readonly [string, string])[] = [];
  for (const piece of text.trim().split("&")) {
    if (piece === "") continue;
    const mark = piece.indexOf("=");
    try {
      pairs.push([
        decode(mark < 0 ? piece : piece.slice(0, mark)),
        mark < 0 ? "" : decode(piece.slice(mark + 1)),
      ]);
    } catch {
      return undefined;
    }
  }
  return pairs;
}

function decode(text: string): string {
  return decodeURIComponent(text.replaceAll("+", " "));
}

/** Fields as an object: a string, or a list of strings where a name repeats. */
export function formValue(
  pairs: readonly (readonly [string, string])[],
): Record<string, JsonValue> {
  // A null prototype, because `__proto__` is a name like any other here.
  const lists = Object.create(null) as Record<string, string[]>;
  for (const [name, text] of pairs) (lists[name] ??= []).push(text);
  const value = Object.create(null) as Record<string, JsonValue>;
  for (const [name, list] of Object.entries(lists)) {
    value[name] = list.length === 1 ? (list[0] ?? "") : list;
  }
  return value;
}
