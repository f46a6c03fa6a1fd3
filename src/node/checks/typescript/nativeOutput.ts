import type { SideAnswer } from "../../../core/check/answers.ts";
import { withoutWorkspace } from "../../../core/check/diagnosticIdentity.ts";
import type { Diagnostic } from "../../../core/journal/entry.ts";

type Draft = { -readonly [Key in keyof Diagnostic]: Diagnostic[Key] };

/** Reads what `tsc --pretty false` prints. Diagnostics without a file are put on the configuration. */
export function parseCompilerOutput(
  text: string,
  workspace: string,
  config: string,
): readonly Diagnostic[] {
  const found: Draft[] = [];
  for (const line of text.split(/\r?\n/)) {
    const match = /^(?:(.+?)\((\d+),(\d+)\): )?(error|warning) (TS\d+): (.*)$/.exec(line);
    const last = found.at(-1);
    if (match === null) {
      if (last !== undefined && /^\s+\S/.test(line)) last.message += `\n${line}`;
      continue;
    }
    const [, path = config, at = "1", column = "1", severity, code = "", message = ""] = match;
    found.push({
      path: withoutWorkspace(path, workspace),
      line: Number(at),
      column: Number(column),
      code,
      message,
      severity: severity === "warning" ? "warning" : "error",
    });
  }
  return found.map((draft) => ({ ...draft, message: withoutWorkspace(draft.message, workspace) }));
}

/**
 * Judges an output by its errors: the compiler prints errors of syntax, or of configuration and options, and then leaves the
 * project alone. Codes do not tell syntax from grammar that the checker finds, so `broken` says which files do not parse.
 */
export function sideAnswer(
  diagnostics: readonly Diagnostic[],
  config: string,
  broken: ReadonlySet<string>,
): SideAnswer {
  const hiding = diagnostics.find(
    (d) => d.path === config || broken.has(d.path) || hidesAll(Number(d.code.slice(2))),
  );
  if (hiding === undefined) return { status: "checked", diagnostics };
  const message = hiding.message.split("\n")[0] ?? "";
  const reason = `${hiding.path}:${hiding.line}: ${hiding.code}: ${message}`;
  return { status: "hidden", reason, diagnostics };
}

/** Files with errors that may be errors of syntax. */
export function doubtfulFiles(diagnostics: readonly Diagnostic[]): readonly string[] {
  return [
    ...new Set(diagnostics.filter((d) => /^TS(?:1|8|17)\d{3}$/.test(d.code)).map((d) => d.path)),
  ];
}

/** Messages of the checker among the numbers 5000–5110, which otherwise are of options. */
const checkerCodes = new Set([5075, 5076, 5082, 5085, 5086, 5087, 5088, 5097]);

/** Other errors of options, of files that are not found, and of missing global types, which end a run early. */
const endingCodes = new Set([
  2318, 2688, 6044, 6046, 6053, 6054, 6059, 6064, 6082, 6114, 6131, 6202, 6230, 6258, 6266, 6304,
  6305, 6306, 6307, 6310, 6377, 6379, 18000, 18002, 18003,
]);

function hidesAll(code: number): boolean {
  return (code >= 5000 && code <= 5110 && !checkerCodes.has(code)) || endingCodes.has(code);
}
