import { Failure } from "../../base/errors.ts";

/** Splits a command line into words as a shell would: quotes and backslashes, nothing else. Throws a Failure when a quote
 * is not closed. */
export function commandWords(line: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  let quote: string | undefined;
  for (let at = 0; at < line.length; at++) {
    const character = line.charAt(at);
    if (quote !== undefined) {
      if (character === quote) quote = undefined;
      else if (character === "\\" && quote === '"') word = (word ?? "") + line.charAt(++at);
      else word = (word ?? "") + character;
    } else if (character === '"' || character === "'") {
      quote = character;
      word ??= "";
    } else if (character === "\\") {
      word = (word ?? "") + line.charAt(++at);
    } else if (/\s/.test(character)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? "") + character;
  }
  if (quote !== undefined)
    throw new Failure("usage", "open-quote", `a quote (${quote}) is not closed`, "close it");
  if (word !== undefined) words.push(word);
  return words;
}

/** Reads limits such as `records=50 calls=10`. Throws a Failure for a word that is none. */
export function limitsOf(line: string): Record<string, string> {
  return Object.fromEntries(
    commandWords(line).map((word) => {
      const at = word.indexOf("=");
      if (at > 0) return [word.slice(0, at), word.slice(at + 1)];
      throw new Failure(
        "usage",
        "bad-limit",
        `${word} is not NAME=VALUE`,
        "for example records=50",
      );
    }),
  );
}
