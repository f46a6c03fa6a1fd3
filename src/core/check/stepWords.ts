import { plural } from "../../base/words.ts";
import type { Diagnostic, EntryOf } from "../journal/entry.ts";
import type { AgainstBase } from "./stepDelta.ts";

/** `2 errors and 1 warning`; empty for none. */
export function diagnosticWords(diagnostics: readonly Diagnostic[]): string {
  const errors = diagnostics.filter(({ severity }) => severity === "error").length;
  const warnings = diagnostics.length - errors;
  return [
    errors > 0 ? plural(errors, "error") : "",
    warnings > 0 ? plural(warnings, "warning") : "",
  ]
    .filter((words) => words !== "")
    .join(" and ");
}

/** `introduced 3 errors, resolved 2 errors`. */
export function stepWords({ introduced, resolved }: AgainstBase): string {
  return [
    introduced.length > 0 ? `introduced ${diagnosticWords(introduced)}` : "",
    resolved.length > 0 ? `resolved ${diagnosticWords(resolved)}` : "",
  ]
    .filter((words) => words !== "")
    .join(", ");
}

/** A step in one line; where no one call can be named it says so. */
export function stepTitle(step: EntryOf<"check.step">): string {
  const words = `${step.check}: ${stepWords(step)}`;
  if (step.parent !== undefined) return words;
  const calls = step.calls.length;
  if (calls === 0) return `${words}, by no tool call that is known`;
  return calls === 1
    ? `${words}, by this tool call or by something that no call tells`
    : `${words}, by one or more of ${calls} tool calls`;
}
