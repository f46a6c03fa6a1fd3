/**
 * Patterns of policy rules and of the built-in knowledge. `*` stands for any characters of one segment, `**` as a
 * segment of its own for any number of segments, none included. Everything else is literal. Both matchers take time
 * proportional to pattern × text: a pattern from an unknown workspace cannot make the supervisor hang.
 */

/** Whether the whole text matches, `*` standing for any characters, separators included. */
export function matchesName(pattern: string, text: string): boolean {
  return matchesSequence(Array.from(pattern), Array.from(text), (one) => one === "*", Object.is);
}

/** Whether a path matches, segment by segment; a slash at the end of either is ignored. */
export function matchesPath(pattern: string, path: string): boolean {
  return matchesSequence(
    segmentsOf(pattern),
    segmentsOf(path),
    (segment) => segment === "**",
    matchesName,
  );
}

/** Whether a host matches: exactly, or `*.example.com` for every name below `example.com` but not that itself. */
export function matchesHost(pattern: string, host: string): boolean {
  if (!pattern.startsWith("*.")) return pattern === host;
  const suffix = pattern.slice(1);
  return host.length > suffix.length && host.endsWith(suffix);
}

/** The segments of a path, without an empty one at the end. */
export function segmentsOf(path: string): readonly string[] {
  return (path.endsWith("/") ? path.slice(0, -1) : path).split("/");
}

/** The classic wildcard walk: on a mismatch give the last star one element more, never look further back. */
function matchesSequence(
  pattern: readonly string[],
  text: readonly string[],
  isStar: (element: string) => boolean,
  matches: (pattern: string, text: string) => boolean,
): boolean {
  let at = 0;
  let patternAt = 0;
  let star = -1;
  let afterStar = 0;
  while (at < text.length) {
    const wanted = pattern[patternAt];
    if (wanted !== undefined && isStar(wanted)) {
      star = patternAt++;
      afterStar = at;
    } else if (wanted !== undefined && matches(wanted, text[at] ?? "")) {
      patternAt++;
      at++;
    } else if (star !== -1) {
      patternAt = star + 1;
      at = ++afterStar;
    } else return false;
  }
  return pattern.slice(patternAt).every(isStar);
}
