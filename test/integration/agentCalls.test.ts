import assert from "node:assert/strict";
import { agentProgram, type RealAgent } from "../../.config/setupAgents.mjs";
import type { Entry } from "../../src/core/journal/entry.ts";
import { agentSessions } from "../support/agentSessions.ts";
import { callLines } from "../support/callLines.ts";
import { commandWorlds, eventually, type CommandWorld } from "../support/holdfastCommand.ts";
import { startScriptedModel } from "../support/scriptedModel.ts";
import type { ModelTurn } from "../support/scriptedModelWire.ts";

const call = (name: string, input: Readonly<Record<string, unknown>>): ModelTurn => ({
  calls: [{ name, input }],
});

const inBackground = "sleep 2; echo late > late.txt; exit 3";

/** A command that the agent goes on without; OpenCode has none. */
const background: Readonly<Partial<Record<RealAgent, ModelTurn>>> = {
  "claude-code": call("Bash", { command: inBackground, run_in_background: true }),
  codex: call("exec_command", { cmd: inBackground, yield_time_ms: 250 }),
  gemini: call("run_shell_command", { command: inBackground, is_background: true }),
};

const page = "https://held.example/page";

/** Reading a page. Codex has its maker do it, and so has Gemini CLI: no request of their own is seen. */
const pages: Readonly<Partial<Record<RealAgent, ModelTurn>>> = {
  "claude-code": call("WebFetch", { url: page, prompt: "What is there?" }),
  opencode: call("webfetch", { url: page, format: "text" }),
};

const images: Readonly<Record<RealAgent, (file: string) => ModelTurn>> = {
  "claude-code": (file) => call("Read", { file_path: file }),
  codex: (file) => call("view_image", { path: file }),
  opencode: (file) => call("read", { filePath: file }),
  gemini: (file) => call("read_file", { file_path: file }),
};

const pixel =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

describe("calls of real agents", () => {
  const newWorld = commandWorlds();

  /** Plays these turns to the agent, while `meanwhile` goes on. */
  async function play(
    world: CommandWorld,
    agent: RealAgent,
    turns: readonly ModelTurn[],
    meanwhile: () => Promise<void> = () => Promise.resolve(),
  ): Promise<readonly Entry[]> {
    const { args, env, variable } = agentSessions[agent];
    const model = await startScriptedModel({ main: [...turns, { text: "All done." }] });
    try {
      const words = ["run", "--agent", agent, "--prompt", "Do the work.", ...args];
      const running = world.run(words, {
        env: { [variable]: agentProgram(agent), ...env(model.url, "sk-not-real") },
      });
      await meanwhile();
      const { stdout, stderr } = await running;
      assert.match(stdout, /All done\./, stderr);
    } finally {
      await model.close();
    }
    return await world.entries();
  }

  /** By file: what the call said that it is laid to. */
  function causes(entries: readonly Entry[]): Readonly<Record<string, string>> {
    const started = entries.filter((entry) => entry.kind === "tool.started");
    const changed = entries.filter((entry) => entry.kind === "file.changed");
    return Object.fromEntries(
      changed.map(({ path, parent }) => [
        path,
        JSON.stringify(started.find(({ seq }) => seq === parent)?.input ?? null),
      ]),
    );
  }

  for (const agent of Object.keys(agentSessions) as RealAgent[]) {
    const { shell } = agentSessions[agent];

    it(`${agent}: two commands of one turn, each with its own end and files`, async () => {
      const world = newWorld({ "hello.txt": "hello\n" });
      const one = shell("sleep 1; echo 'one' > one.txt");
      const two = shell("sleep 1; echo two > two.txt; exit 3");
      const both = { calls: [...(one.calls ?? []), ...(two.calls ?? [])] };
      const entries = await play(world, agent, [both]);
      const statuses = entries
        .filter((entry) => entry.kind === "tool.started")
        .map(({ call: id, input }) => {
          const end = entries.find((entry) => entry.kind === "tool.finished" && entry.call === id);
          const name = /(one|two)\.txt/.exec(JSON.stringify(input))?.[1] ?? "";
          return `${name} ${end?.kind === "tool.finished" ? end.status : "unfinished"}`;
        });
      assert.deepEqual(statuses.sort(), ["one ok", "two failed"]);
      const { "one.txt": first = "", "two.txt": second = "" } = causes(entries);
      assert.match(first, /one\.txt/);
      assert.match(second, /two\.txt/);
    }).timeout(120_000);

    it(`${agent}: odd bytes, megabytes and an image as answers`, async () => {
      const world = newWorld({ "hello.txt": "hello\n" });
      const image = `${world.workspace}/pixel.png`;
      const entries = await play(world, agent, [
        shell("printf '\\033[31mred\\033[0m \\342\\202\\254 \\001 \\377\\376 end\\r\\n'"),
        shell("yes 0123456789abcdef | head -c 6000000"),
        shell(`echo ${pixel} | base64 -d > pixel.png`),
        images[agent](image),
      ]);
      assert.deepEqual(
        callLines(entries).map((line) => line.split(" ")[1]),
        ["ok", "ok", "ok", "ok"],
      );
      const outputs = entries.flatMap((entry) =>
        entry.kind === "tool.finished" ? [JSON.stringify(entry.output)] : [],
      );
      assert.match(outputs[0] ?? "", /red.* € .* end/);
      assert.match(outputs[1] ?? "", /"\$blob".*0123456789abcdef/);
      assert.deepEqual(Object.keys(causes(entries)), ["pixel.png"]);
      const verified = await world.run(["journal", "verify", "latest"]);
      assert.equal(verified.code, 0, verified.stderr);
    }).timeout(120_000);

    const left = background[agent];
    if (left !== undefined)
      it(`${agent}: a command in the background ends with its process, with its own files`, async () => {
        const world = newWorld({ "hello.txt": "hello\n" });
        const wait = shell("sleep 4; echo after > after.txt");
        const entries = await play(world, agent, [left, wait]);
        assert.deepEqual(
          callLines(entries).map((line) => line.split(" ")[1]),
          ["failed", "ok"],
        );
        const order = entries.flatMap((entry) =>
          entry.kind === "tool.started" || entry.kind === "tool.finished" ? [entry.kind] : [],
        );
        const begun = "tool.started";
        assert.deepEqual(order, [begun, begun, "tool.finished", "tool.finished"]);
        const { "late.txt": late = "", "after.txt": after = "" } = causes(entries);
        assert.match(late, /late\.txt/);
        assert.match(after, /after\.txt/);
      }).timeout(120_000);

    const read = pages[agent];
    if (read !== undefined)
      it(`${agent}: reading a page is held, as one call to where the page is`, async () => {
        const world = newWorld({ "hello.txt": "hello\n" });
        const entries = await play(world, agent, [read], async () => {
          const hold = await eventually(
            async () => (await world.json<{ hold: string }[]>(["holds"]))[0]?.hold,
            "a held call",
            90_000,
          );
          assert.equal((await world.run(["deny", hold, "--reason", "not this one"])).code, 0);
        });
        const started = entries.filter((entry) => entry.kind === "tool.started");
        const opened = entries.filter((entry) => entry.kind === "hold.opened");
        assert.deepEqual(
          opened.map(({ parent }) => parent),
          started.map(({ seq }) => seq),
        );
        const request = entries.find(
          (entry) => entry.kind === "request.started" && entry.request === opened[0]?.request,
        );
        assert.deepEqual(request?.kind === "request.started" ? [request.host, request.path] : [], [
          "held.example",
          "/page",
        ]);
      }).timeout(120_000);
  }
});
