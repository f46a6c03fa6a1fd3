import assert from "node:assert/strict";
import type { EntryDraft } from "../../src/core/journal/entry.ts";
import { Timeline } from "../../src/core/timeline/timeline.ts";
import {
  begun,
  entriesOf,
  holdDecided,
  holdOpened,
  requestStarted,
  toolFinished,
  toolStarted,
} from "../support/entries.ts";

/** The groups of a timeline as text: per group the titles of its roots, children indented behind them. */
function shape(drafts: readonly EntryDraft[]): Record<string, string[]> {
  const timeline = new Timeline();
  for (const entry of entriesOf(drafts)) timeline.apply(entry);
  const words = (id: number): string => {
    const node = timeline.node(id);
    if (node === undefined) return "?";
    const below = node.children.map(words).join(", ");
    return `${node.title}:${node.status}${below === "" ? "" : ` (${below})`}`;
  };
  const groups: Record<string, string[]> = {};
  for (const [group, roots] of timeline.groups()) {
    if (roots.length > 0) groups[group] = roots.map(words);
  }
  return groups;
}

function check(
  name: string,
  drafts: readonly EntryDraft[],
  expected: Record<string, string[]>,
): void {
  it(name, () => assert.deepEqual(shape([begun, ...drafts]), expected));
}

const verdict = (request: string, of: "allow" | "hold" | "deny"): EntryDraft => ({
  kind: "verdict",
  source: "broker",
  request,
  verdict: of,
  reversibility: "irreversible",
  rule: "r",
  reason: "because",
});

describe("timeline", () => {
  check("a call without effects is reversible", [toolStarted("a"), toolFinished("a", 2)], {
    reversible: ["a:ok"],
  });
  check(
    "what ran when its supervisor died runs no more, and what had ended stays as it was",
    [
      toolStarted("a"),
      toolFinished("a", 2),
      toolStarted("b"),
      {
        ...{ kind: "process.exec", source: "kernel", parent: 4, pid: 7, ppid: 1 },
        ...{ argv: ["make"], cwd: "/", program: "/usr/bin/make" },
      },
      requestStarted("r", "change", "recoverable", 4),
      { kind: "check.started", source: "holdfast", check: "all", generation: 1 },
      { kind: "transaction.interrupted", source: "holdfast", reason: "its supervisor died" },
    ],
    {
      recoverable: ["b:cancelled (make:cancelled, POST api.example/things:failed)"],
      reversible: ["a:ok", "all:cancelled"],
    },
  );
  const spoke = (event: string, text: string): EntryDraft => ({
    kind: "agent.event",
    source: "acp",
    event,
    data: { text },
  });

  check(
    "joins what an agent says in pieces, until it does something or says something else",
    [
      spoke("thought", "Hm"),
      spoke("thought", "m."),
      spoke("text", "I "),
      { kind: "process.exit", source: "kernel", pid: 1, exitCode: 0, durationMs: 1 },
      spoke("text", "read."),
      toolStarted("c1"),
      toolFinished("c1", 7),
      spoke("text", "Done."),
    ],
    { reversible: ["thought:ok", "text:ok", "c1:ok", "text:ok"] },
  );

  check(
    "a call has the strictest class of its effects",
    [
      toolStarted("a"),
      { kind: "file.changed", source: "fs", parent: 2, path: "x", change: "added" },
      requestStarted("r1", "change", "recoverable", 2),
      requestStarted("r2", "change", "irreversible", 2),
      toolFinished("a", 2),
    ],
    {
      irreversible: [
        "a:ok (added x:ok, POST api.example/things:running, POST api.example/things:running)",
      ],
    },
  );
  check(
    "a call with an open hold is held, whatever its class",
    [
      toolStarted("a"),
      requestStarted("r", "change", "irreversible", 2),
      verdict("r", "hold"),
      holdOpened("h", "r", 3),
    ],
    { held: ["a:running (POST api.example/things:held (POST for h:held))"] },
  );
  check(
    "an approved hold leaves the group held and keeps its class",
    [
      toolStarted("a"),
      requestStarted("r", "change", "irreversible", 2),
      holdOpened("h", "r", 3),
      holdDecided("h", "approve"),
    ],
    { irreversible: ["a:running (POST api.example/things:running (POST for h:ok))"] },
  );
  check(
    "a denied hold never happened: the call is reversible again",
    [
      toolStarted("a"),
      requestStarted("r", "change", "irreversible", 2),
      verdict("r", "hold"),
      holdOpened("h", "r", 3),
      holdDecided("h", "deny"),
    ],
    { reversible: ["a:running (POST api.example/things:denied (POST for h:denied))"] },
  );
  check(
    "a denied request never happened",
    [toolStarted("a"), requestStarted("r", "change", "irreversible", 2), verdict("r", "deny")],
    { reversible: ["a:running (POST api.example/things:denied)"] },
  );
  check(
    "disclosures collapse into one row per host and do not lift their call",
    [
      toolStarted("a"),
      requestStarted("r1", "disclosure", "irreversible", 2),
      requestStarted("r2", "disclosure", "irreversible", 2),
    ],
    {
      irreversible: ["Read requests to api.example:ok"],
      reversible: ["a:running (GET api.example/things:running, GET api.example/things:running)"],
    },
  );
  check(
    "model traffic has a row of its own",
    [requestStarted("r1", "model", "irreversible"), requestStarted("r2", "model", "irreversible")],
    {
      irreversible: [
        "Model traffic:ok (POST model.example/things:running, POST model.example/things:running)",
      ],
    },
  );
  check(
    "a sub-agent's calls hang under the call that started it, and lift it",
    [
      toolStarted("outer", "agent"),
      { ...toolStarted("inner"), parent: 2, agent: "helper" } as EntryDraft,
      requestStarted("r", "change", "recoverable", 3),
    ],
    { recoverable: ["outer:running (inner:running (POST api.example/things:running))"] },
  );

  it("marks a call that says it reads and changes a file", () => {
    const timeline = new Timeline();
    const drafts: EntryDraft[] = [
      begun,
      toolStarted("a", "read"),
      { kind: "file.changed", source: "fs", parent: 2, path: "x", change: "modified" },
    ];
    for (const entry of entriesOf(drafts)) timeline.apply(entry);
    assert.equal(timeline.node(2)?.mismatch, "said read, changed x");
  });

  it("counts effects at every level", () => {
    const timeline = new Timeline();
    const drafts: EntryDraft[] = [
      begun,
      toolStarted("outer", "agent"),
      { ...toolStarted("inner"), parent: 2 },
      {
        kind: "process.exec",
        source: "kernel",
        parent: 3,
        pid: 7,
        ppid: 1,
        argv: ["ls"],
        cwd: "/",
        program: "/bin/ls",
      },
      { kind: "process.exit", source: "kernel", parent: 3, pid: 7, exitCode: 0, durationMs: 3 },
      { kind: "file.changed", source: "fs", parent: 3, path: "x", change: "added" },
    ];
    for (const entry of entriesOf(drafts)) timeline.apply(entry);
    assert.deepEqual(timeline.node(2)?.effects, { processes: 1, files: 1, requests: 0, holds: 0 });
    assert.equal(timeline.node(4)?.durationMs, 3);
  });

  it("tells which nodes an entry changed, outermost last", () => {
    const timeline = new Timeline();
    const [first, ...rest] = entriesOf([
      begun,
      toolStarted("a"),
      { kind: "file.changed", source: "fs", parent: 2, path: "x", change: "added" },
    ]);
    assert.deepEqual(timeline.apply(first!), []);
    assert.deepEqual(
      rest.map((entry) => timeline.apply(entry)),
      [[2], [3, 2]],
    );
  });
});

describe("timeline of checks", () => {
  const started = (generation: number): EntryDraft => ({
    kind: "check.started",
    source: "holdfast",
    check: "all",
    generation,
  });
  const finished = (
    check: string,
    generation: number,
    status: "passed" | "skipped" = "passed",
  ): EntryDraft => ({
    kind: "check.finished",
    source: "holdfast",
    check,
    generation,
    status,
    durationMs: 5,
    introduced: [],
    resolved: [],
    unchanged: 0,
  });

  check(
    "one row per check, whatever the generations",
    [started(1), started(2), finished("typescript", 2), finished("eslint", 2)],
    {
      reversible: ["typescript:ok", "eslint:ok"],
    },
  );
  check(
    "running again with every generation",
    [started(1), finished("typescript", 1), started(2)],
    {
      reversible: ["typescript:running"],
    },
  );
  check("where none applies the row ends", [started(1), finished("all", 1, "skipped")], {
    reversible: ["all:cancelled"],
  });
});
