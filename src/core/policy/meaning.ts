import type { BlastRadius, Reversibility } from "../journal/entry.ts";
import type { Floor } from "./floor.ts";
import { compareReversibility, strictestReversibility } from "./reversibility.ts";

/** What a call does, as far as the built-in knowledge can tell; before any policy. */
export interface Meaning {
  /** Names the piece of knowledge, e.g. `github POST /repos/*\/*\/pulls`, `git push-branch`, `http read`. */
  readonly id: string;
  /** What happens, for people: "opens a pull request". */
  readonly does: string;
  readonly reversibility: Reversibility;
  readonly traffic: "model" | "disclosure" | "change" | "opaque";
  /** How to undo it on the platform; with a recoverable meaning. */
  readonly wayBack?: string;
  /** The least verdict, whatever a policy says. */
  readonly floor?: Floor;
  readonly blastRadius?: BlastRadius;
  /** False for the defaults by HTTP method: nothing is known of this very call. */
  readonly known: boolean;
  /** Text for people who follow an issue, a change or a page: the preset for comments is about these. */
  readonly isComment?: boolean;
  /** Which calls count as the same kind, for an approval "for this transaction". */
  readonly likeness: string;
}

/** One call that may mean several things: the strictest of them, and what holds any of them holds it. */
export function strictestMeaning(meanings: readonly Meaning[]): Meaning {
  const [first, ...others] = meanings;
  if (first === undefined) throw new Error("a call means something");
  if (others.length === 0) return first;
  const strictest = others.reduce((best, one) => (isStricter(one, best) ? one : best), first);
  const floor = strictest.floor ?? meanings.find((one) => one.floor !== undefined)?.floor;
  const { wayBack, isComment, ...rest } = strictest;
  const reversibility = strictestReversibility(...meanings.map((one) => one.reversibility));
  return {
    ...rest,
    reversibility,
    ...(wayBack === undefined || reversibility !== "recoverable" ? {} : { wayBack }),
    ...(floor === undefined ? {} : { floor }),
    known: meanings.every((one) => one.known),
    ...(isComment === true && meanings.every((one) => one.isComment === true) ? { isComment } : {}),
    likeness: meanings.map((one) => one.likeness).join(" or "),
  };
}

function isStricter(one: Meaning, other: Meaning): boolean {
  if ((one.traffic === "disclosure") !== (other.traffic === "disclosure")) {
    return other.traffic === "disclosure";
  }
  const order = compareReversibility(one.reversibility, other.reversibility);
  if (order !== 0) return order > 0;
  if ((one.floor === undefined) !== (other.floor === undefined)) return one.floor !== undefined;
  return other.known && !one.known;
}
