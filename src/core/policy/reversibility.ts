import type { Reversibility } from "../journal/entry.ts";

/** From harmless to final; the place in this list is the order. */
export const reversibilities: readonly Reversibility[] = [
  "reversible",
  "recoverable",
  "irreversible",
];

/** The strictest of several classes; `reversible` when there is none. */
export function strictestReversibility(...classes: readonly Reversibility[]): Reversibility {
  return reversibilities.findLast((one) => classes.includes(one)) ?? "reversible";
}

/** Below zero when `a` is the more harmless one, zero when equal. */
export function compareReversibility(a: Reversibility, b: Reversibility): number {
  return reversibilities.indexOf(a) - reversibilities.indexOf(b);
}
