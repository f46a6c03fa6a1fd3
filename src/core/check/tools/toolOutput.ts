import type { Diagnostic } from "../../journal/entry.ts";
import type { SideAnswer } from "../answers.ts";
import { withoutWorkspace } from "../diagnosticIdentity.ts";

/** What a checker's command left: its exit code and what it printed. */
export interface ToolOutput {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Reads the output of one kind of checker, run in `workspace`. */
export type ReadToolOutput = (output: ToolOutput, workspace: string) => SideAnswer;

/** A diagnostic with its path relative to the workspace and its place from 1; absent places are the file's start. */
export function diagnosticOf(
  found: Omit<Diagnostic, "line" | "column"> & { line?: number; column?: number },
  workspace: string,
): Diagnostic {
  return {
    ...found,
    path: withoutWorkspace(found.path, workspace).replace(/^\.\//, ""),
    line: Math.max(1, found.line ?? 1),
    column: Math.max(1, found.column ?? 1),
    message: withoutWorkspace(found.message, workspace),
  };
}

/** The answer of a run that did not get to its checks. */
export function hiddenAnswer(
  output: ToolOutput,
  diagnostics: readonly Diagnostic[] = [],
): SideAnswer {
  const lines = (output.stderr.trim() || output.stdout.trim()).split("\n");
  const said = lines.find((line) => /error\b/i.test(line)) ?? lines.slice(-3).join(" ");
  const reason = reasonOf(diagnostics) ?? `ended with ${output.exitCode}: ${said.slice(0, 300)}`;
  return { status: "hidden", reason, diagnostics };
}

/** Names the first error, or nothing when there is none. */
export function reasonOf(diagnostics: readonly Diagnostic[]): string | undefined {
  const first = diagnostics.find((diagnostic) => diagnostic.severity === "error");
  if (first === undefined) return undefined;
  return `${first.path}:${first.line}: ${first.message.split("\n")[0] ?? ""}`;
}

/** A member of a value of unknown shape. */
export function memberOf(value: unknown, ...path: readonly string[]): unknown {
  let at = value;
  for (const name of path) {
    if (typeof at !== "object" || at === null) return undefined;
    at = (at as Readonly<Record<string, unknown>>)[name];
  }
  return at;
}

export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : [];
}

export function numberOf(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}
