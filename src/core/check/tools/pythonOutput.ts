import { parseJson } from "../../../base/jsonl.ts";
import type { SideAnswer } from "../answers.ts";
import { diagnosticOf, hiddenAnswer, listOf, memberOf, numberOf, textOf } from "./toolOutput.ts";
import type { ToolOutput } from "./toolOutput.ts";

/** Reads mypy's lines `path:line:column: severity: message  [code]`. Exit code 2 means that it stopped early. */
export function readMypy(output: ToolOutput, workspace: string): SideAnswer {
  const diagnostics = output.stdout.split(/\r?\n/).flatMap((line) => {
    const match = /^(.+?):(?:(\d+):(?:(\d+):)?)? (error|warning): (.*?)(?: {2}\[([\w-]+)\])?$/.exec(
      line,
    );
    if (match === null) return [];
    const [, path = "", at = "1", column = "1", severity, message = "", code = "error"] = match;
    const place = { path, line: Number(at), column: Number(column) };
    const kind = severity === "warning" ? ("warning" as const) : ("error" as const);
    return [diagnosticOf({ ...place, code, message, severity: kind }, workspace)];
  });
  if (output.exitCode > 1) return hiddenAnswer(output, diagnostics);
  return { status: "checked", diagnostics };
}

/** Reads `pyright --outputjson`: exit codes above 1 mean that it did not check. */
export function readPyright(output: ToolOutput, workspace: string): SideAnswer {
  const report = parseJson(output.stdout);
  const list = memberOf(report, "generalDiagnostics");
  if (output.exitCode > 1 || !Array.isArray(list)) return hiddenAnswer(output);
  const diagnostics = listOf(list).flatMap((found) => {
    const severity = memberOf(found, "severity");
    if (severity !== "error" && severity !== "warning") return [];
    const start = memberOf(found, "range", "start");
    return [
      diagnosticOf(
        {
          path: textOf(memberOf(found, "file")),
          line: (numberOf(memberOf(start, "line")) ?? 0) + 1,
          column: (numberOf(memberOf(start, "character")) ?? 0) + 1,
          code: textOf(memberOf(found, "rule")) || "syntax",
          message: textOf(memberOf(found, "message")),
          severity,
        },
        workspace,
      ),
    ];
  });
  return { status: "checked", diagnostics };
}
