import assert from "node:assert/strict";
import fc from "fast-check";
import type { StatusView } from "../../src/protocol/control.ts";
import {
  shownState,
  transactionHeader,
  type HeaderFacts,
} from "../../src/vscode/timeline/headerModel.ts";
import { holdCard } from "../../src/vscode/timeline/holdCards.ts";
import { readable } from "../../src/vscode/timeline/nodeDetails.ts";
import { RowOffsets, spliceTall, type Tall } from "../../webview/rowOffsets.ts";
import { clockText, durationText } from "../../webview/words.ts";

const metrics = { row: 24, line: 18, blockPadding: 34 };

describe("row offsets", () => {
  const layouts = fc
    .uniqueArray(fc.nat(400), { maxLength: 30 })
    .chain((positions) =>
      fc.tuple(
        fc.constant([...positions].sort((a, b) => a - b)),
        fc.array(fc.integer({ min: 1, max: 14 }), { minLength: 30, maxLength: 30 }),
      ),
    )
    .map(([positions, lines]) => positions.map((at, n): Tall => [at, lines[n] ?? 1]));

  it("places every row under the one before", () => {
    fc.assert(
      fc.property(layouts, (tall) => {
        const offsets = new RowOffsets(401, tall, metrics);
        const lines = new Map(tall);
        let top = 0;
        for (let position = 0; position <= 400; position++) {
          assert.equal(offsets.topOf(position), top);
          const known = lines.get(position);
          top += known === undefined ? metrics.row : known * metrics.line + metrics.blockPadding;
        }
        assert.equal(offsets.height, top);
      }),
    );
  });

  it("finds the row at every height", () => {
    fc.assert(
      fc.property(layouts, fc.nat(30_000), (tall, top) => {
        const offsets = new RowOffsets(401, tall, metrics);
        const at = offsets.positionAt(top);
        assert.ok(offsets.topOf(at) <= top);
        assert.ok(at === 400 || offsets.topOf(at + 1) > top);
      }),
    );
  });

  it("moves blocks with a splice", () => {
    const tall: Tall[] = [
      [2, 3],
      [5, 1],
      [9, 4],
    ];
    const splice = { at: 4, removed: 2, inserted: 3, tall: [[6, 7]] as Tall[] };
    assert.deepEqual(spliceTall(tall, splice), [
      [2, 3],
      [6, 7],
      [10, 4],
    ]);
  });
});

const status: StatusView = {
  transaction: "t1",
  workspace: "/w",
  state: "sealed",
  agent: "scripted",
  begunAt: "2026-11-29T09:30:00.000Z",
  sandbox: "bubblewrap",
  unsafe: false,
  running: false,
  changes: { added: 1, modified: 0, deleted: 0 },
  holds: { open: 0, decided: 0 },
  coverage: "full",
  notes: [],
};

const facts = (change: Partial<StatusView>, more: Partial<HeaderFacts> = {}): HeaderFacts => ({
  status: { ...status, ...change },
  busy: undefined,
  conflicts: 0,
  toolCalls: 1,
  promptsAvoided: 1,
  check: undefined,
  elapsedMs: 1000,
  alerts: [],
  ...more,
});

describe("header", () => {
  const check = (name: string, given: HeaderFacts, state: string, actions: string): void => {
    it(name, () => {
      assert.equal(shownState(given), state);
      assert.equal(transactionHeader(given, []).actions.join(" "), actions);
    });
  };
  check("of a running agent", facts({ state: "open", running: true }), "running", "review stop");
  check(
    "of a held call",
    facts({ state: "open", running: true, holds: { open: 1, decided: 0 } }),
    "waiting",
    "review stop",
  );
  check("of a finished agent", facts({}), "sealed", "commit review discard");
  check(
    "of an agent that changed nothing",
    facts({ changes: { added: 0, modified: 0, deleted: 0 } }),
    "sealed",
    "discard",
  );
  check("of conflicts", facts({}, { conflicts: 2 }), "conflict", "review commit discard");
  check("of a commit under way", facts({}, { busy: "publishing" }), "publishing", "");
  check("of a commit", facts({ state: "committed" }), "committed", "undo start");
  check("of an undone commit", facts({ state: "undone" }), "undone", "commit review discard");
  check("of an interruption", facts({ state: "interrupted" }), "interrupted", "resume discard");
  check("of a discarded one", facts({ state: "discarded" }), "discarded", "start");

  it("says loudly that there is no sandbox", () => {
    const header = transactionHeader(facts({ unsafe: true }), []);
    assert.equal(header.sandbox.state, "off");
    assert.match(header.notes.map(({ text }) => text).join(), /without a sandbox/);
  });
});

describe("hold card", () => {
  const view = {
    hold: "h1",
    transaction: "t1",
    openedAt: status.begunAt,
    reversibility: "irreversible" as const,
    rule: "r",
    reason: "why",
    summary: "s",
    payloadSha256: "00",
  };
  const context = { task: undefined, method: "POST", target: "h/p", host: "h", cause: "" };

  it("offers a recoverable call for the transaction, an irreversible one for the call", () => {
    assert.equal(holdCard(view, context).scope, "call");
    assert.equal(holdCard({ ...view, reversibility: "recoverable" }, context).scope, "transaction");
  });

  it("says when it does not show everything", () => {
    const long = holdCard({ ...view, payload: "x".repeat(100_000) }, context);
    assert.equal(long.payloadComplete, false);
    assert.equal(long.payloadBytes, 100_000);
    const blob = { $blob: { blob: "ab", bytes: 9_000_000, preview: "POST" } };
    const big = holdCard({ ...view, payload: blob }, context);
    assert.equal(big.payloadComplete, false);
    assert.equal(big.payloadBytes, 9_000_000);
    assert.ok(holdCard({ ...view, payload: "é" }, context).payloadComplete);
    assert.equal(holdCard({ ...view, payload: "é" }, context).payloadBytes, 2);
  });
});

describe("words", () => {
  const check = (ms: number, text: string): void => {
    it(`${ms} ms is ${text}`, () => assert.equal(durationText(ms), text));
  };
  check(8, "8 ms");
  check(1240, "1.2 s");
  check(187_000, "3:07");
  check(3_725_000, "1:02:05");
  it("counts a clock up", () => assert.equal(clockText(7000), "0:07"));
  it("shows arguments as people read them", () => {
    assert.equal(
      readable({ path: "a.ts", content: "one\ntwo\n", force: true }),
      "path: a.ts\ncontent:\n  one\n  two\nforce: true",
    );
  });
});
