import assert from "node:assert/strict";
import { HoldDesk } from "../../src/runtime/holdDesk.ts";
import type { HoldRequest } from "../../src/runtime/ports.ts";
import { MemoryJournal } from "../support/memoryJournal.ts";

const request: HoldRequest = {
  request: "r1",
  summary: "POST /things",
  rule: "default.unmatched",
  reason: "nothing is known of it",
  reversibility: "irreversible",
  payload: "POST /things",
  payloadSha256: "0".repeat(64),
};

function desk(journal = new MemoryJournal()): { journal: MemoryJournal; holds: HoldDesk } {
  let next = 0;
  return { journal, holds: new HoldDesk(journal, () => `h-${++next}`) };
}

const kinds = (journal: MemoryJournal): string[] => journal.written.map(({ kind }) => kind);
const soon = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("hold desk", () => {
  it("waits for a person, and the decision is written before the call goes on", async () => {
    const { journal, holds } = desk();
    let written: string[] = [];
    const waiting = holds.hold(request, new AbortController().signal).then((decision) => {
      written = kinds(journal);
      return decision;
    });
    await soon();
    assert.deepEqual(
      holds.open().map(({ hold, summary }) => [hold, summary]),
      [["h-1", "POST /things"]],
    );
    await holds.decide("h-1", "approve", "transaction", undefined, request.payloadSha256);
    assert.deepEqual(await waiting, { decision: "approve", scope: "transaction" });
    assert.deepEqual(written, ["hold.opened", "hold.decided"]);
    assert.deepEqual(holds.open(), []);
  });

  it("is not visible and does not wait while it is not durable", async () => {
    const journal = new MemoryJournal();
    let durable: () => void = () => undefined;
    const append = journal.append.bind(journal);
    journal.append = (draft) => ({
      ...append(draft),
      durable: new Promise((resolve) => (durable = resolve)),
    });
    const { holds } = desk(journal);
    let decided = false;
    void holds.hold(request, new AbortController().signal).then(() => (decided = true));
    const deciding = holds.decide("h-1", "approve", "call", undefined, request.payloadSha256);
    await soon();
    assert.equal(decided, false, "nothing goes on before the decision is on disk");
    durable();
    await deciding;
  });

  it("a caller that goes away leaves its hold open", async () => {
    const { holds } = desk();
    const abort = new AbortController();
    const waiting = holds.hold(request, abort.signal);
    await soon();
    abort.abort(new Error("the client is gone"));
    await assert.rejects(waiting, /client is gone/);
    assert.equal(holds.open().length, 1);
  });

  it("is approved as it was shown, or not at all", async () => {
    const { holds } = desk();
    void holds.hold(request, new AbortController().signal);
    await soon();
    for (const shown of [undefined, `${request.payloadSha256}0`]) {
      const approving = holds.decide("h-1", "approve", "call", undefined, shown);
      await assert.rejects(approving, { code: "hold-not-shown" });
    }
    assert.equal(holds.open().length, 1);
    await holds.decide("h-1", "approve", "call", undefined, request.payloadSha256);
    assert.equal(holds.open().length, 0);
  });

  it("is decided once", async () => {
    const { holds } = desk();
    void holds.hold(request, new AbortController().signal);
    await soon();
    await holds.decide("h-1", "deny", "call", "not today");
    await assert.rejects(holds.decide("h-1", "approve", "call"), /no open hold h-1/);
  });

  it("comes back from the journal", async () => {
    const { journal, holds } = desk();
    void holds.hold(request, new AbortController().signal);
    void holds.hold({ ...request, request: "r2" }, new AbortController().signal);
    await soon();
    await holds.decide("h-1", "deny", "call");
    const again = new HoldDesk(journal, () => "h-3");
    assert.deepEqual(
      again.open().map(({ hold, request: of }) => [hold, of]),
      [["h-2", "r2"]],
    );
  });
});
