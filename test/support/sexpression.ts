/** A word (`deny`, `default`), a string, a regular expression, or a list. */
export type Expression =
  | { readonly word: string }
  | { readonly string: string }
  | { readonly regex: string }
  | readonly Expression[];

/** Every expression of a text in Scheme's syntax as Seatbelt profiles use it. Throws where it is not well formed. */
export function parseExpressions(text: string): readonly Expression[] {
  const token = /\s+|;[^\n]*|([()])|(#?)"((?:[^"\\]|\\[^])*)"|([^\s()";]+)/y;
  const open: Expression[][] = [[]];
  while (token.lastIndex < text.length) {
    const at = token.lastIndex;
    const match = token.exec(text);
    if (match === null) throw new SyntaxError(`no expression at ${at}: ${text.slice(at, at + 40)}`);
    const [, bracket, hash, string, word] = match;
    if (bracket === "(") open.push([]);
    const done = bracket === ")" ? open.pop() : undefined;
    const inner: Expression | undefined =
      done ??
      (word !== undefined
        ? { word }
        : string === undefined
          ? undefined
          : hash === "#"
            ? { regex: string }
            : { string: string.replaceAll(/\\([^])/g, "$1") });
    if (inner === undefined) continue;
    const outer = open.at(-1);
    if (outer === undefined) throw new SyntaxError(`a bracket too many at ${at}`);
    outer.push(inner);
  }
  const [all = [], ...unclosed] = open;
  if (unclosed.length > 0) throw new SyntaxError(`${unclosed.length} brackets are not closed`);
  return all;
}
