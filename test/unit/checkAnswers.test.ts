import assert from "node:assert/strict";
import { combinedDelta, type PairAnswer, type SideAnswer } from "../../src/core/check/answers.ts";
import type { Diagnostic } from "../../src/core/journal/entry.ts";

function diagnostic(text: string): Diagnostic {
  const [place = "", ...message] = text.split(" ");
  const [path = "", line = "1"] = place.split(":");
  const severity = message[0] === "warn" ? "warning" : "error";
  return { path, line: Number(line), column: 1, code: "C", message: message.join(" "), severity };
}

function side(status: SideAnswer["status"], ...texts: readonly string[]): SideAnswer {
  return { status, reason: `${status} reason`, diagnostics: texts.map(diagnostic) };
}

interface Case {
  readonly pairs: readonly PairAnswer[];
  readonly status: string;
  readonly introduced?: readonly string[];
  readonly resolved?: readonly string[];
  readonly reasons?: readonly string[];
}

function check(name: string, expected: Case): void {
  it(name, () => {
    const delta = combinedDelta(expected.pairs, { renames: new Map(), lines: () => undefined });
    const print = (d: Diagnostic): string => `${d.path}:${d.line} ${d.message}`;
    assert.deepEqual(
      {
        status: delta.status,
        introduced: delta.introduced.map(print),
        resolved: delta.resolved.map(print),
        reasons: delta.reasons,
      },
      {
        status: expected.status,
        introduced: expected.introduced ?? [],
        resolved: expected.resolved ?? [],
        reasons: expected.reasons ?? [],
      },
    );
  });
}

describe("check answers", () => {
  check("clean on both sides passes", {
    pairs: [{ base: side("checked"), shadow: side("checked") }],
    status: "passed",
  });
  check("warnings alone do not fail", {
    pairs: [{ base: side("checked"), shadow: side("checked", "a:1 warn x") }],
    status: "passed",
    introduced: ["a:1 warn x"],
  });
  check("a hidden shadow is not checked and resolves nothing", {
    pairs: [{ base: side("checked", "a:1 old"), shadow: side("hidden", "b:1 syntax") }],
    status: "notChecked",
    introduced: ["b:1 syntax"],
    reasons: ["hidden reason"],
  });
  check("a hidden base is not checked and introduces nothing", {
    pairs: [{ base: side("hidden", "b:1 syntax"), shadow: side("checked", "a:1 old") }],
    status: "notChecked",
    resolved: ["b:1 syntax"],
    reasons: ["the base could not be checked: hidden reason"],
  });
  check("hidden on both sides by the same error is not checked, never passed", {
    pairs: [{ base: side("hidden", "b:1 syntax"), shadow: side("hidden", "b:1 syntax") }],
    status: "notChecked",
    reasons: ["hidden reason"],
  });
  check("a partial shadow with new errors fails, and resolves nothing", {
    pairs: [{ base: side("checked", "a:1 warn lint"), shadow: side("partial", "a:2 type") }],
    status: "failed",
    introduced: ["a:2 type"],
    reasons: ["partial reason"],
  });
  check("a partial shadow without new errors is not checked", {
    pairs: [{ base: side("partial", "a:2 type"), shadow: side("partial", "a:2 type") }],
    status: "notChecked",
    reasons: ["partial reason"],
  });
  check("a file in two projects counts once", {
    pairs: [
      { base: side("checked"), shadow: side("checked", "a:1 x") },
      { base: side("checked"), shadow: side("checked", "a:1 x") },
    ],
    status: "failed",
    introduced: ["a:1 x"],
  });
  check("one hidden project does not hide what another introduces", {
    pairs: [
      { base: side("hidden", "b:1 s"), shadow: side("hidden", "b:1 s") },
      { base: side("checked"), shadow: side("checked", "a:1 x") },
    ],
    status: "notChecked",
    introduced: ["a:1 x"],
    reasons: ["hidden reason"],
  });
  check("a project that is gone takes its errors along", {
    pairs: [{ base: side("checked", "a:1 x"), shadow: side("absent") }],
    status: "passed",
    resolved: ["a:1 x"],
  });
});
