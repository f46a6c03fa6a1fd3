import { plural } from "../../base/words.ts";

interface Finding {
  readonly path: string;
  readonly line: number;
  readonly column: number;
  readonly code: string;
  readonly message: string;
  readonly severity?: "error" | "warning" | undefined;
}

/** A check's answer, as journaled or as it travels. */
export interface AnsweredCheck {
  readonly name: string;
  readonly status: string;
  readonly note?: string | undefined;
  readonly introduced: readonly Finding[];
}

/** What stands between a change set and "clean". */
export interface Uncleanness {
  readonly errors: readonly Finding[];
  /** Checks that apply and gave no answer, each with why. */
  readonly unanswered: readonly string[];
}

/** How many errors a message names. */
const named = 5;

/**
 * What keeps a change set from being clean: errors that it introduces, and checks that apply without an answer. Warnings, and
 * errors from before, do not. Where no check applies everything is clean.
 */
export function uncleannessOf(checks: readonly AnsweredCheck[]): Uncleanness {
  const relevant = checks.filter(({ name }) => name !== "all");
  return {
    errors: relevant
      .flatMap(({ introduced }) => introduced)
      .filter(({ severity }) => severity !== "warning"),
    unanswered: relevant
      .filter(({ status }) => status !== "passed" && status !== "failed")
      .map(({ name, status, note }) => `${name}: ${note ?? status}`),
  };
}

/** One line for each of the first errors, and how many more there are. */
export function errorLines(errors: readonly Finding[]): readonly string[] {
  const lines = errors
    .slice(0, named)
    .map(({ path, line, column, code, message }) =>
      [`${path}:${line}:${column}`, code, message.split("\n")[0] ?? ""]
        .filter((part) => part !== "")
        .join(" "),
    );
  const more = errors.length - lines.length;
  return more > 0 ? [...lines, `and ${more} more`] : lines;
}

/** Why it is not clean, in one line; undefined when it is. */
export function uncleanReason({ errors, unanswered }: Uncleanness): string | undefined {
  const parts: string[] = [];
  if (errors.length > 0) {
    parts.push(
      `the change set introduces ${plural(errors.length, "error")}: ${errorLines(errors).join("; ")}`,
    );
  }
  if (unanswered.length > 0) parts.push(`not checked: ${unanswered.join("; ")}`);
  return parts.length === 0 ? undefined : parts.join("; ");
}
