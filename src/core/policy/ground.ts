import type { Verdict } from "../journal/entry.ts";

/** One line of the argument for a verdict; the strictest decides, among equals the first. */
export interface Ground {
  readonly verdict: Verdict;
  /** E.g. `user:crm-archive`, `floor.force-push`, `default.unmatched`. */
  readonly rule: string;
  readonly reason: string;
}
