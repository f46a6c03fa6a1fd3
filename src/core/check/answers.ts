import type { CheckStatus, Diagnostic } from "../journal/entry.ts";
import { byPlace, deltaOf, type Delta, type DeltaInput } from "./delta.ts";

/**
 * What a checker says of one side. `hidden`: an error of configuration, options or syntax hides the rest, and `diagnostics`
 * holds only such errors. `partial`: errors that count by themselves hide others (a crate that does not compile has no
 * lints). `absent`: there is nothing to check on that side.
 */
export interface SideAnswer {
  readonly status: "checked" | "partial" | "hidden" | "absent";
  readonly reason?: string | undefined;
  readonly diagnostics: readonly Diagnostic[];
}

/** Both sides of one project (of one configuration, or of the whole workspace). */
export interface PairAnswer {
  readonly base: SideAnswer;
  readonly shadow: SideAnswer;
}

export interface CombinedDelta extends Delta {
  readonly status: Extract<CheckStatus, "passed" | "failed" | "notChecked">;
  readonly reasons: readonly string[];
  /** A side hides something: what is not visible there is in neither list. */
  readonly partial: boolean;
}

/**
 * The delta over several projects. Projects that were checked on both sides are compared together, so that a file in two of them
 * counts once. Where a side is hidden or partial, only what is certain is told: errors that are visible in the shadow and not in
 * the base are introduced, and visible errors of such a base that went are resolved; the answer is then "not checked",
 * or, where a partial shadow introduces errors, "failed". Warnings alone do not fail.
 */
export function combinedDelta(
  pairs: readonly PairAnswer[],
  how: Omit<DeltaInput, "base" | "shadow">,
): CombinedDelta {
  const open = pairs.filter((pair) => !covers(pair.base) && !covers(pair.shadow));
  const whole = deltaOf({
    base: distinct(open.flatMap((pair) => pair.base.diagnostics)),
    shadow: distinct(open.flatMap((pair) => pair.shadow.diagnostics)),
    ...how,
  });
  const introduced = [...whole.introduced];
  const resolved = [...whole.resolved];
  let { unchanged } = whole;
  const reasons: string[] = [];
  let hidden = false;
  let partial = false;
  for (const { base, shadow } of pairs) {
    if (!covers(base) && !covers(shadow)) continue;
    partial = true;
    const delta = deltaOf({ base: base.diagnostics, shadow: shadow.diagnostics, ...how });
    if (covers(shadow)) introduced.push(...delta.introduced);
    if (covers(base)) resolved.push(...delta.resolved);
    unchanged += delta.unchanged;
    hidden ||=
      base.status === "hidden" || shadow.status === "hidden" || delta.introduced.length === 0;
    if (covers(shadow)) reasons.push(shadow.reason ?? "an error hides the answer");
    else reasons.push(`the base could not be checked: ${base.reason ?? "an error hides it"}`);
  }
  const all = distinct(introduced).sort(byPlace);
  const errors = all.some((diagnostic) => diagnostic.severity === "error");
  return {
    status: hidden ? "notChecked" : errors ? "failed" : "passed",
    reasons: [...new Set(reasons)],
    partial,
    introduced: all,
    resolved: distinct(resolved).sort(byPlace),
    unchanged,
  };
}

/** Says whether a side's diagnostics hide others. */
function covers(answer: SideAnswer): boolean {
  return answer.status === "hidden" || answer.status === "partial";
}

/** Each diagnostic once, by everything that it says. */
function distinct(diagnostics: readonly Diagnostic[]): Diagnostic[] {
  const found = new Map<string, Diagnostic>();
  for (const diagnostic of diagnostics) {
    const { path, line, column, code, message, severity } = diagnostic;
    found.set([path, line, column, code, severity, message].join("\0"), diagnostic);
  }
  return [...found.values()];
}
