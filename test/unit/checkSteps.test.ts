import assert from "node:assert/strict";
import { CheckSteps } from "../../src/core/check/checkSteps.ts";
import { stepTitle } from "../../src/core/check/stepWords.ts";
import type { CheckStatus, Diagnostic, EntryDraft } from "../../src/core/journal/entry.ts";
import { Timeline } from "../../src/core/timeline/timeline.ts";
import { entriesOf } from "../support/entries.ts";

const call = (title: string): EntryDraft => ({
  kind: "tool.started",
  source: "hook",
  call: title,
  tool: "Edit",
  toolKind: "edit",
  title,
  input: null,
});
const changed = (path: string, parent?: number): EntryDraft => ({
  kind: "file.changed",
  source: "fs",
  ...(parent === undefined ? {} : { parent }),
  path,
  change: "modified",
});
const started = (generation: number): EntryDraft => ({
  kind: "check.started",
  source: "holdfast",
  check: "all",
  generation,
});
const error = (message: string): Diagnostic => ({
  path: "a.ts",
  line: 1,
  column: 1,
  code: "TS1",
  message,
  severity: "error",
});
const finished = (
  generation: number,
  introduced: readonly string[],
  more: { readonly status?: CheckStatus; readonly unsteady?: true; readonly partial?: true } = {},
): EntryDraft => ({
  kind: "check.finished",
  source: "holdfast",
  check: "typescript",
  generation,
  status: introduced.length === 0 ? "passed" : "failed",
  durationMs: 1,
  introduced: introduced.map(error),
  resolved: [],
  unchanged: 0,
  ...more,
});

/** Steps as `calls: +introduced −resolved`, `parent!` where one call alone did it. */
function check(name: string, drafts: readonly EntryDraft[], expected: readonly string[]): void {
  it(name, () => {
    const steps = new CheckSteps((_, path) => path.endsWith(".ts"));
    const found = entriesOf(drafts).flatMap((entry) => steps.apply(entry));
    assert.deepEqual(
      found.map(({ calls, parent, introduced, resolved }) => {
        const words = [
          ...introduced.map(({ message }) => `+${message}`),
          ...resolved.map(({ message }) => `-${message}`),
        ];
        return `${calls.join(",")}${parent === undefined ? "" : "!"}: ${words.join(" ")}`;
      }),
      expected,
    );
  });
}

describe("steps of checks", () => {
  check(
    "each is the one call's that changed files before it",
    [
      ...[call("one"), changed("a.ts", 1), started(1), finished(1, ["x", "y"])],
      ...[call("two"), changed("a.ts", 5), started(2), finished(2, ["y", "z"])],
    ],
    ["1!: +x +y", "5!: +z -x"],
  );
  check(
    "several calls between two results are all named, and none is blamed",
    [
      ...[call("one"), call("two"), changed("a.ts", 1), changed("b.ts", 2)],
      ...[started(1), finished(1, ["x"])],
    ],
    ["1,2: +x"],
  );
  check(
    "a call that changed nothing that concerns the check is left out",
    [
      ...[call("one"), call("two"), changed("README.md", 1), changed("b.ts", 2)],
      ...[started(1), finished(1, ["x"])],
    ],
    ["2!: +x"],
  );
  check(
    "a change that no call made keeps the only call from being blamed",
    [call("one"), changed("a.ts", 1), changed("b.ts"), started(1), finished(1, ["x"])],
    ["1: +x"],
  );
  check(
    "a change after the start of the check belongs to the next result",
    [
      ...[call("one"), changed("a.ts", 1), started(1), call("two"), changed("a.ts", 4)],
      ...[finished(1, ["x"]), started(2), finished(2, [])],
    ],
    ["1!: +x", "4!: -x"],
  );
  check(
    "a result during which the shadow changed tells nothing, the next covers it",
    [
      ...[call("one"), changed("a.ts", 1), started(1), finished(1, ["x"], { unsteady: true })],
      ...[call("two"), changed("a.ts", 5), started(2), finished(2, ["x", "y"])],
    ],
    ["1,5: +x +y"],
  );
  check(
    "a check without an answer tells nothing, the next covers it",
    [
      ...[call("one"), changed("a.ts", 1), started(1), finished(1, [], { status: "timedOut" })],
      ...[call("two"), changed("a.ts", 5), started(2), finished(2, ["x"])],
    ],
    ["1,5: +x"],
  );
  check(
    "an error of syntax is its call's, its end the next one's, the rest is compared across",
    [
      ...[call("one"), changed("a.ts", 1), started(1), finished(1, ["x"])],
      ...[call("two"), changed("a.ts", 5), started(2)],
      finished(2, ["syntax"], { status: "notChecked", partial: true }),
      ...[call("three"), changed("a.ts", 9), started(3), finished(3, ["y"])],
    ],
    ["1!: +x", "5!: +syntax", "9!: -syntax", "5,9: +y -x"],
  );
  check("a result without a difference is no step", [started(1), finished(1, [])], []);

  it("say what is known in one line, under the call or under the check", () => {
    const drafts: EntryDraft[] = [call("one"), call("two"), started(1), finished(1, ["x"])];
    const step = (calls: readonly number[], parent?: number): EntryDraft => ({
      kind: "check.step",
      source: "holdfast",
      ...(parent === undefined ? {} : { parent }),
      check: "typescript",
      generation: 1,
      calls,
      introduced: [error("x")],
      resolved: [error("y"), { ...error("z"), severity: "warning" }],
    });
    const timeline = new Timeline();
    const entries = entriesOf([...drafts, step([1], 1), step([1, 2])]);
    const touched = entries.map((entry) => timeline.apply(entry));
    const words = "typescript: introduced 1 error, resolved 1 error and 1 warning";
    assert.equal(timeline.node(5)?.title, words);
    assert.equal(timeline.node(5)?.parent, 1);
    assert.equal(timeline.node(6)?.title, `${words}, by one or more of 2 tool calls`);
    assert.equal(timeline.node(6)?.parent, 3);
    assert.deepEqual(
      timeline.node(2)?.steps?.map((one) => stepTitle(one)),
      [`${words}, by one or more of 2 tool calls`],
    );
    assert.deepEqual(touched.at(-1), [6, 3, 1, 2]);
  });
});
