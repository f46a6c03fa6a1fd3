import assert from "node:assert/strict";
import type { EntryDraft } from "../../src/core/journal/entry.ts";
import { AgentPause } from "../../src/supervisor/agentPause.ts";
import { MemoryJournal } from "../support/memoryJournal.ts";
import { until } from "../support/waiting.ts";

const hour = 3_600_000;
const act: EntryDraft = { kind: "agent.event", source: "hook", event: "Stop", data: {} };
const check: EntryDraft = {
  kind: "check.started",
  source: "holdfast",
  check: "all",
  generation: 1,
};

/** Lets timers run that are due, after `ms` during which nothing could. */
async function blocked(ms: number, meanwhile: () => void): Promise<void> {
  const end = performance.now() + ms;
  while (performance.now() < end);
  meanwhile();
  await new Promise((resolve) => setTimeout(resolve));
}

describe("work that waits until the agent pauses", () => {
  const journal = new MemoryJournal();

  it("is not done while the journal grows, and once when it does not", async () => {
    const pause = new AgentPause(journal, 200, hour);
    const done: string[] = [];
    pause.await(() => done.push("first"));
    pause.await(() => done.push("second"));
    await blocked(250, () => journal.append(act));
    assert.deepEqual(done, []);
    await until("the pause", () => done.length > 0);
    assert.deepEqual(done, ["second"]);
    pause.dispose();
  });

  it("does not wait for what checks tell", async () => {
    const pause = new AgentPause(journal, 200, hour);
    let isDone = false;
    pause.await(() => (isDone = true));
    await blocked(250, () => journal.append(check));
    assert.ok(isDone);
    pause.dispose();
  });

  it("is done without a pause at last, counted from the first wish", async () => {
    const pause = new AgentPause(journal, hour, 200);
    let isDone = false;
    pause.await(() => assert.fail("another took its place"));
    await blocked(250, () => {
      journal.append(act);
      pause.await(() => (isDone = true));
    });
    assert.ok(isDone);
    pause.dispose();
  });

  it("is forgotten at the end", async () => {
    const pause = new AgentPause(journal, 0, 0);
    pause.await(() => assert.fail("it was forgotten"));
    pause.dispose();
    await blocked(5, () => undefined);
  });
});
