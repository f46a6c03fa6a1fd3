import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { commandWorlds, eventually } from "../support/holdfastCommand.ts";
import { nestScript } from "../support/nestedDeep.ts";

interface Changes {
  readonly files: readonly {
    readonly path: string;
    readonly section: string;
    readonly why?: string;
  }[];
}

/** Beyond what a path can name. */
const levels = 4000;

describe("holdfast: an agent that nests folders without end", function () {
  this.timeout(120_000);
  const newWorld = commandWorlds();

  for (const backend of ["clone", "overlay", "copy"]) {
    it(`${backend}: the rest is reviewed, kept and published, and all of it goes`, async () => {
      const world = newWorld({ "a.txt": "base\n" });
      const script = `${nestScript(levels)}; fs.writeFileSync(${JSON.stringify(path.join(world.workspace, "a.txt"))}, 'agent\\n');`;
      const command = ["run", "--backend", backend, "--", process.execPath, "-e", script];
      const run = await world.run(command);
      assert.equal(run.code, 0, run.stderr);
      const { files } = await world.json<Changes>(["changes", "latest"]);
      const deep = files.filter(({ why }) => why?.includes("nested deeper") === true);
      assert.equal(deep.length, 1);
      assert.deepEqual(
        files.filter((one) => !deep.includes(one)).map((one) => one.path),
        ["a.txt", "d/d/d/d/d/d/near.txt"],
      );
      const alerts = (await world.entries()).filter((entry) => entry.kind === "alert");
      assert.deepEqual(alerts, []);
      const committed = await world.run(["commit", "latest", "--include-runs-later"]);
      assert.equal(committed.code, 0, committed.stderr);
      assert.equal(readFileSync(path.join(world.workspace, "a.txt"), "utf8"), "agent\n");
      assert.equal(existsSync(path.join(world.workspace, "d/d/d/d/d/d/near.txt")), true);
      assert.equal(existsSync(path.join(world.workspace, `d${"/d".repeat(10)}`)), false);

      await world.run(command);
      const discarded = await world.run(["discard", "latest"]);
      assert.equal(discarded.code, 0, discarded.stderr);
      await world.run(["stop", "--all"]);
      const transactions = path.join(world.home, "transactions");
      await eventually(async () => {
        const collected = await world.run(["gc", "--older-than", "0"]);
        assert.equal(collected.code, 0, collected.stderr);
        return readdirSync(transactions).length === 0 ? true : undefined;
      }, "the end of both supervisors");
    });
  }
});
