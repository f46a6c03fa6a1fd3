/**
 * Problem matchers in the syntax of VS Code's tasks: one pattern, or several for messages of several lines, of which the last may
 * loop. Names of the usual matchers (`$tsc`, `$gcc`, …) are known.
 */
import type { Diagnostic } from "../../journal/entry.ts";
import type { SideAnswer } from "../answers.ts";
import { diagnosticOf, hiddenAnswer, type ToolOutput } from "./toolOutput.ts";

/** Numbers of capture groups; `location` is `line`, `line,column` or `line,column,endLine,endColumn`. */
export interface ProblemPattern {
  readonly regexp: string;
  readonly file?: number | undefined;
  readonly location?: number | undefined;
  readonly line?: number | undefined;
  readonly column?: number | undefined;
  readonly severity?: number | undefined;
  readonly code?: number | undefined;
  readonly message?: number | undefined;
  readonly loop?: boolean | undefined;
}

export interface ProblemMatcher {
  readonly pattern: ProblemPattern | readonly ProblemPattern[];
  /** Where the pattern tells none. */
  readonly severity?: "error" | "warning" | "info" | undefined;
  /** `relative` paths are relative to its second member, `${workspaceFolder}` by default. */
  readonly fileLocation?:
    "absolute" | "relative" | "autoDetect" | readonly [string, string] | undefined;
}

export const namedMatchers: Readonly<Record<string, ProblemMatcher>> = {
  $tsc: {
    pattern: {
      regexp:
        "^([^\\s].*)[\\(:](\\d+)[,:](\\d+)(?:\\):\\s+|\\s+-\\s+)(error|warning|info)\\s+(TS\\d+)\\s*:\\s*(.*)$",
      file: 1,
      line: 2,
      column: 3,
      severity: 4,
      code: 5,
      message: 6,
    },
  },
  $gcc: {
    pattern: {
      regexp: "^(.*?):(\\d+):(\\d*):?\\s+(?:fatal\\s+)?(warning|error):\\s+(.*)$",
      file: 1,
      line: 2,
      column: 3,
      severity: 4,
      message: 5,
    },
  },
  $go: {
    pattern: {
      regexp: "^([^:]*: )?((.:)?[^:]*):(\\d+)(:(\\d+))?: (.*)$",
      file: 2,
      line: 4,
      column: 6,
      message: 7,
    },
  },
  "$eslint-compact": {
    pattern: {
      regexp:
        "^(.+):\\sline\\s(\\d+),\\scol\\s(\\d+),\\s(Error|Warning|Info)\\s-\\s(.+)\\s\\((.+)\\)$",
      file: 1,
      line: 2,
      column: 3,
      severity: 4,
      message: 5,
      code: 6,
    },
  },
  "$eslint-stylish": {
    pattern: [
      { regexp: "^((?:[a-zA-Z]:)*[./\\\\]+.*?)$", file: 1 },
      {
        regexp: "^\\s+(\\d+):(\\d+)\\s+(error|warning|info)\\s+(.+?)(?:\\s\\s+(.*))?$",
        line: 1,
        column: 2,
        severity: 3,
        message: 4,
        code: 5,
        loop: true,
      },
    ],
  },
  $msCompile: {
    pattern: {
      regexp:
        "^(?:\\s*\\d+>)?(\\S.*?)(?:\\((\\d+|\\d+,\\d+|\\d+,\\d+,\\d+,\\d+)\\))?\\s*:\\s+(?:(?:fatal\\s+)?(error|warning))\\s+(\\w+\\d+)\\s*:\\s*(.*)$",
      file: 1,
      location: 2,
      severity: 3,
      code: 4,
      message: 5,
    },
  },
};

interface Found {
  file?: string;
  line?: string;
  column?: string;
  severity?: string;
  code?: string;
  message?: string;
}

/** Characters of a line that are matched: a command can print lines that a pattern takes very long for. */
const longestLine = 4000;

const fields = ["file", "line", "column", "severity", "code", "message"] as const;

/** Reads the output of a command by its matcher. A failing exit without a single match is no answer. */
export function readMatched(
  output: ToolOutput,
  workspace: string,
  matcher: ProblemMatcher,
): SideAnswer {
  const lines = `${output.stdout}\n${output.stderr}`
    .split(/\r?\n/)
    .map((line) => line.slice(0, longestLine));
  const diagnostics = matchLines(lines, matcher).flatMap((found) => {
    const converted = convert(found, matcher, workspace);
    return converted === undefined ? [] : [converted];
  });
  if (output.exitCode !== 0 && diagnostics.length === 0) return hiddenAnswer(output);
  return { status: "checked", diagnostics };
}

function matchLines(lines: readonly string[], matcher: ProblemMatcher): readonly Found[] {
  const patterns = [matcher.pattern].flat() as readonly ProblemPattern[];
  const compiled = patterns.map((pattern) => ({ pattern, regexp: new RegExp(pattern.regexp) }));
  const results: Found[] = [];
  for (let index = 0; index < lines.length;) {
    const used = matchAt(lines, index, compiled, results);
    index += Math.max(1, used);
  }
  return results;
}

interface Compiled {
  readonly pattern: ProblemPattern;
  readonly regexp: RegExp;
}

/** Matches all patterns from one line on; gives how many lines were used. */
function matchAt(
  lines: readonly string[],
  from: number,
  compiled: readonly Compiled[],
  results: Found[],
): number {
  const found: Found = {};
  let at = from;
  for (const [position, { pattern, regexp }] of compiled.entries()) {
    const match = regexp.exec(lines[at] ?? "");
    if (match === null || at >= lines.length) return 0;
    take(found, pattern, match);
    at++;
    if (position < compiled.length - 1) continue;
    results.push({ ...found });
    while (pattern.loop === true && at < lines.length) {
      const again = regexp.exec(lines[at] ?? "");
      if (again === null) break;
      const { file } = found;
      const next: Found = file === undefined ? {} : { file };
      take(next, pattern, again);
      results.push(next);
      at++;
    }
  }
  return at - from;
}

function take(found: Found, pattern: ProblemPattern, match: RegExpExecArray): void {
  for (const field of fields) {
    const group = pattern[field];
    const value = group === undefined ? undefined : match[group];
    if (value === undefined || value === "") continue;
    found[field] = field === "message" && found.message ? `${found.message}\n${value}` : value;
  }
  if (pattern.location !== undefined) {
    const [line, column] = (match[pattern.location] ?? "").split(",");
    if (line !== undefined && line !== "") found.line = line;
    if (column !== undefined) found.column = column;
  }
}

function convert(found: Found, matcher: ProblemMatcher, workspace: string): Diagnostic | undefined {
  const severity = severityOf(found.severity ?? matcher.severity ?? "error");
  if (severity === undefined || found.file === undefined) return undefined;
  return diagnosticOf(
    {
      path: pathOf(found.file, matcher, workspace),
      line: Number(found.line ?? "1") || 1,
      column: Number(found.column ?? "1") || 1,
      code: found.code ?? "",
      message: (found.message ?? "").trim(),
      severity,
    },
    workspace,
  );
}

function severityOf(text: string): "error" | "warning" | undefined {
  if (/^(?:e|err|error|fatal)/i.test(text)) return "error";
  return /^w/i.test(text) ? "warning" : undefined;
}

function pathOf(file: string, matcher: ProblemMatcher, workspace: string): string {
  const { fileLocation } = matcher;
  if (file.startsWith("/") || !Array.isArray(fileLocation)) return file;
  const [, prefix] = fileLocation as readonly [string, string];
  const below = prefix.replace(/\$\{(?:workspaceFolder|workspaceRoot|cwd)\}\/?/, "");
  return below === "" || below === workspace ? file : `${below.replace(/\/$/, "")}/${file}`;
}
