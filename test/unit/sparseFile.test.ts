import assert from "node:assert/strict";
import { closeSync, openSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import fc from "fast-check";
import { writeSparsely } from "../../src/node/fork/sparseFile.ts";
import { temporaryFolders } from "../support/temporaryFolder.ts";

describe("sparse files", () => {
  const newFolder = temporaryFolders();

  it("have the bytes that were given, whatever of them is zero, and each piece is seen once", async () => {
    const file = path.join(newFolder(), "file");
    const run = fc.tuple(fc.nat(200_000), fc.constantFrom(0, 1));
    const pieces = fc.array(fc.array(run, { maxLength: 3 }), { maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(pieces, async (wanted) => {
        const given = wanted.map((runs) =>
          Buffer.concat(runs.map(([length, byte]) => Buffer.alloc(length, byte))),
        );
        const seen: Uint8Array[] = [];
        const fd = openSync(file, "w");
        await writeSparsely(fd, given, (piece) => seen.push(piece));
        closeSync(fd);
        assert.ok(readFileSync(file).equals(Buffer.concat(given)));
        assert.deepEqual(seen, given);
      }),
      { numRuns: 50 },
    );
  });

  it("take no room for their holes", async () => {
    const file = path.join(newFolder(), "file");
    const fd = openSync(file, "w");
    const hole = Buffer.alloc(1 << 20);
    await writeSparsely(
      fd,
      [Buffer.from("a"), hole, hole, Buffer.from("z"), hole],
      () => undefined,
    );
    closeSync(fd);
    const { size, blocks } = statSync(file);
    assert.equal(size, 3 * 2 ** 20 + 2);
    assert.ok(blocks * 512 <= 256 * 1024, `${blocks} blocks`);
  });
});
