/** A request target after canonicalisation: what is judged is what is sent. */
export interface Target {
  /** With a leading slash; dot segments gone; escapes of unreserved characters decoded, all others upper case. */
  readonly path: string;
  /** As it came, without the question mark; `undefined` when there is none. */
  readonly query: string | undefined;
  /** Decoded pairs of the query, in order. */
  readonly pairs: readonly (readonly [string, string])[];
}

/** Canonicalises an origin-form target; `undefined` when it holds what no target may: controls, spaces, backslashes,
 * a fragment, broken or NUL escapes. */
export function parseTarget(text: string): Target | undefined {
  if (!text.startsWith("/") || !/^[\x21-\x7e\x80-\xff]+$/.test(text) || /[\\#]/.test(text)) {
    return undefined;
  }
  const mark = text.indexOf("?");
  const rawPath = mark < 0 ? text : text.slice(0, mark);
  const query = mark < 0 ? undefined : text.slice(mark + 1);
  if (/%(?![0-9A-Fa-f]{2})/.test(rawPath) || /%00/.test(rawPath)) return undefined;
  const path = withoutDots(
    rawPath.replaceAll(/%[0-9A-Fa-f]{2}/g, (escape) => {
      const character = String.fromCharCode(Number.parseInt(escape.slice(1), 16));
      return /[A-Za-z0-9\-._~]/.test(character) ? character : escape.toUpperCase();
    }),
  );
  return { path, query, pairs: query === undefined ? [] : [...new URLSearchParams(query)] };
}

/** The target as it goes out. */
export function targetText(target: Target): string {
  return target.query === undefined ? target.path : `${target.path}?${target.query}`;
}

/** RFC 3986 §5.2.4. */
function withoutDots(path: string): string {
  const kept: string[] = [];
  const segments = path.split("/").slice(1);
  for (const [index, segment] of segments.entries()) {
    const last = index === segments.length - 1;
    if (segment === "..") kept.pop();
    if (segment !== "." && segment !== "..") kept.push(segment);
    else if (last) kept.push("");
  }
  return `/${kept.join("/")}`;
}
