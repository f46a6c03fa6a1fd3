import assert from "node:assert/strict";
import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { EntryDraft } from "../../src/core/journal/entry.ts";
import { JournalFile } from "../../src/node/journal/journalFile.ts";
import { journalPath } from "../../src/node/journal/journalHead.ts";
import { newestTransactions, TransactionsHere } from "../../src/node/state/transactionsHere.ts";
import { begun } from "../support/entries.ts";
import { temporaryFolders } from "../support/temporaryFolder.ts";

describe("whether there are transactions of a folder", () => {
  const newFolder = temporaryFolders();
  const newHome = (): string => {
    const home = newFolder();
    mkdirSync(path.join(home, "transactions"));
    return home;
  };

  const made = (home: string, id: string): string => {
    const root = path.join(home, "transactions", id);
    mkdirSync(root);
    return root;
  };

  const began = async (home: string, id: string, workspace: string): Promise<void> => {
    const journal = JournalFile.open(made(home, id));
    journal.append({ ...begun, workspace, transaction: id } as EntryDraft);
    await journal.close();
  };

  it("there are none in an empty home", () => {
    assert.equal(new TransactionsHere().look(newHome(), ["/home/dev/shop"]), "none");
  });

  it("those of other folders are none, those of one of the folders are some", async () => {
    const home = newHome();
    const here = new TransactionsHere();
    await began(home, "t20260101-120000-000001", "/home/dev/other");
    assert.equal(here.look(home, ["/home/dev/shop"]), "none");
    await began(home, "t20260101-120000-000002", "/home/dev/shop");
    assert.equal(here.look(home, ["/home/dev/shop", "/home/dev/third"]), "some");
  });

  it("what was of other folders is looked at again when the folders are others", async () => {
    const home = newHome();
    const here = new TransactionsHere();
    await began(home, "t20260101-120000-000001", "/home/dev/other");
    assert.equal(here.look(home, ["/home/dev/shop"]), "none");
    here.forget();
    assert.equal(here.look(home, ["/home/dev/other"]), "some");
  });

  it("one that is being made may be ours soon: without a journal, and with half a line", () => {
    const home = newHome();
    const here = new TransactionsHere();
    const root = made(home, "t20260101-120000-000001");
    assert.equal(here.look(home, ["/home/dev/shop"]), "soon");
    const line = JSON.stringify({ seq: 1, ...begun });
    writeFileSync(journalPath(root), line.slice(0, 40));
    assert.equal(here.look(home, ["/home/dev/shop"]), "soon");
    appendFileSync(journalPath(root), line.slice(40));
    assert.equal(here.look(home, ["/home/dev/shop"]), "soon");
    appendFileSync(journalPath(root), "\n");
    assert.equal(here.look(home, ["/home/dev/shop"]), "some");
  });

  it("a long task and a line that says nothing are read as they are", async () => {
    const home = newHome();
    const root = made(home, "t20260101-120000-000001");
    const line = { seq: 1, ...begun, task: "word ".repeat(20_000) };
    writeFileSync(journalPath(root), `${JSON.stringify(line)}\n`);
    assert.equal(new TransactionsHere().look(home, ["/home/dev/shop"]), "some");
    writeFileSync(journalPath(root), "null\n");
    assert.equal(new TransactionsHere().look(home, ["/home/dev/shop"]), "soon");
    await began(home, "t20260101-120000-000002", "/home/dev/shop");
    assert.equal(new TransactionsHere().look(home, ["/home/dev/shop"]), "some");
  });

  it("only the newest are looked at", async () => {
    const home = newHome();
    await began(home, "t20260101-120000-000000", "/home/dev/shop");
    for (let n = 1; n <= 40; n++)
      await began(home, `t20260101-120000-0000${String(n + 10)}`, "/home/dev/other");
    assert.equal(newestTransactions(home).length, 40);
    assert.equal(new TransactionsHere().look(home, ["/home/dev/shop"]), "none");
  });
});
