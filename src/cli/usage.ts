import type { Verb } from "./context.ts";

/** The help text: every verb with its usage. */
export function usage(verbs: Readonly<Record<string, Verb>>): string {
  const lines = Object.values(verbs).map((verb) => `  ${verb.usage}\n      ${verb.summary}`);
  return [
    "holdfast: runs a coding agent in a transaction; you review one diff at the end",
    "",
    "usage: holdfast VERB [ARGUMENTS] [--workspace DIR] [--json]",
    "       holdfast --version",
    "TXN is a transaction's id or `latest`.",
    "",
    ...lines,
    "",
    "exit codes: 0 done · 1 failed · 2 usage · 3 refused · 4 conflicts · 5 waiting on a hold",
    "",
  ].join("\n");
}
