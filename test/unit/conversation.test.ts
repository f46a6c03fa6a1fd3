import assert from "node:assert/strict";
import type { Entry } from "../../src/core/journal/entry.ts";
import { ConversationFold } from "../../src/vscode/timeline/conversation.ts";

function event(name: string, data: unknown, source = "acp"): Entry {
  const entry = { kind: "agent.event", seq: 1, at: "", prev: "", source, event: name, data };
  return entry as unknown as Entry;
}

describe("the conversation of the panel", () => {
  it("is the last turn, and nothing where there is no session or it is over", () => {
    const fold = new ConversationFold();
    assert.equal(fold.apply([event("SessionStart", {}, "hook")]), false);
    assert.equal(fold.view(true), undefined);
    fold.apply([event("session", {}), event("prompt", { text: "one" }, "person")]);
    fold.apply([
      event("text", { text: "a" }),
      event("plan", { entries: [{ content: "p" }, null] }),
    ]);
    fold.apply([event("text", { text: "b" }), event("text", "odd"), event("thought", {})]);
    assert.deepEqual(fold.view(true), {
      busy: true,
      prompt: "one",
      text: "ab",
      plan: [
        { content: "p", status: "pending" },
        { content: "", status: "pending" },
      ],
      ended: "",
    });
    assert.equal(fold.view(false), undefined);
    fold.apply([event("turn.ended", { stopReason: "cancelled" })]);
    assert.equal(fold.view(true)?.ended, "Cancelled.");
    fold.apply([event("prompt", { text: "two" }, "person")]);
    assert.deepEqual(fold.view(true), { busy: true, prompt: "two", text: "", plan: [], ended: "" });
    fold.apply([event("text", { text: "x".repeat(30_000) })]);
    assert.equal(fold.view(true)?.text.length, 20_000);
  });
});
