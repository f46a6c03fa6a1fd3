import assert from "node:assert/strict";
import { Failure } from "../../src/base/errors.ts";
import { Emitter } from "../../src/base/lifecycle.ts";
import type { ChangesView } from "../../src/protocol/control.ts";
import { ReviewMemory } from "../../src/vscode/changes/reviewMemory.ts";
import { Reviews } from "../../src/vscode/changes/reviews.ts";
import type { LiveTransaction } from "../../src/vscode/liveTransaction.ts";
import type { Transactions } from "../../src/vscode/transactions.ts";

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A transaction as far as its review looks at it, and what its supervisor answers. */
function world(): {
  readonly now: {
    state: string;
    shown: string;
    commits: string[];
    files: string[];
    fails: boolean;
  };
  readonly loads: () => number;
  readonly paths: () => readonly string[];
  readonly tellStatus: () => Promise<void>;
} {
  const now = { state: "sealed", shown: "sealed", commits: [""], files: ["a"], fails: false };
  let loads = 0;
  const transaction = {
    id: "t1",
    get status() {
      return { state: now.state };
    },
    get state() {
      return now.shown;
    },
    commits: { list: () => now.commits.map((commit) => ({ commit, state: "published" })) },
    setConflicts: () => undefined,
    changes: () => {
      loads += 1;
      if (now.fails) return Promise.reject(new Failure("failed", "busy", "not now"));
      const files = now.files.map((path) => ({ path, section: "change", hunks: [] }));
      return Promise.resolve({ files } as unknown as ChangesView);
    },
  } as unknown as LiveTransaction;
  const changed = new Emitter<{ type: string; transaction?: LiveTransaction; change?: object }>();
  const transactions = { shown: transaction, all: [transaction], onChange: changed.event };
  const fail = (error: unknown): void => assert.fail(String(error));
  const memory = new ReviewMemory(undefined, fail);
  const reviews = new Reviews(transactions as unknown as Transactions, memory, fail);
  return {
    now,
    loads: () => loads,
    paths: () => reviews.shown.files.map(({ path }) => path),
    async tellStatus() {
      changed.fire({ type: "transaction", transaction, change: { type: "status" } });
      await turn();
    },
  };
}

describe("the review of a window", () => {
  it("is read when a commit is done, also when its entries came while it was on its way", async () => {
    const { now, paths, tellStatus } = world();
    await tellStatus();
    assert.deepEqual(paths(), ["a"]);
    now.shown = "publishing";
    await tellStatus();
    now.commits = ["", "c1"];
    now.files = ["b"];
    await tellStatus();
    assert.deepEqual(paths(), ["a"]);
    now.shown = "sealed";
    await tellStatus();
    assert.deepEqual(paths(), ["b"]);
  });

  it("is asked for again after it could not be had, and not for every status", async () => {
    const { now, loads, paths, tellStatus } = world();
    now.fails = true;
    await tellStatus();
    assert.deepEqual(paths(), []);
    now.fails = false;
    await tellStatus();
    assert.deepEqual(paths(), ["a"]);
    const before = loads();
    await tellStatus();
    await tellStatus();
    assert.equal(loads(), before);
  });
});
