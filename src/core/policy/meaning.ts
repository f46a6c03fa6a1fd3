import type { BlastRadius, Reversibility } from "../journal/entry.ts";
import type { Floor } from "./floor.ts";

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
