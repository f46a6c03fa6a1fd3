import assert from "node:assert/strict";
import type { EntryDraft } from "../../src/core/journal/entry.ts";
import { watchSilence } from "../../src/runtime/silence.ts";
import { MemoryJournal } from "../support/memoryJournal.ts";

describe("an agent with hooks that says nothing", () => {
  const request = (
    number: number,
    traffic: "model" | "disclosure",
    [method, path]: readonly [string, string] = ["POST", "/v1/messages?beta=true"],
  ): EntryDraft => ({
    kind: "request.started",
    source: "broker",
    request: `r${number}`,
    protocol: "https",
    method,
    host: "model.example",
    port: 443,
    path,
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

  it("is not told of by what its login asks before a session begins", async () => {
    const asked = [
      ["GET", "/backend-api/wham/accounts/check"],
      ["GET", "/v1/models?client_version=1"],
      ["POST", "/tokeninfo"],
      ["POST", "/v1internal:loadCodeAssist"],
      ["GET", "/v1/responses"],
      ["POST", "/v1internal:listExperiments"],
    ] as const;
    const drafts = asked.map((one, number) => request(number, "model", one));
    assert.deepEqual(await alerts([...drafts, word]), [[], []]);
    const gemini = ["POST", "/v1internal:streamGenerateContent?alt=sse"] as const;
    const four = [1, 2, 3, 4].map((number) => request(number, "model", gemini));
    assert.deepEqual(await alerts(four), [["-: hooks-silent"], ["-: hooks-silent"]]);
  });

  it("is none that says a word, however late", async () => {
    assert.deepEqual(await alerts([...questions.slice(0, 3), word, ...questions]), [[], []]);
  });
});
