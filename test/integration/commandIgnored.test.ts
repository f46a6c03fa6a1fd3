import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { commandWorlds } from "../support/holdfastCommand.ts";

describe("holdfast commit, where an ignored file was edited", function () {
  this.timeout(120_000);
  const newWorld = commandWorlds();

  it("says in one line that it was left out, and what includes it; its JSON stays as it is", async () => {
    const world = newWorld({ "a.txt": "a\n", "b.txt": "b\n", ".env": "S=hidden123\n" });
    execFileSync("git", ["init", "-q"], { cwd: world.workspace });
    execFileSync("sh", ["-c", "printf '.env\\nout\\n' > .gitignore"], { cwd: world.workspace });
    const script = "echo b >> a.txt; echo c >> b.txt; echo N=1 >> .env; mkdir out; touch out/1";
    const run = await world.run(["run", "--", "sh", "-c", script]);
    assert.equal(run.code, 0, run.stderr);
    const named = await world.run(["commit", "latest", "--path", "a.txt"]);
    assert.deepEqual(
      [named.code, named.stderr],
      [0, "holdfast: 1 file published, 0 of them merged; sealed\n"],
    );
    const { stderr } = await world.run(["commit", "latest"]);
    assert.deepEqual(stderr.split("\n"), [
      "holdfast: 1 file published, 0 of them merged; committed",
      'holdfast: 2 ignored files were left out (".env", "out/1"); --include-ignored publishes them',
      "",
    ]);
    const undone = await world.run(["undo", "latest"]);
    assert.equal(undone.code, 0, undone.stderr);
    const published = { published: 1, merged: 0, conflicts: [] };
    assert.deepEqual(await world.json(["commit", "latest"]), { state: "committed", ...published });
    const all = await world.run(["commit", "latest", "--include-ignored"]);
    assert.equal(all.stderr, "holdfast: 2 files published, 0 of them merged; committed\n");
    const env = readFileSync(path.join(world.workspace, ".env"), "utf8");
    assert.equal(env, "S=hidden123\nN=1\n");
  });
});
