import assert from "node:assert/strict";
import { commandWorlds } from "../support/holdfastCommand.ts";
import { readRepositoryFile } from "../support/repository.ts";

interface Row {
  readonly name: string;
  readonly state: "ok" | "missing" | "weaker";
  readonly fix?: string;
}

describe("holdfast doctor", () => {
  const newWorld = commandWorlds();

  it("every row has an entry in the troubleshooting", async () => {
    const { rows } = await newWorld().json<{ rows: readonly Row[] }>(["doctor"]);
    assert.ok(rows.length > 10);
    const entries = new Set(
      [...readRepositoryFile("docs/troubleshooting.md").matchAll(/^### (.+)$/gm)].map(
        ([, name = ""]) => name,
      ),
    );
    // One entry stands for all agents, and one for all ways of copying.
    const lacking = rows
      .map(({ name }) => name)
      .filter((name) => !entries.has(name) && !entries.has(name.split(" ")[0] ?? ""));
    assert.deepEqual(lacking, []);
  });

  it("where bubblewrap is missing it says so, with the fix, and refuses with exit code 3", async () => {
    const { code, stdout, stderr } = await newWorld().run(["doctor", "--json"], {
      env: { HOLDFAST_BWRAP: "/nowhere/bwrap" },
    });
    const { rows } = JSON.parse(stdout) as { rows: readonly Row[] };
    const row = rows.find(({ name }) => name === "bubblewrap");
    assert.equal(row?.state, "missing");
    assert.equal(code, 3);
    assert.match(stderr, /transactions cannot run here: bubblewrap/);
    assert.match(row.fix ?? "", /install/);
  });
});
