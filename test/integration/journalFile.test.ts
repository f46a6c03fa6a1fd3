import assert from "node:assert/strict";
import { appendFileSync, closeSync, openSync, readFileSync, readdirSync } from "node:fs";
import { readlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import fc from "fast-check";
import type { EntryDraft } from "../../src/core/journal/entry.ts";
import {
  JournalFile,
  readBlob,
  readJournal,
  readJournalBytes,
} from "../../src/node/journal/journalFile.ts";
import { journalPath } from "../../src/node/journal/journalHead.ts";
import { begun } from "../support/entries.ts";
import { temporaryFolders } from "../support/temporaryFolder.ts";

const note = (message: string): EntryDraft => ({
  kind: "alert",
  source: "holdfast",
  code: "test",
  message,
});

/** The descriptors of this process, and what they lead to. */
function openDescriptors(): readonly { readonly fd: number; readonly target: string }[] {
  return readdirSync("/proc/self/fd").flatMap((fd) => {
    try {
      return [{ fd: Number(fd), target: readlinkSync(`/proc/self/fd/${fd}`) }];
    } catch {
      return []; // The one that listed the folder.
    }
  });
}

describe("journal file", () => {
  const folder = temporaryFolders();

  async function written(...drafts: readonly EntryDraft[]): Promise<string> {
    const root = folder();
    const journal = JournalFile.open(root);
    for (const draft of drafts) journal.append(draft);
    await journal.close();
    return root;
  }

  it("writes what it reads back, chained, in order", async () => {
    const root = await written(begun, note("one"), note("two\nlines"));
    const { entries, broken, torn } = readJournal(root);
    assert.equal(broken, undefined);
    assert.equal(torn, 0);
    assert.deepEqual(
      entries.map(({ seq, kind }) => [seq, kind]),
      [
        [1, "transaction.begun"],
        [2, "alert"],
        [3, "alert"],
      ],
    );
  });

  it("is private to its owner", async () => {
    const root = await written(begun);
    const { statSync } = await import("node:fs");
    assert.equal(statSync(journalPath(root)).mode & 0o777, 0o600);
  });

  it("goes on after a torn last line, wherever it was torn", async () => {
    const root = await written(begun, note("one"));
    const whole = readFileSync(journalPath(root));
    const line = Buffer.from(JSON.stringify({ seq: 3, kind: "alert", message: "ü".repeat(20) }));
    for (let cut = 1; cut < line.length; cut += 7) {
      writeFileSync(journalPath(root), Buffer.concat([whole, line.subarray(0, cut)]));
      const journal = JournalFile.open(root);
      const { entry, durable } = journal.append(note("after"));
      await durable;
      await journal.close();
      assert.equal(entry.seq, 3);
      assert.equal(readJournal(root).broken, undefined);
      writeFileSync(journalPath(root), whole);
    }
  });

  it("reports any altered, removed, swapped or inserted line with its place", async () => {
    const root = await written(begun, note("one"), note("two"), note("three"));
    const lines = readFileSync(journalPath(root), "utf8").split("\n").slice(0, -1);
    const changes: readonly (readonly [string, readonly string[], number])[] = [
      ["altered", [lines[0]!, lines[1]!.replace("one", "uno"), lines[2]!, lines[3]!], 3],
      ["removed", [lines[0]!, lines[2]!, lines[3]!], 2],
      ["swapped", [lines[0]!, lines[2]!, lines[1]!, lines[3]!], 2],
      ["inserted", [lines[0]!, lines[1]!, lines[1]!, lines[2]!, lines[3]!], 3],
      ["no JSON", [lines[0]!, "what", lines[2]!], 2],
      ["an unknown kind", [lines[0]!, lines[1]!.replace('"alert"', '"alarm"')], 2],
      ["a member of the wrong type", [lines[0]!, lines[1]!.replace('"one"', "1")], 2],
      [
        "a parent that comes later",
        [lines[0]!, lines[1]!.replace('"code"', '"parent":9,"code"')],
        2,
      ],
    ];
    for (const [what, changed, line] of changes) {
      const { broken } = readJournalBytes(Buffer.from(`${changed.join("\n")}\n`));
      assert.equal(broken?.line, line, `${what}: ${broken?.reason ?? "not noticed"}`);
    }
  });

  it("notices every single flipped byte before the last line", async () => {
    const root = await written(begun, note("one"), note("two"));
    const whole = readFileSync(journalPath(root));
    const lastLine = whole.lastIndexOf(10, whole.length - 2) + 1;
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: lastLine - 1 }),
        fc.integer({ min: 1, max: 255 }),
        (at, flip) => {
          const bytes = Buffer.from(whole);
          bytes[at] = bytes[at]! ^ flip;
          const { broken, torn, entries } = readJournalBytes(bytes);
          assert.ok(broken !== undefined || torn > 0 || entries.length < 3);
        },
      ),
      { numRuns: 300 },
    );
  });

  it("refuses to append to a broken chain", async () => {
    const root = await written(begun, note("one"), note("two"));
    const text = readFileSync(journalPath(root), "utf8").replace("one", "eno");
    writeFileSync(journalPath(root), text);
    assert.throws(() => JournalFile.open(root), /broken at .*line 3/);
  });

  it("keeps large values as blobs that prove themselves", async () => {
    const root = folder();
    const journal = JournalFile.open(root);
    const large = "x".repeat(20_000);
    const kept = journal.keep(large);
    await journal.close();
    assert.ok(typeof kept === "object" && kept !== null && "$blob" in kept);
    const { blob } = (kept as { $blob: { blob: string } }).$blob;
    assert.equal(readBlob(root, blob), large);
    appendFileSync(path.join(root, "blobs", blob), "more");
    assert.throws(() => readBlob(root, blob), /altered/);
    assert.throws(() => readBlob(root, "../journal.jsonl"), /not a blob name/);
    assert.deepEqual(readdirSync(path.join(root, "blobs")), [blob]);
  });

  const request: EntryDraft = {
    ...{ kind: "request.finished", source: "broker", request: "r1", status: 200 },
    ...{ bytesSent: 0, bytesReceived: 0, durationMs: 1 },
  };
  /** Whether a promise has settled by now, without giving others a turn. */
  const isSettled = async (promise: Promise<void>): Promise<boolean> =>
    await Promise.race([promise.then(() => true), Promise.resolve(false).then((no) => no)]);

  it("writes what comes by the thousand with its turn, and before anything later", async () => {
    const root = folder();
    const journal = JournalFile.open(root);
    const kinds = () => readJournal(root).entries.map((entry) => entry.kind);
    journal.append(begun);
    assert.deepEqual(kinds(), [begun.kind], "it was not written at once");
    journal.append(request);
    const { durable } = journal.append(request);
    assert.deepEqual(kinds(), [begun.kind], "each of many was written by itself");
    journal.append(note("asked for at once"));
    assert.deepEqual(kinds(), [begun.kind, request.kind, request.kind, "alert"]);
    journal.append(request);
    await durable;
    assert.equal(kinds().length, 5);
    await journal.close();
    assert.equal(readJournal(root).broken, undefined);
  });

  it("fails what waits, and takes nothing more, once a write of a turn failed", async () => {
    const root = folder();
    const journal = JournalFile.open(root);
    // Another descriptor in the place of its own: every write fails, as on a disk that is gone.
    const fd = openDescriptors().find(({ target }) => target === journalPath(root))?.fd;
    assert.ok(fd !== undefined);
    closeSync(fd);
    assert.equal(openSync("/dev/full", "w"), fd);
    const { durable } = journal.append(request);
    await assert.rejects(durable, /cannot be written/);
    assert.throws(() => journal.append(note("late")), /cannot be written/);
    closeSync(fd);
  });

  it("makes durable together what is appended together", async () => {
    const journal = JournalFile.open(folder());
    const one = journal.append(begun).durable;
    const two = journal.append(note("in the same turn")).durable;
    assert.equal(await isSettled(one), false);
    await one;
    assert.equal(await isSettled(two), true);
    await journal.close();
  });

  it("lets what was only seen wait for others, but not for long", async () => {
    const journal = JournalFile.open(folder());
    const seen = journal.append(request).durable;
    const intent = journal.append(note("an intent")).durable;
    await intent;
    assert.equal(await isSettled(seen), true);
    const begins = performance.now();
    await journal.append(request).durable;
    assert.ok(performance.now() - begins >= 10, "it did not wait for company");
    await journal.close();
  });

  it("makes durable what comes during an fsync, and at the end what still waits", async () => {
    const journal = JournalFile.open(folder());
    const first = journal.append(begun).durable;
    await new Promise((resolve) => setImmediate(resolve));
    const during = journal.append(note("meanwhile")).durable;
    const seen = journal.append(request).durable;
    await Promise.all([first, during]);
    await journal.close();
    assert.equal(await isSettled(seen), true);
  });

  it("takes nothing more from the moment it is closed", async () => {
    const journal = JournalFile.open(folder());
    journal.append(begun);
    const closed = journal.close();
    assert.throws(() => journal.append(note("late")), /closed/);
    await closed;
  });

  it("shares fsync: a thousand durable appends settle together", async () => {
    const root = folder();
    const journal = JournalFile.open(root);
    journal.append(begun);
    await Promise.all(
      Array.from({ length: 1000 }, (_, n) => journal.append(note(String(n))).durable),
    );
    await journal.close();
    assert.equal(readJournal(root).entries.length, 1001);
  });
});
