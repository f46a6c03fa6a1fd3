import assert from "node:assert/strict";
import { readCargo } from "../../src/core/check/tools/cargoOutput.ts";
import { readEslint } from "../../src/core/check/tools/eslintOutput.ts";
import { readGoVet } from "../../src/core/check/tools/goVetOutput.ts";
import { namedMatchers, readMatched } from "../../src/core/check/tools/problemMatcher.ts";
import { readMypy, readPyright } from "../../src/core/check/tools/pythonOutput.ts";
import type { ReadToolOutput } from "../../src/core/check/tools/toolOutput.ts";

interface Case {
  readonly read: ReadToolOutput;
  readonly exitCode?: number;
  readonly stdout?: string;
  readonly stderr?: string;
  readonly status: string;
  readonly found: readonly string[];
}

/** Diagnostics print as `path:line:column severity code message`. */
function check(name: string, expected: Case): void {
  it(name, () => {
    const { exitCode = 1, stdout = "", stderr = "" } = expected;
    const answer = expected.read({ exitCode, stdout, stderr }, "/w");
    const found = answer.diagnostics.map(
      (d) => `${d.path}:${d.line}:${d.column} ${d.severity} ${d.code} ${d.message}`,
    );
    assert.deepEqual([answer.status, found], [expected.status, expected.found]);
    assert.equal(answer.status === "checked", answer.reason === undefined);
  });
}

function cargoMessage(level: string, code: string | null, message: string): string {
  const span = { file_name: "src/a.rs", line_start: 3, column_start: 5, is_primary: true };
  const inner = { level, message, code: code === null ? null : { code }, spans: [span] };
  return JSON.stringify({ reason: "compiler-message", message: inner });
}

const finished = `{"reason":"build-finished","success":false}`;

describe("outputs of checkers", () => {
  check("cargo: errors leave out warnings of phases that were not reached", {
    read: readCargo,
    exitCode: 101,
    stdout: [
      cargoMessage("warning", "unused_variables", "unused"),
      cargoMessage("error", "E0308", "mismatched types"),
      cargoMessage("error", "E0308", "mismatched types"),
      finished,
    ].join("\n"),
    status: "partial",
    found: ["src/a.rs:3:5 error E0308 mismatched types"],
  });
  check("cargo: an error without a code is one of syntax", {
    read: readCargo,
    exitCode: 101,
    stdout: [cargoMessage("error", null, "expected `;`"), finished].join("\n"),
    status: "hidden",
    found: ["src/a.rs:3:5 error syntax expected `;`"],
  });
  check("cargo: a broken manifest is no answer", {
    read: readCargo,
    exitCode: 101,
    stderr: "error: failed to parse manifest",
    status: "hidden",
    found: [],
  });
  check("go vet: findings on stderr", {
    read: readGoVet,
    exitCode: 0,
    stderr: `# x\n{\n\t"x": {\n\t\t"printf": [\n\t\t\t{"posn": "/w/main.go:6:2", "message": "bad"}\n\t\t]\n\t}\n}\n`,
    status: "checked",
    found: ["main.go:6:2 error printf bad"],
  });
  check("go vet: a package that does not compile is not vetted", {
    read: readGoVet,
    stderr: "# x/b\nvet: b/b.go:3:23: undeclared name: missing\n",
    status: "partial",
    found: ["b/b.go:3:23 error compile undeclared name: missing"],
  });
  check("go vet: no module is no answer", {
    read: readGoVet,
    stderr: "pattern ./...: directory prefix . does not contain main module",
    status: "hidden",
    found: [],
  });
  check("mypy: notes are left out", {
    read: readMypy,
    stdout: `a.py:2:12: error: Incompatible "x"  [return-value]\na.py:2: note: see\nb.py:7: error: Plain\n`,
    status: "checked",
    found: ['a.py:2:12 error return-value Incompatible "x"', "b.py:7:1 error error Plain"],
  });
  check("mypy: a crash is no answer", {
    read: readMypy,
    exitCode: 2,
    stderr: "mypy: can't read file",
    status: "hidden",
    found: [],
  });
  check("pyright: places count from 0 there", {
    read: readPyright,
    stdout: JSON.stringify({
      generalDiagnostics: [
        {
          file: "/w/a.py",
          severity: "error",
          message: "no",
          rule: "reportX",
          range: { start: { line: 0, character: 4 } },
        },
        { file: "/w/a.py", severity: "information", message: "hint" },
      ],
    }),
    status: "checked",
    found: ["a.py:1:5 error reportX no"],
  });
  check("eslint: severities", {
    read: readEslint,
    stdout: JSON.stringify([
      {
        filePath: "/w/a.js",
        messages: [
          { ruleId: "no-var", severity: 1, message: "m", line: 2, column: 3 },
          { ruleId: "no-undef", severity: 2, message: "n", line: 4, column: 1 },
        ],
      },
    ]),
    status: "checked",
    found: ["a.js:2:3 warning no-var m", "a.js:4:1 error no-undef n"],
  });
  check("eslint: a broken configuration is no answer", {
    read: readEslint,
    exitCode: 2,
    stderr: "Oops! Something went wrong!",
    status: "hidden",
    found: [],
  });
  check("problem matcher: the compiler's own", {
    read: (output, workspace) => readMatched(output, workspace, namedMatchers["$tsc"]!),
    stdout: "src/a.ts(1,14): error TS2322: No.\nsrc/b.ts:2:3 - error TS1: Yes.\n",
    status: "checked",
    found: ["src/a.ts:1:14 error TS2322 No.", "src/b.ts:2:3 error TS1 Yes."],
  });
  check("problem matcher: several lines, the last one loops", {
    read: (output, workspace) => readMatched(output, workspace, namedMatchers["$eslint-stylish"]!),
    stdout:
      "/w/a.js\n  1:2  error  Bad thing  no-bad\n  3:4  warning  Odd\n\n/w/b.js\n  5:6  error  X  y\n",
    status: "checked",
    found: ["a.js:1:2 error no-bad Bad thing", "a.js:3:4 warning  Odd", "b.js:5:6 error y X"],
  });
  check("problem matcher: places in one group, paths below a folder", {
    read: (output, workspace) =>
      readMatched(output, workspace, {
        pattern: { regexp: "^(\\S+)\\((.*)\\): (.*)$", file: 1, location: 2, message: 3 },
        fileLocation: ["relative", "${workspaceFolder}/sub"],
      }),
    stdout: "a.c(7,9): boom\n",
    status: "checked",
    found: ["sub/a.c:7:9 error  boom"],
  });
  check("problem matcher: a failing command without a match is no answer", {
    read: (output, workspace) => readMatched(output, workspace, namedMatchers["$gcc"]!),
    exitCode: 127,
    stderr: "sh: nothing: not found",
    status: "hidden",
    found: [],
  });
});
