import assert from "node:assert/strict";
import { setTimeout as wait } from "node:timers/promises";
import { setLifecycleWitness, type Ending } from "../../src/base/lifecycle.ts";

/**
 * Fails a test of the suite that leaves a store, an emitter or a listener behind without ending it. Called after the suite's own
 * `afterEach`, which is to end what the test made.
 */
export function ensureNothingLeaks(): void {
  const open = new Map<Ending, string>();
  beforeEach(() => {
    open.clear();
    setLifecycleWitness({
      made: (owned) => open.set(owned, madeAt()),
      ended: (owned) => open.delete(owned),
    });
  });
  afterEach(async () => {
    // A connection that is closed ends when the other side has closed it too.
    for (let left = 200; left > 0 && open.size > 0; left--) await wait(50);
    setLifecycleWitness(undefined);
    assert.deepEqual([...open.values()], [], "made and never ended");
  });
}

/** The frames above the lifecycle's own. */
function madeAt(): string {
  const lines = (new Error().stack ?? "").split("\n").slice(1);
  const own = lines.filter((line) => !/base.lifecycle|support.leaks/.test(line));
  return own
    .slice(0, 3)
    .map((line) => line.trim())
    .join(" ");
}
