import { parseJson } from "../../../base/jsonl.ts";
import type { Diagnostic } from "../../journal/entry.ts";
import type { SideAnswer } from "../answers.ts";
import { diagnosticOf, hiddenAnswer, listOf, memberOf, reasonOf, textOf } from "./toolOutput.ts";
import type { ToolOutput } from "./toolOutput.ts";

/**
 * Reads `go vet -json ./...`. Findings are JSON objects (on stdout or, in older versions, on stderr) between `# package` lines; a
 * package that does not compile gives a `vet:` or compiler line instead, and nothing of it is vetted.
 */
export function readGoVet(output: ToolOutput, workspace: string): SideAnswer {
  const text = `${output.stdout}\n${output.stderr}`;
  const findings = jsonBlocks(text).flatMap((block) => findingsOf(block, workspace));
  const broken = compileErrors(text, workspace);
  if (broken.length > 0) {
    return { status: "partial", reason: reasonOf(broken), diagnostics: broken };
  }
  if (output.exitCode !== 0 && findings.length === 0) return hiddenAnswer(output);
  return { status: "checked", diagnostics: findings };
}

/** Objects that begin with a lone `{` and end with a lone `}`. */
function jsonBlocks(text: string): readonly unknown[] {
  const blocks: unknown[] = [];
  let block: string[] | undefined;
  for (const line of text.split(/\r?\n/)) {
    if (line === "{") block = [];
    block?.push(line);
    if (line === "}" && block !== undefined) {
      blocks.push(parseJson(block.join("\n")));
      block = undefined;
    }
  }
  return blocks;
}

function findingsOf(block: unknown, workspace: string): readonly Diagnostic[] {
  const byPackage = Object.values((block ?? {}) as Readonly<Record<string, unknown>>);
  return byPackage.flatMap((analyzers) =>
    Object.entries((analyzers ?? {}) as Readonly<Record<string, unknown>>).flatMap(([code, list]) =>
      listOf(list).flatMap((finding) => {
        const place = placeOf(textOf(memberOf(finding, "posn")));
        if (place === undefined) return [];
        const message = textOf(memberOf(finding, "message"));
        return [diagnosticOf({ ...place, code, message, severity: "error" }, workspace)];
      }),
    ),
  );
}

function compileErrors(text: string, workspace: string): readonly Diagnostic[] {
  return text.split(/\r?\n/).flatMap((line) => {
    const match = /^(?:vet: )?(\.{0,2}[^\s:{}"][^:{}"]*\.go:\d+(?::\d+)?): (.*)$/.exec(line);
    const place = placeOf(match?.[1] ?? "");
    if (place === undefined) return [];
    const message = match?.[2] ?? "";
    return [diagnosticOf({ ...place, code: "compile", message, severity: "error" }, workspace)];
  });
}

function placeOf(
  text: string,
): { readonly path: string; readonly line: number; readonly column: number } | undefined {
  const match = /^(.*?):(\d+)(?::(\d+))?$/.exec(text);
  if (match === null) return undefined;
  const [, path = "", line = "1", column = "1"] = match;
  return { path, line: Number(line), column: Number(column) };
}
