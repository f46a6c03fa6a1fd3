import assert from "node:assert/strict";
import { ToolCalls } from "../../src/runtime/toolCalls.ts";
import { MemoryJournal } from "../support/memoryJournal.ts";
import { until } from "../support/waiting.ts";

describe("the end of a call that does not say how", () => {
  const started = {
    type: "toolStarted",
    call: "a",
    tool: "Bash",
    toolKind: "execute",
    title: "",
    input: { command: "make" },
  } as const;
  const ran = { type: "toolFinished", call: "a", status: "ran", output: "" } as const;
  const world = (): { calls: ToolCalls; statuses: () => string[] } => {
    const journal = new MemoryJournal();
    const calls = new ToolCalls(journal, () => undefined);
    calls.take(started, "hook");
    const ends = (): string[] =>
      journal.written.flatMap((entry) => (entry.kind === "tool.finished" ? [entry.status] : []));
    return { calls, statuses: ends };
  };

  it("is told by its process, whichever comes first", () => {
    for (const [exitCode, status] of [
      [0, "ok"],
      [2, "failed"],
      [null, "failed"],
    ] as const) {
      const first = world();
      first.calls.processStarted(1);
      first.calls.processEnded(1, exitCode);
      first.calls.take(ran, "hook");
      assert.deepEqual(first.statuses(), [status]);

      const later = world();
      later.calls.processStarted(1);
      later.calls.take(ran, "hook");
      assert.deepEqual(later.statuses(), []);
      later.calls.processEnded(1, exitCode);
      assert.deepEqual(later.statuses(), [status]);
    }
  });

  it("waits for a process that is told late", () => {
    const late = world();
    late.calls.take(ran, "hook");
    assert.deepEqual(late.statuses(), []);
    late.calls.processStarted(1);
    late.calls.processEnded(1, 3);
    assert.deepEqual(late.statuses(), ["failed"]);
  });

  it("is well where no process was seen, and does not wait for ever", async () => {
    const none = world();
    none.calls.take(ran, "hook");
    await until("its end", () => none.statuses().length > 0);
    assert.deepEqual(none.statuses(), ["ok"]);
    const cut = world();
    cut.calls.processStarted(1);
    cut.calls.take(ran, "hook");
    cut.calls.endAll();
    assert.deepEqual(cut.statuses(), ["ok"]);
  });
});

describe("a call that the agent went on without", () => {
  function world(toolKind: "execute" | "edit"): {
    readonly calls: ToolCalls;
    readonly ends: () => string[];
  } {
    const journal = new MemoryJournal();
    const calls = new ToolCalls(journal, () => undefined);
    const input = { command: "x" };
    calls.take(
      { type: "toolStarted", call: "a", tool: "Tool", toolKind, title: "Tool x", input },
      "hook",
    );
    const ends = (): string[] =>
      journal.written.flatMap((entry) =>
        entry.kind === "tool.finished" ? [`${entry.status}: ${JSON.stringify(entry.output)}`] : [],
      );
    return { calls, ends };
  }
  const left = {
    type: "toolFinished",
    call: "a",
    status: "unanswered",
    output: "no answer",
  } as const;

  it("failed, at once, where it is no command", () => {
    const { calls, ends } = world("edit");
    calls.take(left, "hook");
    assert.deepEqual(ends(), ['failed: "no answer"']);
  });

  it("failed, where it is a command that no process was seen of", async () => {
    const { calls, ends } = world("execute");
    calls.take(left, "hook");
    assert.deepEqual(ends(), []);
    await until("its end", () => ends().length > 0);
    assert.deepEqual(ends(), ['failed: "no answer"']);
  });

  it("runs as long as its process, which tells how it ended", async () => {
    const { calls, ends } = world("execute");
    calls.processStarted(1);
    calls.take(left, "hook");
    await new Promise((resolve) => setTimeout(resolve, 700));
    assert.deepEqual(ends(), []);
    assert.equal(calls.running().length, 1);
    calls.processEnded(1, 3);
    await until("its end", () => ends().length > 0);
    assert.match(ends().join(), /^failed: .*in the background"$/);
  });

  it("ends by the agent's word where that comes after all, and once", async () => {
    const { calls, ends } = world("execute");
    calls.processStarted(1);
    calls.take(left, "hook");
    await new Promise((resolve) => setTimeout(resolve, 700));
    calls.processEnded(1, 0);
    calls.take({ type: "toolFinished", call: "a", status: "ran", output: "said" }, "hook");
    await new Promise((resolve) => setTimeout(resolve, 700));
    calls.endAll();
    assert.deepEqual(ends(), ['ok: "said"']);
  });

  it("was cancelled where its process was ended and nothing is told of it", async () => {
    const { calls, ends } = world("execute");
    calls.processStarted(1);
    calls.processEnded(1, null);
    assert.deepEqual(ends(), []);
    await until("its end", () => ends().length > 0);
    assert.match(ends().join(), /^cancelled: .*told no answer/);
  }).timeout(20_000);

  it("was cancelled where the agent's end took it along", async () => {
    const { calls, ends } = world("execute");
    calls.processStarted(1);
    calls.take(left, "hook");
    await new Promise((resolve) => setTimeout(resolve, 700));
    calls.processEnded(1, null);
    calls.endAll();
    assert.match(ends().join(), /^cancelled: /);
  });
});

describe("what an agent calls its tools and calls", () => {
  it("is cut where it is longer than anybody reads; a call whose id is, is kept as an event", () => {
    const journal = new MemoryJournal();
    const calls = new ToolCalls(journal, () => undefined);
    const long = "x".repeat(1_000_000);
    const begun = { type: "toolStarted", toolKind: "other", input: null, agent: long } as const;
    calls.take({ ...begun, call: "a", tool: long, title: long }, "hook");
    calls.take({ ...begun, call: long, tool: "t", title: "t" }, "hook");
    calls.take({ type: "toolFinished", call: long, status: "ok", output: null }, "hook");
    calls.take({ type: "other", event: long, data: { kept: true } }, "hook");
    const kinds = journal.written.map(({ kind }) => kind);
    assert.deepEqual(kinds, ["tool.started", "agent.event", "agent.event", "agent.event"]);
    const [started, ...events] = journal.written;
    assert.ok(started?.kind === "tool.started");
    assert.deepEqual(
      [started.tool, started.title, started.agent].map((text) => text?.length),
      [1001, 4001, 1001],
    );
    const names = events.map((entry) => (entry.kind === "agent.event" ? entry.event.length : 0));
    assert.deepEqual(names, ["toolStarted".length, "toolFinished".length, 1001]);
    assert.equal(calls.running().length, 1);
  });
});
