import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { agentProgram, type RealAgent } from "../../.config/setupAgents.mjs";
import type { Entry } from "../../src/core/journal/entry.ts";
import { agentSessions } from "../support/agentSessions.ts";
import { commandWorlds, eventually, type CommandWorld } from "../support/holdfastCommand.ts";
import { testServerProgram } from "../support/mcpWorld.ts";
import { startScriptedModel, type ModelScript } from "../support/scriptedModel.ts";
import type { ModelCall, ModelTurn } from "../support/scriptedModelWire.ts";

const key = "value-that-only-the-server-has";

/** The person's own settings: the test server, with a log of what reaches it. */
function configure(world: CommandWorld): { readonly log: string } {
  const folder = path.join(world.home, "config", "holdfast");
  mkdirSync(folder, { recursive: true });
  const log = path.join(world.home, "server.log");
  const test = {
    command: process.execPath,
    args: [testServerProgram],
    env: { MCP_LOG: log, API_KEY: key },
  };
  writeFileSync(path.join(folder, "mcp.json"), JSON.stringify({ mcpServers: { test } }));
  return { log };
}

const call = (name: string, input: Record<string, unknown>): ModelScript["main"][number] => ({
  calls: [{ name, input }],
});

interface Hold {
  readonly hold: string;
  readonly summary: string;
  readonly reason: string;
}

async function nextHold(world: CommandWorld, before: readonly string[]): Promise<Hold> {
  return await eventually(
    async () => {
      const holds = await world.json<Hold[]>(["holds"]);
      return holds.find(({ hold }) => !before.includes(hold));
    },
    "a hold",
    90_000,
  );
}

describe("MCP calls of real agents", () => {
  const newWorld = commandWorlds();

  it("Claude Code: held, approved, denied, joined to its own calls; and Holdfast's own tools", async () => {
    const world = newWorld({
      "hello.txt": "hello\n",
      ".mcp.json": JSON.stringify({ mcpServers: { stranger: { command: "touch", args: ["/x"] } } }),
    });
    const { log } = configure(world);
    const model = await startScriptedModel({
      main: [
        call("Bash", { command: "echo more >> hello.txt; echo new > side.txt" }),
        call("mcp__holdfast__changes", {}),
        call("mcp__test__echo", { text: "first" }),
        call("mcp__test__env", { name: "API_KEY" }),
        call("mcp__test__wipe", { all: true }),
        call("mcp__holdfast__holds", {}),
        call("mcp__holdfast__diff", { path: "hello.txt" }),
        call("mcp__holdfast__task", {}),
        { text: "All done." },
      ],
    });
    try {
      const begun = await world.run(
        [
          "run",
          "--agent",
          "claude-code",
          "--task",
          "look around",
          "--limit",
          "records=5",
          "--prompt",
          "Go.",
          "--detach",
        ],
        {
          env: {
            HOLDFAST_CLAUDE_CODE: agentProgram("claude-code"),
            ANTHROPIC_BASE_URL: model.url,
            ANTHROPIC_API_KEY: "sk-ant-not-real",
          },
        },
      );
      assert.equal(begun.code, 0, begun.stderr);
      const first = await nextHold(world, []);
      assert.match(first.reason, /first use of the MCP server test/);
      await world.run(["approve", first.hold, "--for", "transaction"]);
      const second = await nextHold(world, [first.hold]);
      assert.equal(second.summary, "Calls env on the MCP server test");
      await world.run(["approve", second.hold]);
      const third = await nextHold(world, [first.hold, second.hold]);
      await world.run(["deny", third.hold, "--reason", "nothing is to be wiped"]);
      await eventually(
        async () => {
          const { state } = await world.json<{ state: string }>(["status", "latest"]);
          return state === "sealed" ? true : undefined;
        },
        "the end",
        60_000,
      );
    } finally {
      await model.close();
    }
    const entries = await world.entries();
    const outputs = new Map<string, string>();
    const seqs = new Map<string, number>();
    for (const entry of entries) {
      if (entry.kind === "tool.started") seqs.set(entry.tool, entry.seq);
      if (entry.kind === "tool.finished") {
        const started = entries.find(
          (one) => one.kind === "tool.started" && one.call === entry.call,
        );
        if (started?.kind === "tool.started")
          outputs.set(started.tool, JSON.stringify(entry.output));
      }
    }
    const parentOf = (kind: Entry["kind"], nth: number): number | undefined =>
      entries.filter((entry) => entry.kind === kind && entry.source === "mcp")[nth]?.parent;
    for (const [nth, tool] of ["echo", "env", "wipe"].entries()) {
      assert.ok(seqs.get(`mcp__test__${tool}`), tool);
      assert.equal(parentOf("request.started", nth), seqs.get(`mcp__test__${tool}`), tool);
      assert.equal(parentOf("hold.opened", nth), seqs.get(`mcp__test__${tool}`), tool);
    }
    assert.match(outputs.get("mcp__test__echo") ?? "", /echo:.*first/);
    assert.match(outputs.get("mcp__test__env") ?? "", /HOLDFAST_SECRET_MCP_TEST_API_KEY/);
    assert.match(outputs.get("mcp__test__wipe") ?? "", /denied it: nothing is to be wiped/);
    const reached = readFileSync(log, "utf8");
    assert.match(reached, /"name":"echo"/);
    assert.doesNotMatch(reached, /"name":"wipe"/);
    assert.match(outputs.get("mcp__holdfast__changes") ?? "", /hello\.txt.*side\.txt/s);
    assert.match(outputs.get("mcp__holdfast__holds") ?? "", /nothing is to be wiped/);
    assert.match(outputs.get("mcp__holdfast__diff") ?? "", /\+more/);
    assert.match(outputs.get("mcp__holdfast__task") ?? "", /look around.*records/s);
    assert.doesNotMatch(JSON.stringify(entries), new RegExp(key));
    assert.ok(entries.some((entry) => entry.kind === "alert" && entry.code === "mcp-offered"));
    assert.ok(
      !entries.some((entry) => entry.kind === "process.exec" && entry.argv.includes("/x")),
      "what the repository asks for does not run",
    );
  }).timeout(180_000);

  it("Claude Code keeps a savepoint, goes wrong and comes back, by itself", async () => {
    const world = newWorld({ "hello.txt": "hello\n" });
    const said = (): string => JSON.stringify(model.requests.at(-1)?.body);
    /** The id that the agent was told when it took its savepoint. */
    const kept = (): string => /\\"savepoint\\": \\"([^"\\]+)\\"/.exec(said())?.[1] ?? "";
    const model = await startScriptedModel(() => ({
      main: [
        call("Bash", { command: "echo right > hello.txt; echo right > side.txt" }),
        call("mcp__holdfast__savepoint", { name: "before the risk" }),
        call("Bash", { command: "echo wrong > hello.txt; rm side.txt; echo wrong > more.txt" }),
        call("mcp__holdfast__restore", { to: "no-such-savepoint" }),
        call("mcp__holdfast__restore", { to: kept() }),
        call("Bash", { command: "cat hello.txt side.txt > seen.txt" }),
        call("mcp__holdfast__savepoints", {}),
        { text: "All done." },
      ],
    }));
    try {
      const { code, stderr } = await world.run(
        ["run", "--agent", "claude-code", "--prompt", "Go."],
        {
          env: {
            HOLDFAST_CLAUDE_CODE: agentProgram("claude-code"),
            ANTHROPIC_BASE_URL: model.url,
            ANTHROPIC_API_KEY: "sk-ant-not-real",
          },
        },
      );
      assert.equal(code, 0, stderr);
    } finally {
      await model.close();
    }
    const entries = await world.entries();
    const taken = entries.find((entry) => entry.kind === "savepoint.taken" && entry.name);
    assert.ok(taken?.kind === "savepoint.taken");
    assert.deepEqual([taken.source, taken.name], ["mcp", "before the risk"]);
    const restored = entries.filter((entry) => entry.kind === "savepoint.restored");
    assert.deepEqual(
      restored.map(({ source, to }) => [source, to]),
      [["mcp", taken.savepoint]],
      "the one that is not there restored nothing",
    );
    const calls = entries.filter((entry) => entry.kind === "tool.started");
    const ends = calls
      .filter(({ tool }) => tool === "mcp__holdfast__restore")
      .map(({ call: id }) =>
        entries.find((entry) => entry.kind === "tool.finished" && entry.call === id),
      )
      .map((end) => (end?.kind === "tool.finished" ? end.status : undefined));
    assert.deepEqual(ends, ["failed", "ok"]);
    assert.match(said(), /before the risk/, "it is told of its savepoints");
    const { stdout: patch } = await world.run(["diff", "latest"]);
    assert.match(patch, /\+right\n/);
    assert.match(patch, /\+\+\+ b\/seen\.txt\n@@ -0,0 \+1,2 @@[^\n]*\n\+right\n\+right/);
    assert.doesNotMatch(patch, /wrong|more\.txt/);
  }).timeout(180_000);

  /** Each names a server's tools to its model in its own way. */
  const others: Readonly<Record<Exclude<RealAgent, "claude-code">, Omit<ModelCall, "input">>> = {
    codex: { name: "echo", namespace: "mcp__test" },
    opencode: { name: "test_echo" },
    gemini: { name: "mcp_test_echo" },
  };
  for (const agent of Object.keys(others) as (keyof typeof others)[]) {
    const { variable, env, args } = agentSessions[agent];
    const echo = (text: string): ModelTurn => ({ calls: [{ ...others[agent], input: { text } }] });
    it(`${agent}: held, approved and denied`, async () => {
      const world = newWorld({ "hello.txt": "hello\n" });
      const { log } = configure(world);
      // Codex starts its first turn before its servers have told their tools: such a call is made again.
      const unknown = (): number =>
        JSON.stringify(model.requests.at(-1)?.body).split('"unsupported call').length - 1;
      const model = await startScriptedModel(() => ({
        main: [
          ...Array.from({ length: 1 + unknown() }, () => echo("one")),
          echo("two"),
          { text: "All done." },
        ],
      }));
      try {
        const words = ["run", "--agent", agent, "--prompt", "Go.", "--detach", ...args];
        const given = { [variable]: agentProgram(agent), ...env(model.url, "sk-not-real") };
        const begun = await world.run(words, { env: given });
        assert.equal(begun.code, 0, begun.stderr);
        const first = await nextHold(world, []);
        assert.equal(first.summary, "Calls echo on the MCP server test");
        await world.run(["approve", first.hold]);
        const second = await nextHold(world, [first.hold]);
        await world.run(["deny", second.hold]);
        await eventually(
          async () => {
            const { state } = await world.json<{ state: string }>(["status", "latest"]);
            return state === "sealed" ? true : undefined;
          },
          "the end",
          60_000,
        );
      } finally {
        await model.close();
      }
      const reached = readFileSync(log, "utf8");
      assert.match(reached, /"text":"one"/);
      assert.doesNotMatch(reached, /"text":"two"/);
      const entries = await world.entries();
      const asked = entries.filter(
        (entry) => entry.kind === "request.started" && entry.source === "mcp",
      );
      assert.equal(asked.length, 2);
      for (const request of asked) assert.ok(request.parent, "it hangs under the agent's own call");
    }).timeout(180_000);
  }
});
