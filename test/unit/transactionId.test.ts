import assert from "node:assert/strict";
import fc from "fast-check";
import { newTransactionId } from "../../src/node/state/home.ts";

describe("names of transactions", () => {
  const time = fc.date({
    min: new Date("2000-01-01"),
    max: new Date("9999-01-01"),
    noInvalidDate: true,
  });

  it("sort by time, also within a second: `latest` is the one that began last", () => {
    fc.assert(
      fc.property(time, fc.integer({ min: 1, max: 5000 }), (begun, later) => {
        const next = new Date(begun.getTime() + later);
        assert.ok(newTransactionId(begun) < newTransactionId(next));
      }),
    );
  });

  it("differ when they begin at once", () => {
    const now = new Date();
    const names = Array.from({ length: 20 }, () => newTransactionId(now));
    assert.ok(new Set(names).size > 1);
    for (const name of names) assert.match(name, /^t\d{8}-\d{6}-[0-9a-f]{6}$/);
  });
});
