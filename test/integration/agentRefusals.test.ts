import assert from "node:assert/strict";
import { agentProgram, type RealAgent } from "../../.config/setupAgents.mjs";
import type { Entry } from "../../src/core/journal/entry.ts";
import { agentSessions } from "../support/agentSessions.ts";
import { callLines } from "../support/callLines.ts";
import { commandWorlds } from "../support/holdfastCommand.ts";
import { startScriptedModel } from "../support/scriptedModel.ts";
import type { ModelTurn } from "../support/scriptedModelWire.ts";

/** What an agent is led to try that it does not do itself: no file, no match, no such tool, wrong arguments, forbidden. */
interface Refusals {
  readonly turns: (folder: string) => readonly ModelTurn[];
  readonly files: Readonly<Record<string, string>>;
  /** The calls that the journal must have, `tool status`. Codex and Gemini CLI do not tell of calls that they could not make. */
  readonly calls: readonly string[];
}

const call = (name: string, input: Readonly<Record<string, unknown>> | string): ModelTurn => ({
  calls: [{ name, input }],
});

const absentPatch =
  "*** Begin Patch\n*** Update File: hello.txt\n@@\n-absent\n+there\n*** End Patch\n";

const refusals: Readonly<Record<RealAgent, Refusals>> = {
  "claude-code": {
    files: {
      ".claude/settings.json": JSON.stringify({ permissions: { deny: ["Bash(rm -rf gone)"] } }),
    },
    turns: (folder) => [
      call("Read", { file_path: `${folder}/absent.txt` }),
      call("Edit", { file_path: `${folder}/hello.txt`, old_string: "absent", new_string: "x" }),
      call("NoSuchTool", { a: 1 }),
      call("Read", { wrong: 1 }),
      call("Bash", { command: "rm -rf gone" }),
      call("Write", { file_path: "/etc/outside", content: "x" }),
    ],
    calls: [
      "Read failed",
      "Edit failed",
      "NoSuchTool failed",
      "Read failed",
      "Bash denied",
      "Write failed",
    ],
  },
  codex: {
    files: {},
    turns: (folder) => [
      call("apply_patch", absentPatch),
      call("apply_patch", "no patch"),
      call("no_such_tool", { a: 1 }),
      call("exec_command", { wrong: 1 }),
      call("view_image", { path: `${folder}/absent.png` }),
      call("exec_command", { cmd: "echo hi", workdir: "/absent" }),
    ],
    calls: ["apply_patch failed", "view_image failed", "Bash failed"],
  },
  opencode: {
    files: {
      "opencode.json": JSON.stringify({ permission: { bash: { "rm -rf gone": "deny" } } }),
    },
    turns: (folder) => [
      call("read", { filePath: `${folder}/absent.txt` }),
      call("edit", { filePath: `${folder}/hello.txt`, oldString: "absent", newString: "x" }),
      call("no_such_tool", { a: 1 }),
      call("read", { wrong: 1 }),
      call("bash", { command: "rm -rf gone", description: "Run" }),
      call("write", { filePath: "/etc/outside", content: "x" }),
    ],
    calls: [
      "read failed",
      "edit failed",
      "invalid failed",
      "read failed",
      "bash denied",
      "write failed",
    ],
  },
  gemini: {
    files: { ".gemini/settings.json": JSON.stringify({ tools: { exclude: ["write_file"] } }) },
    turns: (folder) => [
      call("read_file", { file_path: `${folder}/absent.txt` }),
      call("replace", {
        file_path: `${folder}/hello.txt`,
        instruction: "greet",
        old_string: "absent",
        new_string: "x",
      }),
      call("no_such_tool", { a: 1 }),
      call("read_file", { wrong: 1 }),
      call("read_file", { file_path: "/etc/passwd" }),
      call("write_file", { file_path: `${folder}/new.txt`, content: "x" }),
    ],
    calls: ["read_file failed", "replace failed"],
  },
};

describe("what an agent refuses or fails to do by itself", () => {
  const newWorld = commandWorlds();

  /** Plays these turns to the agent and gives its journal. */
  async function play(
    agent: RealAgent,
    files: Readonly<Record<string, string>>,
    turns: (folder: string) => readonly ModelTurn[],
  ): Promise<readonly Entry[]> {
    const world = newWorld({ "hello.txt": "hello world\n", ...files });
    const { args, env, variable } = agentSessions[agent];
    const model = await startScriptedModel({
      main: [...turns(world.workspace), { text: "All done." }],
    });
    try {
      const words = ["run", "--agent", agent, "--prompt", "Do the work.", ...args];
      const { code, stdout, stderr } = await world.run(words, {
        env: { [variable]: agentProgram(agent), ...env(model.url, "sk-not-real") },
      });
      assert.equal(code, 0, stderr);
      assert.match(stdout, /All done\./);
    } finally {
      await model.close();
    }
    return await world.entries();
  }

  for (const agent of Object.keys(refusals) as RealAgent[]) {
    const { files, turns, calls } = refusals[agent];
    it(`${agent}: is told as failed or denied, before the next call begins`, async () => {
      const entries = await play(agent, files, turns);
      assert.deepEqual(callLines(entries), calls);
      const ends = entries.filter((entry) => entry.kind === "tool.finished");
      const starts = entries.filter((entry) => entry.kind === "tool.started").slice(1);
      for (const [at, { seq, tool }] of starts.entries())
        assert.ok(
          (ends[at]?.seq ?? Infinity) < seq,
          `${tool} begins after the end of the one before`,
        );
      const changed = entries.filter((entry) => entry.kind === "file.changed");
      // OpenCode itself adds a line to its configuration.
      const paths = changed.map((entry) => entry.path).filter((file) => file !== "opencode.json");
      assert.deepEqual(paths, []);
    }).timeout(120_000);
  }

  it("codex: a command that runs on in the background ends with its process", async () => {
    const command = (cmd: string, wait: number): ModelTurn =>
      call("exec_command", { cmd, yield_time_ms: wait });
    const entries = await play("codex", {}, () => [
      command("sleep 2; echo late > late.txt; exit 3", 250),
      command("sleep 300", 250),
      command("sleep 4", 60_000),
    ]);
    assert.deepEqual(callLines(entries), ["Bash failed", "Bash cancelled", "Bash ok"]);
    const [first, , third] = entries.filter((entry) => entry.kind === "tool.started");
    const end = entries.find(
      (entry) => entry.kind === "tool.finished" && entry.call === first?.call,
    );
    assert.ok((end?.seq ?? 0) > (third?.seq ?? Infinity), "it ended while the third ran");
    const late = entries.find((entry) => entry.kind === "file.changed");
    assert.deepEqual([late?.path, late?.parent], ["late.txt", first?.seq]);
  }).timeout(120_000);
});
