import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { agentProgram } from "../../.config/setupAgents.mjs";
import type { Entry, EntryOf } from "../../src/core/journal/entry.ts";
import { hookProgram } from "../../src/node/sandbox/insidePaths.ts";
import { commandWorlds } from "../support/holdfastCommand.ts";
import { startScriptedModel, type ModelScript } from "../support/scriptedModel.ts";

const realKey = "sk-ant-real-key-that-must-never-be-inside";

function script(folder: string): ModelScript {
  const call = (
    name: string,
    input: Record<string, unknown>,
  ): { calls: { name: string; input: Record<string, unknown> }[] } => ({
    calls: [{ name, input }],
  });
  return {
    main: [
      { text: "First I read.", ...call("Read", { file_path: `${folder}/hello.txt` }) },
      call("Edit", { file_path: `${folder}/hello.txt`, old_string: "world", new_string: "there" }),
      call("Write", { file_path: `${folder}/new.txt`, content: "new\n" }),
      call("Bash", { command: "cp new.txt copy.txt && env | grep -i anthropic > env.txt" }),
      call("Bash", { command: "cat no-such-file" }),
      call("Bash", { command: "rm -rf forbidden" }),
      call("Agent", {
        description: "look around",
        prompt: "SUBTASK: look around",
        subagent_type: "general-purpose",
      }),
      { text: "All done." },
    ],
    sub: [call("Bash", { command: "echo from the sub-agent" }), { text: "Looked around." }],
  };
}

/** One tool call as the journal tells it, both of its entries. */
function callsOf(entries: readonly Entry[]): {
  readonly started: EntryOf<"tool.started">;
  readonly finished: EntryOf<"tool.finished"> | undefined;
}[] {
  const finished = entries.filter((entry) => entry.kind === "tool.finished");
  return entries
    .filter((entry) => entry.kind === "tool.started")
    .map((started) => ({ started, finished: finished.find(({ call }) => call === started.call) }));
}

describe("Claude Code in a transaction", () => {
  const newWorld = commandWorlds();

  it("is journaled by its own hooks and by what it did, and never sees its key", async () => {
    const world = newWorld({
      "hello.txt": "hello world\n",
      ".claude/settings.json": JSON.stringify({
        permissions: { deny: ["Bash(rm -rf forbidden)"] },
      }),
    });
    execFileSync("git", ["init", "-q"], { cwd: world.workspace });
    const model = await startScriptedModel(() => script(world.workspace));
    try {
      const { code, stdout, stderr } = await world.run(
        ["run", "--agent", "claude-code", "--prompt", "Do the work."],
        {
          env: {
            HOLDFAST_CLAUDE_CODE: agentProgram("claude-code"),
            ANTHROPIC_BASE_URL: model.url,
            ANTHROPIC_API_KEY: realKey,
          },
        },
      );
      assert.equal(code, 0, stderr);
      assert.match(stdout, /All done\./);
    } finally {
      await model.close();
    }
    const entries = await world.entries();
    const calls = callsOf(entries);
    const row = (tool: string, nth = 0): (typeof calls)[number] => {
      const found = calls.filter(({ started }) => started.tool === tool)[nth];
      assert.ok(found, `${tool} ${nth} is not in the journal`);
      return found;
    };

    assert.deepEqual(
      calls.map(({ started, finished }) => `${started.tool} ${finished?.status ?? "unfinished"}`),
      [
        "Read ok",
        "Edit ok",
        "Write ok",
        "Bash ok",
        "Bash failed",
        "Bash denied",
        "Agent ok",
        "Bash ok",
      ],
    );
    const read = row("Read");
    assert.deepEqual(read.started.input, { file_path: path.join(world.workspace, "hello.txt") });
    assert.match(JSON.stringify(read.finished?.output), /hello world/);
    assert.ok((read.finished?.durationMs ?? -1) >= 0);
    assert.equal(
      row("Bash", 3).started.parent,
      row("Agent").started.seq,
      "the sub-agent's call hangs under its start",
    );

    const first = (kind: Entry["kind"]): number =>
      entries.find((entry) => entry.kind === kind)?.seq ?? Infinity;
    assert.ok(
      first("request.started") < first("check.started"),
      "the base is checked once the agent has come up",
    );

    const files = entries.filter((entry) => entry.kind === "file.changed");
    const parentOf = (file: string): number | undefined =>
      files.find((entry) => entry.path === file)?.parent;
    assert.equal(parentOf("hello.txt"), row("Edit").started.seq);
    assert.equal(parentOf("new.txt"), row("Write").started.seq);
    assert.equal(parentOf("copy.txt"), row("Bash").started.seq);
    const execs = entries.filter((entry) => entry.kind === "process.exec");
    assert.ok(
      execs.some((entry) => entry.argv[0] === "cp" && entry.parent === row("Bash").started.seq),
    );

    const hooks = execs.filter(({ argv }) => argv.join(" ").includes(hookProgram));
    assert.deepEqual(
      [...new Set(hooks.map(({ argv }) => argv.join(" ")))],
      [hookProgram],
      "its hooks are started without a shell",
    );

    assert.deepEqual(
      execs.filter(({ argv }) => argv.includes("write-tree")),
      [],
      "it takes no picture of the tree for each command: what was observed tells the same",
    );

    const requests = entries.filter((entry) => entry.kind === "request.started");
    assert.ok(requests.length > 0);
    assert.deepEqual([...new Set(requests.map(({ traffic }) => traffic))], ["model"]);

    assert.ok(
      model.requests.some(({ credential }) => credential?.includes(realKey)),
      "the model got the real key",
    );
    assert.doesNotMatch(JSON.stringify(entries), new RegExp(realKey), "the journal never has it");
    const { files: changed } = await world.json<{ files: { path: string }[] }>([
      "changes",
      "latest",
    ]);
    assert.deepEqual(
      changed.map((file) => file.path),
      ["copy.txt", "env.txt", "hello.txt", "new.txt"],
    );
    const { stdout: patch } = await world.run(["diff", "latest", "--path", "env.txt"]);
    assert.match(patch, /HOLDFAST_SECRET_ANTHROPIC_API_KEY/);
    assert.doesNotMatch(patch, new RegExp(realKey));
    assert.equal(readFileSync(path.join(world.workspace, "hello.txt"), "utf8"), "hello world\n");
  }).timeout(120_000);
});
