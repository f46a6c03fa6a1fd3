import { parseJson } from "../../../base/jsonl.ts";
import type { Diagnostic } from "../../journal/entry.ts";
import type { SideAnswer } from "../answers.ts";
import { diagnosticOf, hiddenAnswer, listOf, memberOf, numberOf, reasonOf } from "./toolOutput.ts";
import { textOf, type ToolOutput } from "./toolOutput.ts";

/**
 * Reads `cargo check --message-format=json`: one JSON message a line. The compiler works in phases: errors of one hide those
 * of later ones, and all warnings.
 */
export function readCargo(output: ToolOutput, workspace: string): SideAnswer {
  const messages = output.stdout.split("\n").map(parseJson);
  const found = messages.flatMap((message) => {
    if (memberOf(message, "reason") !== "compiler-message") return [];
    return compilerMessage(memberOf(message, "message"), workspace);
  });
  const diagnostics = [...new Map(found.map((d) => [JSON.stringify(d), d])).values()];
  const errors = diagnostics.filter((diagnostic) => diagnostic.severity === "error");
  const finished = messages.some((message) => memberOf(message, "reason") === "build-finished");
  if (!finished || (output.exitCode !== 0 && errors.length === 0)) {
    return hiddenAnswer(output, errors);
  }
  if (errors.length === 0) return { status: "checked", diagnostics };
  const syntax = errors.some((error) => error.code === "syntax");
  return {
    status: syntax ? "hidden" : "partial",
    reason: reasonOf(errors),
    diagnostics: errors,
  };
}

function compilerMessage(message: unknown, workspace: string): readonly Diagnostic[] {
  const level = textOf(memberOf(message, "level"));
  const spans = listOf(memberOf(message, "spans"));
  const span = spans.find((one) => memberOf(one, "is_primary") === true);
  if (span === undefined || !/^(?:error|warning)/.test(level)) return [];
  const code = textOf(memberOf(message, "code", "code"));
  const error = level.startsWith("error");
  const line = numberOf(memberOf(span, "line_start"));
  const column = numberOf(memberOf(span, "column_start"));
  return [
    diagnosticOf(
      {
        path: textOf(memberOf(span, "file_name")),
        ...(line === undefined ? {} : { line }),
        ...(column === undefined ? {} : { column }),
        code: code === "" ? (error ? "syntax" : "warning") : code,
        message: textOf(memberOf(message, "message")),
        severity: error ? "error" : "warning",
      },
      workspace,
    ),
  ];
}
