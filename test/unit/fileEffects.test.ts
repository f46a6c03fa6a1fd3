import assert from "node:assert/strict";
import type { Entry } from "../../src/core/journal/entry.ts";
import { FileEffects } from "../../src/runtime/fileEffects.ts";
import type { ChangedPath } from "../../src/runtime/ports.ts";
import type { EndedCall } from "../../src/runtime/toolCalls.ts";
import { MemoryJournal } from "../support/memoryJournal.ts";

const call = (
  seq: number,
  toolKind: EndedCall["toolKind"],
  startedMs: number,
  endedMs: number,
  inputText = "",
): EndedCall => ({ call: `c${seq}`, seq, toolKind, startedMs, endedMs, inputText, timed: true });

const written = (path: string, changedAtMs: number): ChangedPath => ({
  path,
  change: "modified",
  ignored: false,
  changedAtMs,
  stamp: `${path}@${changedAtMs}`,
});

const words = (entry: Entry): string =>
  entry.kind === "file.changed" ? `${entry.change} ${entry.path}` : "";

/** Ends the calls, lets the scans settle, seals; gives what was journaled. */
async function run(
  calls: readonly EndedCall[],
  ...scans: (readonly ChangedPath[])[]
): Promise<string[]> {
  const journal = new MemoryJournal();
  let next = 0;
  const scan = (): Promise<readonly ChangedPath[]> =>
    Promise.resolve(scans[Math.min(next++, scans.length - 1)] ?? []);
  const effects = new FileEffects(
    journal,
    scan,
    () => [],
    (error) => assert.fail(String(error)),
  );
  for (const ended of calls) effects.callEnded(ended);
  await effects.settled();
  effects.final(scans.at(-1) ?? []);
  return journal.lines("file.changed", words);
}

describe("file effects", () => {
  it("belong to the call during which they were made", async () => {
    const calls = [
      call(1, "execute", 100, 200),
      call(2, "execute", 300, 400),
      call(3, "execute", 500, 600),
    ];
    const scan = [written("a", 150), written("b", 350), written("c", 399), written("d", 599)];
    assert.deepEqual(await run(calls, scan), [
      "1: modified a",
      "2: modified b",
      "2: modified c",
      "3: modified d",
    ]);
  });

  it("belong to nobody when no call was under way", async () => {
    assert.deepEqual(
      await run([call(1, "execute", 100, 200)], [written("a", 50), written("b", 290)]),
      ["-: modified a", "-: modified b"],
    );
  });

  it("of calls side by side, to the one that names the path, else to the one that began last", async () => {
    const calls = [call(1, "edit", 100, 300, '{"path":"src/a.ts"}'), call(2, "execute", 150, 300)];
    assert.deepEqual(await run(calls, [written("src/a.ts", 200), written("other", 200)]), [
      "1: modified src/a.ts",
      "2: modified other",
    ]);
  });

  it("belong to a call that was over before it was heard of, where its agent gives no times", async () => {
    const heard = (seq: number, startedMs: number, inputText = ""): EndedCall => ({
      ...call(seq, "edit", startedMs, startedMs + 1, inputText),
      timed: false,
    });
    const calls = [call(1, "read", 100, 1200), heard(2, 1900), heard(3, 1950, "edit named")];
    const scan = [written("named", 1000), written("other", 1500), written("old", 50)];
    assert.deepEqual(await run(calls, scan), [
      "3: modified named",
      "2: modified other",
      "-: modified old",
    ]);
    assert.deepEqual(
      await run([call(1, "edit", 1900, 1901, "named")], [written("named", 1850)]),
      ["-: modified named"],
      "a time that the agent gives stands",
    );
  });

  it("are not laid to a reader while a writer's events may still be on their way", async () => {
    const calls = [call(1, "search", 100, 200), call(2, "edit", 201, 202, '{"path":"a"}')];
    assert.deepEqual(await run(calls, [written("a", 202)]), ["2: modified a"]);
  });

  it("are not laid to a call that was over by then, while a later one may not have been heard of", async () => {
    const journal = new MemoryJournal();
    const effects = new FileEffects(
      journal,
      () => Promise.resolve([written("a", 203)]),
      () => [],
      (error) => assert.fail(String(error)),
    );
    effects.callEnded(call(1, "execute", 100, 200));
    await effects.settled();
    effects.callEnded(call(2, "execute", 204, 205));
    await effects.settled();
    effects.final([written("a", 203)]);
    assert.deepEqual(journal.lines("file.changed", words), ["2: modified a"]);
  });

  it("are laid to a reader when nobody else can have made them", async () => {
    assert.deepEqual(await run([call(1, "read", 100, 200)], [written("a", 150)]), [
      "1: modified a",
    ]);
  });

  it("are not looked for after calls that only read", async () => {
    let scans = 0;
    const effects = new FileEffects(
      new MemoryJournal(),
      () => Promise.resolve((scans++, [])),
      () => [],
      (error) => assert.fail(String(error)),
    );
    for (const kind of ["read", "search", "fetch", "think"] as const) {
      effects.callEnded(call(1, kind, 100, 200));
      await effects.settled();
    }
    assert.equal(scans, 0);
    effects.callEnded(call(2, "other", 300, 400));
    await effects.settled();
    assert.equal(scans, 1);
  });

  it("are told once, and again after a second write", async () => {
    const first = [written("a", 150)];
    const second = [written("a", 350)];
    const journal = new MemoryJournal();
    let now = first;
    const effects = new FileEffects(
      journal,
      () => Promise.resolve(now),
      () => [],
      (error) => assert.fail(String(error)),
    );
    effects.callEnded(call(1, "execute", 100, 200));
    await effects.settled();
    effects.callEnded(call(2, "execute", 220, 240));
    await effects.settled();
    now = second;
    effects.callEnded(call(3, "execute", 300, 400));
    await effects.settled();
    assert.deepEqual(journal.lines("file.changed", words), ["1: modified a", "3: modified a"]);
  });

  describe("where nothing is left that has a time", () => {
    const gone = (path: string): ChangedPath => ({ path, change: "deleted", ignored: false });
    function world(): { journal: MemoryJournal; effects: FileEffects; now: ChangedPath[] } {
      const journal = new MemoryJournal();
      const now: ChangedPath[] = [];
      const effects = new FileEffects(
        journal,
        () => Promise.resolve([...now]),
        () => [],
        (error) => assert.fail(String(error)),
      );
      return { journal, effects, now };
    }

    it("the calls count that ended since the scan before, not an older one that names the path", async () => {
      const { journal, effects, now } = world();
      now.push(written("src/a.ts", 150));
      effects.callEnded(call(1, "edit", 100, 200, '{"path":"src/a.ts"}'));
      await effects.settled();
      now.splice(0, 1, gone("src/a.ts"));
      effects.callEnded(call(2, "execute", 300, 400, '{"command":"rm -r src"}'));
      await effects.settled();
      now.splice(0);
      effects.callEnded(call(3, "execute", 500, 600, '{"command":"git restore ."}'));
      await effects.settled();
      assert.deepEqual(journal.lines("file.changed", words), [
        "1: modified src/a.ts",
        "2: deleted src/a.ts",
        "3: added src/a.ts",
      ]);
    });

    it("of calls that ended while the scan ran, the one that names the path counts", async () => {
      const { journal, effects, now } = world();
      effects.callEnded(call(1, "execute", 100, 110, "cat .env"));
      // The scan that the first call asked for has begun, and sees what the second does meanwhile.
      effects.callEnded(call(2, "execute", 130, 140, "rm a.txt"));
      now.push(gone("a.txt"));
      await effects.settled();
      assert.deepEqual(journal.lines("file.changed", words), ["2: deleted a.txt"]);
    });

    it("a deletion is laid to the call that was under way when the directory's names changed last", async () => {
      const calls = [
        call(1, "execute", 100, 200, "cat old/a.txt"),
        call(2, "execute", 300, 400, "./clean"),
        call(3, "execute", 500, 600, "ls old/a.txt"),
      ];
      const old = { ...gone("old/b.txt"), changedAtMs: 350 };
      assert.deepEqual(await run(calls, [old]), ["2: deleted old/b.txt"]);
    });

    it("of a deletion, a call that names the directory counts before the others, not one with a longer word", async () => {
      const calls = [
        call(1, "execute", 100, 110, "rm -r ./old/"),
        call(2, "execute", 112, 120, "cat older.txt my-old old.d"),
      ];
      const scan = [{ ...gone("old/deep/b.txt"), changedAtMs: 109 }];
      assert.deepEqual(await run(calls, scan), ["1: deleted old/deep/b.txt"]);
    });

    it("a deletion is not laid to a call that names the path and came later", async () => {
      const calls = [
        call(1, "execute", 100, 200, "rm a.txt"),
        call(2, "execute", 300, 400, "cat a.txt"),
      ];
      assert.deepEqual(await run(calls, [{ ...gone("a.txt"), changedAtMs: 150 }]), [
        "1: deleted a.txt",
      ]);
    });

    it("what a savepoint brings back is its own, also when the scan after it fails", async () => {
      const journal = new MemoryJournal();
      const scans = [
        (): ChangedPath[] => [gone("b")],
        (): never => {
          throw new Error("EIO");
        },
        (): ChangedPath[] => [],
      ];
      const errors: unknown[] = [];
      const effects = new FileEffects(
        journal,
        () => new Promise((resolve) => resolve(scans.shift()?.() ?? [])),
        () => [],
        (error) => errors.push(error),
      );
      effects.callEnded(call(1, "execute", 100, 200));
      await effects.settled();
      effects.restored(7);
      await effects.settled();
      assert.equal(errors.length, 1);
      effects.callEnded(call(2, "execute", 300, 400));
      await effects.settled();
      assert.deepEqual(journal.lines("file.changed", words), ["1: deleted b", "7: added b"]);
    });

    it("what a savepoint brings back is its own, not the next call's", async () => {
      const { journal, effects, now } = world();
      now.push(written("a", 150), gone("b"));
      effects.callEnded(call(1, "execute", 100, 200));
      await effects.settled();
      now.splice(0);
      effects.restored(7);
      await effects.settled();
      now.push(written("c", 350));
      effects.callEnded(call(2, "execute", 300, 400));
      await effects.settled();
      assert.deepEqual(journal.lines("file.changed", words), [
        "1: modified a",
        "1: deleted b",
        "7: modified a",
        "7: added b",
        "2: modified c",
      ]);
    });
  });
});
