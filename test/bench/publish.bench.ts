import { execFileSync, spawnSync } from "node:child_process";
import fs from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { performance } from "node:perf_hooks";
import { changesDocument } from "../../src/core/change/changeSet.ts";
import { JournalFile } from "../../src/node/journal/journalFile.ts";
import { patchOf } from "../../src/node/publish/patchStream.ts";
import { commitTransaction } from "../../src/runtime/commit/commitTransaction.ts";
import { reviewNow } from "../../src/runtime/commit/reviewNow.ts";
import { figureOf, type Bench, type Figure } from "../support/bench.ts";
import { copyTree, PublishFixture } from "../support/publishFixture.ts";
import { root } from "../support/repository.ts";

const now = "2026-11-29T12:00:00.000Z";
const rounds = 5;

/** A workspace of `count` files of forty lines in which the agent changed a line of each. */
function manyFiles(count: number): PublishFixture {
  const lines = Array.from({ length: 40 }, (_, at) => `line ${at} of an ordinary file\n`);
  const text = lines.join("");
  const changed = text.replace("line 20 of", "line twenty of");
  const names = Array.from({ length: count }, (_, at) => `d${at % 40}/f${at}.txt`);
  const fixture = new PublishFixture(Object.fromEntries(names.map((name) => [name, text])), {
    parent: tmpdir(),
  });
  fixture.agent(Object.fromEntries(names.map((name) => [name, changed])));
  return fixture;
}

/** Publishing a thousand files, journal and all, beside `git apply` and `sync` of the same patch, in turns. */
async function sideBySide(): Promise<readonly Figure[]> {
  const [ours, theirs, ratios]: [number[], number[], number[]] = [[], [], []];
  for (let round = 0; round < rounds; round++) {
    using fixture = manyFiles(1000);
    const changeSet = await fixture.changeSet();
    const pieces: Uint8Array[] = [];
    for await (const piece of patchOf(fixture.reader, changeSet)) pieces.push(piece);
    const patch = path.join(fixture.root, "patch");
    fs.writeFileSync(patch, Buffer.concat(pieces));
    const other = path.join(fixture.root, "other");
    copyTree(fixture.base, other);
    const journal = JournalFile.open(path.join(fixture.root, "state"));
    execFileSync("sync");

    let begun = performance.now();
    const env = { PATH: process.env["PATH"], GIT_CEILING_DIRECTORIES: fixture.root };
    execFileSync("git", ["apply", patch], { cwd: other, env });
    execFileSync("sync");
    const their = performance.now() - begun;

    begun = performance.now();
    const { target, reader } = fixture;
    await commitTransaction(
      { transaction: "t1", target, reader, changeSet, selection: {}, now },
      journal,
    );
    const our = performance.now() - begun;
    await journal.close();
    ours.push(our);
    theirs.push(their);
    ratios.push(our / their);
  }
  const note = "1,000 files of 40 lines, one line changed in each; the aim is a ratio of at most 2";
  return [
    figureOf("commit of 1,000 files, durable and journaled", "ms", ours),
    figureOf("git apply of the same patch, then sync", "ms", theirs),
    figureOf("ratio of the two", "×", ratios, note),
  ];
}

async function listing(): Promise<readonly Figure[]> {
  using fixture = manyFiles(10_000);
  const seals: number[] = [];
  const lists: number[] = [];
  for (let round = 0; round < 3; round++) {
    let begun = performance.now();
    const changeSet = await fixture.changeSet();
    seals.push(performance.now() - begun);
    begun = performance.now();
    JSON.stringify(changesDocument(await reviewNow(fixture.target, fixture.reader, changeSet)));
    lists.push(performance.now() - begun);
  }
  return [
    figureOf("change set of 10,000 files made at the seal", "ms", seals),
    figureOf(
      "change set of 10,000 files listed",
      "ms",
      lists,
      "compared with the workspace as it is now; the aim is 1,000",
    ),
  ];
}

/** Seal, patch, commit and undo with one file of 2 GiB, in a process of their own. */
function largeFile(): Figure {
  const child = path.join(root, "test/support/publishLargeChild.ts");
  const run = spawnSync(process.execPath, ["--import", "tsx", child, String(2 * 1024)], {
    encoding: "utf8",
  });
  if (run.status !== 0) throw new Error(run.stderr);
  const note = "the process's peak over what it had before; the file is in the change set";
  return figureOf(
    "memory for a file of 2 GiB: seal, patch, commit, undo",
    "MiB",
    [Number(run.stdout)],
    note,
  );
}

/** What publishing costs. */
export const bench: Bench = {
  title: "Review and publish",
  run: async () => [...(await sideBySide()), ...(await listing()), largeFile()],
};
