import type { Verdict } from "../journal/entry.ts";

/** From lenient to strict; the place in this list is the order. */
export const verdicts: readonly Verdict[] = ["allow", "hold", "deny"];

/** The strictest of several verdicts; `undefined` when there is none: nothing said is not `allow`. */
export function strictestVerdict(given: Iterable<Verdict>): Verdict | undefined {
  let strictest: Verdict | undefined;
  for (const verdict of given) {
    if (strictest === undefined || compareVerdict(verdict, strictest) > 0) strictest = verdict;
  }
  return strictest;
}

/** Below zero when `a` is the more lenient one, zero when equal. */
export function compareVerdict(a: Verdict, b: Verdict): number {
  return verdicts.indexOf(a) - verdicts.indexOf(b);
}
