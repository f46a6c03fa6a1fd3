import assert from "node:assert/strict";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { commandWorlds, eventually, type CommandWorld } from "../support/holdfastCommand.ts";

function spares(world: CommandWorld): readonly string[] {
  const directory = path.join(world.home, "spares");
  return existsSync(directory) ? readdirSync(directory) : [];
}

describe("holdfast: the spare clone of a large workspace", () => {
  const newWorld = commandWorlds();

  it("is made when a transaction is over, starts the next one, is told in its journal, and gc removes it", async () => {
    const files = Array.from(
      { length: 2100 },
      (_, i) => [`d${i % 30}/f${i}.txt`, `${i}\n`] as const,
    );
    const world = newWorld(Object.fromEntries(files));
    assert.equal((await world.run(["run", "--on-exit", "discard", "--", "true"])).code, 0);
    const isWhole = (): true | undefined =>
      spares(world).some((name) => !name.includes(".")) ? true : undefined;
    await eventually(isWhole, "a spare", 120_000);
    const doctor = await world.run(["doctor"]);
    assert.match(doctor.stdout, /spare clones +1 in .*spares(, [\d.]+ MB)?; HOLDFAST_SPARES=off/);
    writeFileSync(path.join(world.workspace, "d1/f1.txt"), "edited since\n");
    const ran = await world.run(["run", "--", "cat", "d1/f1.txt"]);
    assert.equal(ran.stdout, "edited since\n");
    const forked = (await world.entries()).find((entry) => entry.kind === "transaction.forked");
    assert.equal(forked?.spare, true);
    assert.equal(forked.files, 2100);
    assert.equal(forked.refreshed, 1);
    assert.equal((await world.run(["discard", "latest"])).code, 0);
    await eventually(isWhole, "another spare", 120_000);
    assert.equal((await world.run(["gc", "--older-than", "0"])).code, 0);
    assert.deepEqual(spares(world), []);
  }).timeout(300_000);
});
