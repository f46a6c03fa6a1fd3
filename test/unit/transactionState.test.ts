import assert from "node:assert/strict";
import type { EntryDraft } from "../../src/core/journal/entry.ts";
import { foldTransaction } from "../../src/core/transaction/transactionState.ts";
import { begun, entriesOf, holdDecided, holdOpened } from "../support/entries.ts";

const sealed: EntryDraft = {
  kind: "transaction.sealed",
  source: "holdfast",
  counts: { added: 1, modified: 2, deleted: 0 },
  changeSet: "changes-0.json",
};
const intended: EntryDraft = {
  kind: "commit.intended",
  source: "person",
  commit: "c1",
  paths: ["a", "b"],
};
const published = (complete: boolean): EntryDraft => ({
  kind: "commit.published",
  source: "holdfast",
  commit: "c1",
  published: 2,
  merged: 1,
  complete,
});

function check(name: string, drafts: readonly EntryDraft[], state: string): void {
  it(`${name}: ${state}`, () =>
    assert.equal(foldTransaction(entriesOf([begun, ...drafts])).state, state));
}

describe("transaction state", () => {
  check("begun", [], "open");
  check("sealed", [sealed], "sealed");
  check("commit intended", [sealed, intended], "publishing");
  check("commit of everything", [sealed, intended, published(true)], "committed");
  check("commit of a part", [sealed, intended, published(false)], "sealed");
  check(
    "commit taken back",
    [sealed, intended, { kind: "commit.abandoned", source: "holdfast", commit: "c1", reason: "x" }],
    "sealed",
  );
  check(
    "undone",
    [
      sealed,
      intended,
      published(true),
      { kind: "commit.undone", source: "person", commit: "c1", files: 2 },
    ],
    "undone",
  );
  check("discarded", [sealed, { kind: "transaction.discarded", source: "person" }], "discarded");
  check(
    "interrupted",
    [{ kind: "transaction.interrupted", source: "holdfast", reason: "x" }],
    "interrupted",
  );

  it("keeps holds open until they are decided", () => {
    const held = entriesOf([
      begun,
      holdOpened("h1", "r1", 1),
      holdOpened("h2", "r2", 1),
      holdDecided("h1", "deny"),
    ]);
    const state = foldTransaction(held);
    assert.deepEqual(
      state.openHolds.map(({ hold, openedAt }) => [hold, openedAt]),
      [["h2", "2026-01-01T12:00:02.000Z"]],
    );
    assert.deepEqual(
      state.decided.map(({ hold, decision }) => [hold, decision]),
      [["h1", "deny"]],
    );
  });
});
