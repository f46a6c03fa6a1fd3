import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import path from "node:path";
import { builtCommand, commandWorlds, eventually } from "../support/holdfastCommand.ts";

interface Row {
  readonly savepoint: string;
  readonly at: string;
  readonly name?: string;
  readonly files: number;
}

describe("holdfast savepoints", () => {
  const newWorld = commandWorlds();

  it("are taken after calls that changed files; a restore can itself be undone", async () => {
    const world = newWorld({ "a.txt": "base\n", "kept.txt": "kept\n" });
    const step = (command: string): string => `sh -c ${JSON.stringify(command)}; sleep 1`;
    const script = [
      step("echo one > a.txt"),
      step("echo two > a.txt; echo new > b.txt"),
      "true",
    ].join("; ");
    await world.run(["run", "--", "sh", "-c", script]);
    const rows = await world.json<Row[]>(["savepoints", "latest"]);
    assert.ok(rows.length >= 2, JSON.stringify(rows));
    const patch = async (): Promise<string> => (await world.run(["diff", "latest"])).stdout;
    const before = await patch();
    assert.match(before, /\+two/);

    const left = await world.json<Row>(["restore", "latest", "--to", rows[0]!.savepoint]);
    const restored = await patch();
    assert.match(restored, /\+one/);
    assert.doesNotMatch(restored, /b\.txt|kept\.txt/);

    await world.json<Row>(["restore", "latest", "--to", left.savepoint]);
    assert.equal(await patch(), before);
    const entries = await world.entries();
    assert.equal(entries.filter((entry) => entry.kind === "savepoint.restored").length, 2);
    assert.equal((await world.run(["commit", "latest"])).code, 0);
  });

  it("a named one on request while the agent runs", async () => {
    const world = newWorld({ "a.txt": "base\n" });
    const script = "echo one > a.txt; while [ ! -e go ]; do sleep 0.1; done";
    await world.json(["run", "--detach", "--", "sh", "-c", script]);
    await eventually(
      async () =>
        (await world.run(["diff", "latest"])).stdout.includes("+one") ? true : undefined,
      "the change",
    );
    const row = await world.json<Row>(["savepoint", "latest", "--name", "before the refactoring"]);
    assert.equal(row.name, "before the refactoring");
    const rows = await world.json<Row[]>(["savepoints", "latest"]);
    assert.equal(rows.at(-1)?.savepoint, row.savepoint);
    assert.equal((await world.run(["stop", "latest"])).code, 0);
  });

  it("go back under the agent's feet, also where an overlay lies under them", async () => {
    const world = newWorld({ "a.txt": "base\n", "d/x": "x\n" });
    const script = [
      "echo one > a.txt; rm -r d; read line",
      "echo two > a.txt; mkdir d; echo y > d/y; read line",
      "cat a.txt; ls",
    ].join("; ");
    const command = ["run", "--backend", "overlay", "--", "sh", "-c", script];
    const agent = spawn(process.execPath, [builtCommand, ...command], {
      cwd: world.workspace,
      env: { ...process.env, HOLDFAST_HOME: world.home },
      stdio: ["pipe", "pipe", "ignore"],
    });
    const said: Buffer[] = [];
    agent.stdout.on("data", (piece: Buffer) => said.push(piece));
    const ended = once(agent, "close");
    const patch = async (): Promise<string> => (await world.run(["diff", "latest"])).stdout;
    const seen = (line: string): Promise<string> =>
      eventually(async () => {
        const now = await patch();
        return now.includes(line) ? now : undefined;
      }, line);

    await seen("-x\n");
    const first = await world.json<Row>(["savepoint", "latest", "--name", "first"]);
    const atFirst = await patch();
    agent.stdin.write("\n");
    await seen("+y\n");
    const left = await world.json<Row>(["restore", "latest", "--to", first.savepoint]);
    agent.stdin.end("\n");
    await ended;
    assert.equal(Buffer.concat(said).toString("utf8"), "one\na.txt\n");
    assert.equal(await patch(), atFirst);

    await world.json<Row>(["restore", "latest", "--to", left.savepoint]);
    assert.match(await patch(), /\+two[^]*\+y/);
    assert.equal((await world.run(["commit", "latest"])).code, 0);
    assert.equal(readFileSync(path.join(world.workspace, "d/y"), "utf8"), "y\n");
  });

  it("restored while the agent runs, what it brings back is told under it", async () => {
    const world = newWorld({ "a.txt": "base\n" });
    const phases = "echo one > a.txt; rm -f b.txt; sleep 0.5; echo two > a.txt; echo > b.txt";
    const script = `while :; do ${phases}; sleep 2; done`;
    await world.json(["run", "--detach", "--", "sh", "-c", script]);
    const one = await eventually(async () => {
      const rows = await world.json<Row[]>(["savepoints", "latest"]);
      return rows.find(({ files }) => files === 1);
    }, "a savepoint between the two phases");
    // In the first phase there is nothing to bring back.
    const told = await eventually(async () => {
      await world.json<Row>(["restore", "latest", "--to", one.savepoint]);
      const entries = await world.entries();
      const restored = entries.filter(({ kind }) => kind === "savepoint.restored");
      const under = new Set(restored.map(({ seq }) => seq));
      const found = entries.flatMap((entry) =>
        entry.kind === "file.changed" && under.has(entry.parent ?? 0) ? [entry.path] : [],
      );
      return found.length > 0 ? found : undefined;
    }, "files that the restore brought back");
    assert.ok(
      told.every((path) => ["a.txt", "b.txt"].includes(path)),
      told.join(),
    );
    assert.equal((await world.run(["stop", "latest"])).code, 0);
  });

  it("are restored by id or by name; what does not exist, or is several, is told", async () => {
    const world = newWorld({ "a.txt": "base\n" });
    await world.run(["run", "--", "sh", "-c", "echo x > a.txt"]);
    const named: Row[] = [];
    for (const name of ["good\nname", "s1", "twice", "twice"])
      named.push(await world.json<Row>(["savepoint", "latest", `--name=${name}`]));
    const [good, asId, first, second] = named.map(({ savepoint }) => savepoint);
    assert.equal((await world.run(["restore", "latest", "--to", "good\nname"])).code, 0);
    assert.equal((await world.run(["restore", "latest", "--to", "s1"])).code, 0);
    const restored = (await world.entries()).filter(({ kind }) => kind === "savepoint.restored");
    assert.notEqual(asId, "s1");
    assert.deepEqual(
      restored.map((entry) => "to" in entry && entry.to),
      [good, "s1"],
    );
    const several = await world.run(["restore", "latest", "--to", "twice"]);
    assert.equal(several.code, 1);
    assert.match(several.stderr, new RegExp(`called "twice": ${first}, ${second} — .* id\n$`));
    const { code, stderr } = await world.run(["restore", "latest", "--to", "s-none"]);
    assert.equal(code, 1);
    assert.match(stderr, /s-none/);
  });
});
