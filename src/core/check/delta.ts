import type { Diagnostic } from "../journal/entry.ts";
import { identityOf, type Renames } from "./diagnosticIdentity.ts";
import { sameLines, type LineMap } from "./lineMap.ts";

/** What the change set did to the diagnostics of one check. `resolved` keeps the base's paths and lines. */
export interface Delta {
  readonly introduced: readonly Diagnostic[];
  readonly resolved: readonly Diagnostic[];
  readonly unchanged: number;
}

export interface DeltaInput {
  readonly base: readonly Diagnostic[];
  readonly shadow: readonly Diagnostic[];
  readonly renames: Renames;
  /** Line map of a file by its path in the base; absent means that its lines did not move. */
  readonly lines: (basePath: string) => LineMap | undefined;
}

/**
 * Compares the diagnostics of base and shadow as multisets over {@link identityOf}: of `b` equal ones in the base and `s`
 * in the shadow, `min(b, s)` are unchanged. Which of several equal ones are left over is decided by their lines: those
 * that stand where the base's line went are the same one; the others pair in order. Both results are sorted.
 */
export function deltaOf(input: DeltaInput): Delta {
  const groups = new Map<string, { base: Diagnostic[]; shadow: Diagnostic[] }>();
  const groupOf = (diagnostic: Diagnostic, renames: Renames) => {
    const identity = identityOf(diagnostic, renames);
    let group = groups.get(identity);
    if (group === undefined) groups.set(identity, (group = { base: [], shadow: [] }));
    return group;
  };
  for (const diagnostic of input.base) groupOf(diagnostic, input.renames).base.push(diagnostic);
  for (const diagnostic of input.shadow) groupOf(diagnostic, input.renames).shadow.push(diagnostic);

  const introduced: Diagnostic[] = [];
  const resolved: Diagnostic[] = [];
  let unchanged = 0;
  for (const group of groups.values()) {
    const left = pairOff(group.base, group.shadow, input.lines);
    introduced.push(...left.shadow);
    resolved.push(...left.base);
    unchanged += group.base.length - left.base.length;
  }
  return { introduced: introduced.sort(byPlace), resolved: resolved.sort(byPlace), unchanged };
}

/** Takes pairs out of two lists of equal diagnostics; gives what is left on either side (one of them is empty). */
function pairOff(
  base: readonly Diagnostic[],
  shadow: readonly Diagnostic[],
  lines: DeltaInput["lines"],
): { readonly base: readonly Diagnostic[]; readonly shadow: readonly Diagnostic[] } {
  if (base.length === 0 || shadow.length === 0) return { base, shadow };
  if (base.length === shadow.length) return { base: [], shadow: [] };
  const mapped = base
    .map((diagnostic) => {
      const place = (lines(diagnostic.path) ?? sameLines)(diagnostic.line);
      return { diagnostic, line: place.line, exact: place.exact };
    })
    .sort((a, b) => a.line - b.line || a.diagnostic.column - b.diagnostic.column);
  const free = [...shadow].sort(byPlace);
  const waiting: Diagnostic[] = [];
  for (const item of mapped) {
    const at = item.exact ? free.findIndex((candidate) => candidate.line === item.line) : -1;
    if (at >= 0) free.splice(at, 1);
    else waiting.push(item.diagnostic);
  }
  const pairs = Math.min(waiting.length, free.length);
  return { base: waiting.slice(pairs), shadow: free.slice(pairs) };
}

/** Order of diagnostics everywhere: path, line, column, code, message. */
export function byPlace(a: Diagnostic, b: Diagnostic): number {
  return (
    compare(a.path, b.path) ||
    a.line - b.line ||
    a.column - b.column ||
    compare(a.code, b.code) ||
    compare(a.message, b.message)
  );
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
