import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import path from "node:path";
import { listenToAgent } from "../../src/supervisor/agentSocket.ts";
import { temporaryFolders } from "../support/temporaryFolder.ts";

describe("the socket that the agent tells its events to", () => {
  const newFolder = temporaryFolders();

  /** Sends lines from another process, each over a connection of its own, while this one cannot listen. */
  function tell(door: string, ...lines: readonly string[]): void {
    const program =
      'const [file, ...lines] = process.argv.slice(1); let left = lines.length; const sent = () => { if (--left === 0) process.exit(0); }; for (const line of lines) require("node:net").connect(file).end(line, sent);';
    execFileSync(process.execPath, ["-e", program, path.join(door, "agent.sock"), ...lines]);
  }

  it("hears what was sent before it is closed, also when nobody had time to listen", async () => {
    const door = newFolder();
    const heard: unknown[] = [];
    const socket = await listenToAgent(door, (event) => heard.push(event));
    tell(door, '{"event":"first"}\n', '{"event":"second"}', "no JSON\n");
    await socket.close();
    const told = heard.map((event) => (event as { event: string }).event);
    assert.deepEqual(told.sort(), ["first", "second", "unparsable"]);
  });

  it("keeps of an event that is nested without end what is not too deep, and hears what follows", async () => {
    const door = newFolder();
    const heard: unknown[] = [];
    const socket = await listenToAgent(door, (event) =>
      heard.push(JSON.parse(JSON.stringify(event))),
    );
    for (const [open, close] of [
      ["[", "]"],
      ['{"a":', "}"],
    ] as const) {
      const input = `${open.repeat(10_000)}1${close.repeat(10_000)}`;
      tell(
        door,
        `{"event":"tool.started","call":"7","input":${input}}\n${input}\n{"event":"next"}\n`,
      );
    }
    await socket.close();
    assert.equal(heard.length, 6);
    for (const at of [0, 3]) {
      const { call, input } = heard[at] as { call: string; input: unknown };
      assert.equal(call, "7");
      assert.match(JSON.stringify(input), /nested more than 500 levels deep: left out/);
      assert.match(JSON.stringify(heard[at + 1]), /left out/);
      assert.deepEqual(heard[at + 2], { event: "next" });
    }
  });

  it("closes also when its file is gone, or its path is long", async () => {
    const door = path.join(newFolder(), "a".repeat(100), "b".repeat(100));
    mkdirSync(door, { recursive: true });
    const long = await listenToAgent(door, () => undefined);
    await long.close();
    const gone = await listenToAgent(door, () => undefined);
    rmSync(path.join(door, "agent.sock"));
    await gone.close();
  });
});
