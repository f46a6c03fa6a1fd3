import type { Diagnostic } from "../journal/entry.ts";
import { byPlace } from "./delta.ts";
import { identityOf, noRenames } from "./diagnosticIdentity.ts";

/** A result's difference to the base, as journaled in `check.finished`. */
export interface AgainstBase {
  readonly introduced: readonly Diagnostic[];
  readonly resolved: readonly Diagnostic[];
}

/**
 * What one step did, from the deltas before and after it: it introduced what is new among the introduced and what is no
 * longer resolved; it resolved what is new among the resolved and what is no longer introduced. `before` is absent
 * for the first result of a check.
 */
export function stepDelta(before: AgainstBase | undefined, after: AgainstBase): AgainstBase {
  const was = before ?? { introduced: [], resolved: [] };
  return {
    introduced: [
      ...missingIn(was.introduced, after.introduced),
      ...missingIn(after.resolved, was.resolved),
    ].sort(byPlace),
    resolved: [
      ...missingIn(was.resolved, after.resolved),
      ...missingIn(after.introduced, was.introduced),
    ].sort(byPlace),
  };
}

/** The diagnostics of `candidates` that `known` does not account for, as multisets. */
export function missingIn(
  known: readonly Diagnostic[],
  candidates: readonly Diagnostic[],
): readonly Diagnostic[] {
  const counts = new Map<string, number>();
  for (const diagnostic of known) {
    const identity = identityOf(diagnostic, noRenames);
    counts.set(identity, (counts.get(identity) ?? 0) + 1);
  }
  return candidates.filter((diagnostic) => {
    const identity = identityOf(diagnostic, noRenames);
    const count = counts.get(identity) ?? 0;
    if (count > 0) counts.set(identity, count - 1);
    return count === 0;
  });
}
