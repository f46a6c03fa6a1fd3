import { parseJson } from "../../../base/jsonl.ts";
import type { SideAnswer } from "../answers.ts";
import { diagnosticOf, hiddenAnswer, listOf, memberOf, numberOf, textOf } from "./toolOutput.ts";
import { reasonOf, type ToolOutput } from "./toolOutput.ts";

/** Reads `eslint -f json`. A file that does not parse has one fatal message in the place of all others. */
export function readEslint(output: ToolOutput, workspace: string): SideAnswer {
  const report = parseJson(output.stdout);
  if (output.exitCode > 1 || !Array.isArray(report)) return hiddenAnswer(output);
  const fatal = new Set<string>();
  const diagnostics = listOf(report).flatMap((file) =>
    listOf(memberOf(file, "messages")).map((message) => {
      const line = numberOf(memberOf(message, "line"));
      const column = numberOf(memberOf(message, "column"));
      const found = diagnosticOf(
        {
          path: textOf(memberOf(file, "filePath")),
          ...(line === undefined ? {} : { line }),
          ...(column === undefined ? {} : { column }),
          code: textOf(memberOf(message, "ruleId")) || "parse",
          message: textOf(memberOf(message, "message")),
          severity: memberOf(message, "severity") === 2 ? "error" : "warning",
        },
        workspace,
      );
      if (memberOf(message, "fatal") === true) fatal.add(found.path);
      return found;
    }),
  );
  if (fatal.size === 0) return { status: "checked", diagnostics };
  const broken = diagnostics.filter((diagnostic) => fatal.has(diagnostic.path));
  return { status: "partial", reason: reasonOf(broken), diagnostics: broken };
}
