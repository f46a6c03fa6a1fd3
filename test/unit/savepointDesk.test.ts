import assert from "node:assert/strict";
import type { Sandbox, Savepoints } from "../../src/runtime/ports.ts";
import { SavepointDesk, type SavepointScope } from "../../src/supervisor/savepointDesk.ts";
import { MemoryJournal } from "../support/memoryJournal.ts";

describe("savepoints of a tree that does not stop", () => {
  it("thaws what did stop, and says that there is no savepoint", async () => {
    const asked: string[] = [];
    const sandbox = {
      freeze: () => {
        asked.push("freeze");
        return Promise.reject(new Error("1 processes did not stop"));
      },
      thaw: () => {
        asked.push("thaw");
        return Promise.resolve();
      },
    } as unknown as Sandbox;
    const scope = { sandbox: () => sandbox } as unknown as SavepointScope;
    const journal = new MemoryJournal();
    const desk = new SavepointDesk({} as Savepoints, journal, scope);
    desk.changed();
    await desk.settled();
    assert.deepEqual(asked, ["freeze", "thaw"]);
    await assert.rejects(desk.take("by hand"), /did not stop/);
    assert.deepEqual(asked, ["freeze", "thaw", "freeze", "thaw"]);
    const alerts = journal.entries().filter((entry) => entry.kind === "alert");
    assert.deepEqual(
      alerts.map(({ code }) => code),
      ["savepoint-failed"],
    );
  });
});
