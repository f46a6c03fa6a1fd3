import assert from "node:assert/strict";
import { unjudgedLimits } from "../../src/core/policy/taskScope.ts";
import { limitWords, resourceLimits } from "../../src/core/transaction/resourceLimits.ts";

describe("limits of a run", () => {
  const good: readonly [given: string, limits: object][] = [
    ["time=90", { seconds: 90 }],
    ["time=2h", { seconds: 7200 }],
    ["cpu=30m", { cpuSeconds: 1800 }],
    ["memory=500M", { memoryBytes: 500 * 1024 ** 2 }],
    ["disk=2g", { growthBytes: 2 * 1024 ** 3 }],
    ["journal=1000000", { journalBytes: 1_000_000 }],
    ["processes=200", { processes: 200 }],
    ["open-files=256", { openFiles: 256 }],
    ["file-size=1M", { fileBytes: 1024 ** 2 }],
    ["records=50", {}],
    ["toString=5", {}],
  ];
  for (const [given, limits] of good) {
    it(`reads ${given}`, () => {
      const [key = "", value = ""] = given.split("=");
      assert.deepEqual(resourceLimits({ [key]: value }), limits);
    });
  }

  for (const given of ["time=", "time=0", "time=2d", "memory=-1", "memory=1.5G", "processes=4k"]) {
    it(`refuses ${given}`, () => {
      const [key = "", value = ""] = given.split("=");
      assert.throws(() => resourceLimits({ [key]: value }), { code: "bad-limit", kind: "usage" });
    });
  }

  it("says what was passed", () => {
    assert.equal(limitWords("memoryBytes", 3e8, 2e8), "memory: 287 MiB, the limit is 191 MiB");
    assert.equal(limitWords("seconds", 61, 60), "time: 61 s, the limit is 60 s");
  });
});

describe("limits of a task", () => {
  it("must be judged by somebody", () => {
    const rules = [
      '{"if":"count > task.limits.tickets"}',
      JSON.stringify({ if: 'task.limits["seats"] > 1' }),
    ];
    const given = ["records", "hosts", "tickets", "seats", "paths"];
    assert.deepEqual(unjudgedLimits(given, rules), ["paths"]);
    assert.deepEqual(unjudgedLimits(["tickets"], [undefined]), ["tickets"]);
  });
});
