import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { liveSupervisor } from "../../src/node/state/supervisorLock.ts";
import {
  builtCommand,
  commandWorlds,
  eventually,
  type CommandWorld,
} from "../support/holdfastCommand.ts";

function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return ""; // the process has ended meanwhile
  }
}

/** Pids of the supervisors that were started with that world's home, whatever they do. */
function supervisorsOf({ home }: CommandWorld): readonly number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => textOf(`/proc/${pid}/cmdline`).includes("supervisor.cjs"))
    .filter((pid) => textOf(`/proc/${pid}/environ`).split("\0").includes(`HOLDFAST_HOME=${home}`))
    .map(Number);
}

describe("a supervisor that comes up beside the command", () => {
  const newWorld = commandWorlds();

  it("is the one that owns the transaction", async () => {
    const world = newWorld({ "a.txt": "one\n" });
    const running = spawn(process.execPath, [builtCommand, "run", "--", "cat"], {
      cwd: world.workspace,
      env: { ...process.env, HOLDFAST_HOME: world.home },
      stdio: ["pipe", "ignore", "ignore"],
    });
    const ended = new Promise((resolve) => running.once("close", resolve));
    const transactions = path.join(world.home, "transactions");
    const owner = await eventually(() => {
      const [name] = existsSync(transactions) ? readdirSync(transactions) : [];
      return name === undefined ? undefined : liveSupervisor(path.join(transactions, name));
    }, "the supervisor");
    assert.deepEqual(supervisorsOf(world), [owner]);
    // Any flag of V8 makes Node compile its own modules at each start.
    const words = textOf(`/proc/${owner}/cmdline`).split("\0");
    assert.deepEqual(
      words.filter((word) => word.startsWith("-")),
      [],
    );
    running.stdin.end();
    assert.equal(await ended, 0);
  });

  it("ends by itself and leaves nothing when the command refuses its words", async () => {
    const world = newWorld();
    for (const words of [["--nonsense"], ["--agent", "nobody"], []]) {
      const { code } = await world.run(["run", ...words]);
      assert.equal(code, 2, words.join(" "));
      await eventually(() => supervisorsOf(world).length === 0 || undefined, "its end");
    }
    assert.ok(!existsSync(world.home));
  });
});
