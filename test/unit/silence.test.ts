import assert from "node:assert/strict";
import type { EntryDraft } from "../../src/core/journal/entry.ts";
import { watchSilence } from "../../src/runtime/silence.ts";
import { MemoryJournal } from "../support/memoryJournal.ts";

describe("an agent with hooks that says nothing", () => {
  const request = (number: number, traffic: "model" | "disclosure"): EntryDraft => ({
    kind: "request.started",
    source: "broker",
    request: `r${number}`,
    protocol: "https",
    method: "POST",
    host: "model.example",
    port: 443,
    path: "/v1/messages",
    reversibility: "irreversible",
    traffic,
  });

  /** The codes of the alerts after these entries, and after a last look. */
  async function alerts(drafts: readonly EntryDraft[]): Promise<[string[], string[]]> {
    const journal = new MemoryJournal();
    const watch = watchSilence(journal);
    for (const draft of drafts) journal.append(draft);
    await Promise.resolve();
    const codes = (): string[] =>
      journal.lines("alert", (entry) => (entry.kind === "alert" ? entry.code : ""));
    const before = codes();
    watch.look();
    watch.look();
    const after = codes();
    watch.dispose();
    return [before, after];
  }

  const questions = [1, 2, 3, 4, 5].map((number) => request(number, "model"));
  const word: EntryDraft = { kind: "agent.event", source: "hook", event: "SessionStart", data: {} };

  it("is told of once it has asked its model some times", async () => {
    assert.deepEqual(await alerts(questions), [["-: hooks-silent"], ["-: hooks-silent"]]);
  });

  it("is told of at its end, when it did not get so far", async () => {
    const reads = [1, 2, 3, 4, 5].map((number) => request(number, "disclosure"));
    assert.deepEqual(await alerts([...questions.slice(0, 2), ...reads]), [[], ["-: hooks-silent"]]);
    assert.deepEqual(await alerts([]), [[], ["-: hooks-silent"]]);
  });

  it("is none that says a word, however late", async () => {
    assert.deepEqual(await alerts([...questions.slice(0, 3), word, ...questions]), [[], []]);
  });
});
