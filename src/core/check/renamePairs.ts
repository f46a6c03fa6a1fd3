/** A file that is only in the base or only in the shadow. */
export interface LoneFile {
  readonly path: string;
  readonly text: string;
}

/** Two files are one renamed file when at least this share of their lines is the same. */
const leastSimilarity = 0.5;

/**
 * Pairs deleted with added files that hold mostly the same lines, best pairs first. Gives old path → new path. Meant for the
 * few files that have diagnostics: it compares all with all.
 */
export function renamePairs(
  deleted: readonly LoneFile[],
  added: readonly LoneFile[],
): ReadonlyMap<string, string> {
  const candidates = deleted.flatMap((from) =>
    added.map((to) => ({ from: from.path, to: to.path, score: similarity(from.text, to.text) })),
  );
  candidates.sort((a, b) => b.score - a.score);
  const pairs = new Map<string, string>();
  const taken = new Set<string>();
  for (const { from, to, score } of candidates) {
    if (score < leastSimilarity || pairs.has(from) || taken.has(to)) continue;
    pairs.set(from, to);
    taken.add(to);
  }
  return pairs;
}

function similarity(a: string, b: string): number {
  if (a === b) return 1;
  const linesOfA = tellingLines(a);
  const linesOfB = tellingLines(b);
  const counts = new Map<string, number>();
  for (const line of linesOfA) counts.set(line, (counts.get(line) ?? 0) + 1);
  let same = 0;
  for (const line of linesOfB) {
    const count = counts.get(line) ?? 0;
    if (count === 0) continue;
    counts.set(line, count - 1);
    same++;
  }
  return (2 * same) / Math.max(1, linesOfA.length + linesOfB.length);
}

/** Lines with a word in them: blank lines and lone brackets are alike in all files. */
function tellingLines(text: string): readonly string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => /\w/.test(line));
}
