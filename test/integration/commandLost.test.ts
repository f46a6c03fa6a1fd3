import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, utimesSync } from "node:fs";
import path from "node:path";
import { liveSupervisor } from "../../src/node/state/supervisorLock.ts";
import { commandWorlds, eventually, type CommandWorld } from "../support/holdfastCommand.ts";

const read = (folder: string, name: string): string =>
  readFileSync(path.join(folder, name), "utf8");

describe("holdfast, where a hand has been in the state", function () {
  this.timeout(240_000);
  const newWorld = commandWorlds();

  it("says what is gone in one line, does not touch the workspace, and clears it away when asked", async () => {
    const world = newWorld({ "a.txt": "a\n", ".env": "S=hidden123\n" });
    const begin = async (): Promise<string> => {
      const run = ["run", "--json", "--", "sh", "-c", "echo b >> a.txt; echo N=1 >> .env"];
      const { stdout } = await world.run(run);
      const { transaction } = JSON.parse(stdout) as { transaction: string };
      await world.run(["stop", "--all"]);
      return path.join(world.home, "transactions", transaction);
    };
    // The whole change set, where nothing that is needed for it is gone; else nothing.
    const losses = [
      { lost: "shadow", code: 1, says: /is not what was sealed for review/ },
      { lost: "state", code: 1, says: /cannot be read.*the transaction's state was moved/ },
      { lost: "state/manifest", code: 0, says: /2 files published/ },
      { lost: "state/masks.json", code: 0, says: /2 files published/ },
    ];
    for (const { lost, code, says } of losses) {
      const root = await begin();
      const id = path.basename(root);
      rmSync(path.join(root, lost), { recursive: true });
      const told = await world.run(["commit", id]);
      assert.match(told.stderr, /^holdfast: [^\n]+\n$/, lost);
      assert.match(told.stderr, says, lost);
      assert.equal(told.code, code, lost);
      const more = code === 0 ? ["b\n", "N=1\n"] : ["", ""];
      assert.equal(read(world.workspace, "a.txt"), `a\n${more[0] ?? ""}`, lost);
      assert.equal(read(world.workspace, ".env"), `S=hidden123\n${more[1] ?? ""}`, lost);
      if (code === 0) assert.equal((await world.run(["undo", id])).code, 0, lost);
      const { stdout } = await world.run(["diff", id]);
      assert.ok(!stdout.includes("hidden"), lost);
      assert.equal((await world.run(["discard", id])).code, 0, lost);
    }
    const root = await begin();
    const id = path.basename(root);
    const journal = path.join(root, "journal.jsonl");
    renameSync(journal, path.join(world.home, "moved"));
    const said = await world.run(["status", id]);
    assert.equal(said.code, 1);
    assert.match(said.stderr, /the journal of .* is gone from .*holdfast gc/);
    assert.match((await world.run(["list"])).stdout, new RegExp(`${id} +broken`));
    renameSync(path.join(world.home, "moved"), journal);
    assert.equal((await world.run(["status", id])).code, 0);
    await world.run(["stop", "--all"]);
    rmSync(journal);
    await world.run(["gc", "--older-than", "0"]);
    assert.ok(existsSync(root), "it may only be beginning");
    for (const name of readdirSync(root).filter((one) => /^supervisor\.\d+\.json$/.test(one))) {
      const { pid } = JSON.parse(read(root, name)) as { pid: number };
      if (existsSync(`/proc/${pid}`)) process.kill(pid, "SIGKILL");
    }
    await eventually(async () => {
      utimesSync(root, 1, 1);
      await world.run(["gc", "--older-than", "0"]);
      return existsSync(root) ? undefined : true;
    }, "what is left of it to go");
  });
});

describe("holdfast, where a supervisor was killed", () => {
  const newWorld = commandWorlds();

  it("who watches an agent whose supervisor is killed is told so, and how to go on", async () => {
    const world = newWorld({ "a.txt": "a\n" });
    const running = world.run(["run", "--", "sh", "-c", "echo work > work.txt; exec sleep 600"]);
    const transaction = await eventually(async () => {
      const entries = await world.entries().catch(() => []);
      const ready = entries.some((one) => one.kind === "process.exec" && one.argv.includes("600"));
      return ready
        ? (await world.json<{ transaction: string }[]>(["list"]))[0]?.transaction
        : undefined;
    }, "the agent's last command");
    const attach = (): ReturnType<CommandWorld["run"]> => world.run(["attach", transaction]);
    const attached = [attach(), attach()];
    const [left, other] = await Promise.race(
      attached.map(async (one, at) => [await one, attached[1 - at]] as const),
    );
    assert.deepEqual([left.code, left.stdout], [0, ""]);
    assert.match(left.stderr, /another terminal took over; `holdfast attach/);
    const pid = liveSupervisor(path.join(world.home, "transactions", transaction));
    assert.ok(pid !== undefined);
    process.kill(pid, "SIGKILL");
    for (const told of [await running, await other]) {
      assert.ok(told?.code === 1);
      const said = `${transaction} was interrupted: its supervisor died`;
      assert.ok(told.stderr.includes(said), told.stderr);
      assert.ok(told.stderr.trimEnd().endsWith(`holdfast resume ${transaction}`), told.stderr);
    }
  }).timeout(60_000);
});
