import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { parseJson } from "../../src/base/jsonl.ts";
import type { Entry } from "../../src/core/journal/entry.ts";
import { builtInAgents } from "../../src/node/agents/registry.ts";
import type { AgentAdapter } from "../../src/runtime/agent.ts";
import { ToolCalls } from "../../src/runtime/toolCalls.ts";
import { MemoryJournal } from "../support/memoryJournal.ts";

const fixtures = path.resolve(import.meta.dirname, "../fixtures/agents");

function agentOf(name: string): AgentAdapter {
  const found = builtInAgents.find((agent) => agent.name === name);
  assert.ok(found, name);
  return found;
}

/** What recorded lines become, as the agent socket would hand them over. */
function journalOf(agent: string, lines: readonly string[]): readonly Entry[] {
  const journal = new MemoryJournal();
  const calls = new ToolCalls(journal, () => undefined);
  const translator = agentOf(agent).translator();
  for (const line of lines) {
    const raw = parseJson(line) ?? { event: "unparsable", text: line };
    for (const event of translator.translate(raw)) calls.take(event, "hook");
  }
  calls.endAll();
  return journal.written;
}

/** The tool calls as lines, sub-agents' calls indented. */
function play(agent: string, lines: readonly string[]): string[] {
  const entries = journalOf(agent, lines);
  const finished = new Map<number, string>();
  for (const entry of entries) {
    if (entry.kind !== "tool.finished" || entry.parent === undefined) continue;
    assert.equal(finished.has(entry.parent), false, "a call ends once");
    finished.set(entry.parent, entry.status);
  }
  return entries
    .filter((entry) => entry.kind === "tool.started")
    .map((entry) => {
      const indent = entry.parent === undefined ? "" : "  ";
      return `${indent}${entry.tool} ${finished.get(entry.seq) ?? "?"}`;
    });
}

function recorded(name: string): string[] {
  return readFileSync(path.join(fixtures, name), "utf8").trimEnd().split("\n");
}

interface Recording {
  readonly agent: string;
  readonly file: string;
  readonly calls: readonly string[];
}

const recordings: readonly Recording[] = [
  {
    agent: "claude-code",
    file: "claude-hooks.jsonl",
    calls: [
      "Read ok",
      "Edit ok",
      "Write ok",
      "Bash ok",
      "Bash ok",
      "Grep failed",
      "Bash failed",
      "Agent ok",
      "  Bash ok",
    ],
  },
  {
    agent: "claude-code",
    file: "claude-deny.jsonl",
    calls: [
      "Read ok",
      "Edit ok",
      "Write ok",
      "Bash ok",
      "Bash ok",
      "Grep failed",
      "Bash denied",
      "Agent ok",
      "  Bash ok",
    ],
  },
  {
    agent: "claude-code",
    file: "claude-failures.jsonl",
    calls: [
      "Read ok",
      "Edit failed",
      "Edit failed",
      "Bash denied",
      "Grep failed",
      "Write failed",
      "Bash failed",
    ],
  },
  {
    agent: "codex",
    file: "codex-hooks.jsonl",
    calls: ["Bash ok", "apply_patch ok", "Bash ok", "Bash ok", "Bash ok"],
  },
  {
    agent: "codex",
    file: "codex-codemode.jsonl",
    calls: ["Bash ok", "apply_patch ok", "Bash ok", "Bash ok"],
  },
  {
    // From its own interface, which finds a title in a session beside.
    agent: "codex",
    file: "codex-failures.jsonl",
    calls: [
      "Bash ok",
      "apply_patch failed",
      "apply_patch failed",
      "Bash failed",
      "view_image failed",
      "collaborationspawn_agent ok",
      "Bash ok",
      "  apply_patch failed",
      "  Bash ok",
      "collaborationwait_agent ok",
    ],
  },
  {
    agent: "gemini",
    file: "gemini-hooks.jsonl",
    calls: [
      "read_file ok",
      "replace ok",
      "write_file ok",
      "run_shell_command ok",
      "run_shell_command ok",
      "grep_search ok",
      "run_shell_command failed",
    ],
  },
  {
    agent: "opencode",
    file: "opencode-plugin.jsonl",
    calls: [
      "read ok",
      "edit ok",
      "write ok",
      "bash ok",
      "bash ok",
      "grep ok",
      "bash denied",
      "task ok",
      "  bash ok",
    ],
  },
];

describe("events of agents", () => {
  for (const { agent, file, calls } of recordings) {
    const lines = recorded(file);

    it(`${file}: the session's calls, and a session that began`, () => {
      assert.deepEqual(play(agent, lines), calls);
      const events = journalOf(agent, lines).filter((entry) => entry.kind === "agent.event");
      assert.equal(events[0]?.event, "session");
    });

    it(`${file}: every event told twice changes nothing`, () => {
      // Without ids a repeated call cannot be told from a second one.
      if (agent === "gemini") return;
      const twice = lines.flatMap((line) => [line, line]);
      assert.deepEqual(play(agent, twice), calls);
    });

    it(`${file}: cut anywhere, also within a line, it is no error, and every call ends`, () => {
      for (let cut = 0; cut <= lines.length; cut++) {
        const torn = (lines[cut] ?? "").slice(0, 60);
        const seen = play(agent, [...lines.slice(0, cut), torn]);
        assert.deepEqual(
          seen.filter((call) => call.endsWith("?")),
          [],
        );
      }
    });

    it(`${file}: events that come late lose no call`, () => {
      const starts = lines.filter((line) => /PreToolUse|BeforeTool|execute\.before/.test(line));
      const others = lines.filter((line) => !starts.includes(line));
      const late = play(agent, [...others, ...starts]).map((call) => call.trim().split(" ")[0]);
      const names = calls.map((call) => call.trim().split(" ")[0]);
      // Gemini's late beginnings are calls of their own: nothing joins them but order.
      if (agent !== "gemini") assert.deepEqual(late.sort(), names.sort());
      else for (const name of names) assert.ok(late.includes(name));
    });

    it(`${file}: malformed lines between change nothing and are kept`, () => {
      const odd = ["{", "null", "7", '"text"', "[]", "{}", '{"at":1,"event":"Novelty","data":{}}'];
      const mixed = lines.flatMap((line, at) => [line, odd[at % odd.length] ?? ""]);
      assert.deepEqual(play(agent, mixed), calls);
      const kept = journalOf(agent, odd).filter((entry) => entry.kind === "agent.event");
      assert.equal(kept.length, odd.length);
    });
  }

  it("calls that Claude Code's own permissions denied", () => {
    const calls = play("claude-code", recorded("claude-tui.jsonl"));
    assert.deepEqual(calls.slice(-2), ["Bash denied", "Agent denied"]);
  });

  it("a command's failure and its answer may change places", () => {
    const lines = recorded("claude-failures.jsonl").filter((line) => line.includes("toolu_000013"));
    const [begun = "", failure = "", answer = ""] = lines;
    assert.match(failure, /PostToolUseFailure/);
    assert.deepEqual(play("claude-code", [begun, answer, failure]), ["Bash failed"]);
  });

  it("members of wrong types are as if left out, and no call is lost", () => {
    const data = {
      hook_event_name: "PreToolUse",
      tool_use_id: "a",
      tool_name: "Bash",
      agent_id: 7,
    };
    const end = { ...data, hook_event_name: "PostToolUse", duration_ms: "3", is_interrupt: 0 };
    const batch = { hook_event_name: "PostToolBatch", tool_calls: [7, { tool_use_id: "b" }] };
    const lines = [data, end, batch].map((one) => JSON.stringify({ at: 1, event: "", data: one }));
    assert.deepEqual(play("claude-code", lines), ["Bash ok"]);
  });

  it("a call of the plain form needs no input and no output", () => {
    const begun = { event: "tool.started", call: "1", tool: "Edit", title: "Edit a.ts" };
    const ended = { event: "tool.finished", call: "1", status: "ok" };
    const lines = [begun, ended].map((one) => JSON.stringify(one));
    assert.deepEqual(play("scripted", lines), ["Edit ok"]);
  });

  it("hook events without what joins them are kept raw", () => {
    for (const agent of ["claude-code", "codex"]) {
      for (const data of [
        { hook_event_name: 7 },
        { hook_event_name: "PreToolUse" },
        { hook_event_name: "PostToolUse", tool_use_id: 7 },
      ]) {
        const events = agentOf(agent).translator().translate({ at: 1, event: "", data });
        assert.deepEqual(
          events.map(({ type }) => type),
          ["other"],
          JSON.stringify(data),
        );
      }
    }
  });

  it("a patch of Codex's that failed ends when the model is asked again, not with the turn", () => {
    const entries = journalOf("codex", recorded("codex-failures.jsonl"));
    const starts = entries.filter((entry) => entry.kind === "tool.started");
    const endOf = (at: number): number =>
      entries.find((entry) => entry.kind === "tool.finished" && entry.call === starts[at]?.call)
        ?.seq ?? NaN;
    assert.deepEqual(
      starts.slice(2, 5).map(({ tool }) => tool),
      ["apply_patch", "Bash", "view_image"],
    );
    assert.ok(endOf(2) < (starts[3]?.seq ?? 0));
    assert.ok(endOf(4) < (starts[5]?.seq ?? 0));
  });

  it("commands that a person interrupts, or that take too long", () => {
    const said = (text: string): string =>
      `(no output)\n\n<shell_metadata>\n${text}\n</shell_metadata>`;
    const open = (callID: string, text: string): string[] =>
      ["before", "after"].map((when) => {
        const common = { tool: "bash", sessionID: "s", callID, args: { command: "sleep 9" } };
        const output = { output: said(text), metadata: { exit: null } };
        return JSON.stringify({
          at: 1,
          event: `tool.execute.${when}`,
          data: { ...common, output },
        });
      });
    const late = "bash tool terminated command after exceeding timeout 5 ms";
    const lines = [...open("a", "User aborted the command"), ...open("b", late)];
    assert.deepEqual(play("opencode", lines), ["bash cancelled", "bash failed"]);

    const words = "Command was cancelled by user before it could complete.";
    const answer = { llmContent: `<untrusted_context>\n${words}\n</untrusted_context>` };
    const gemini = ["BeforeTool", "AfterTool"].map((hook_event_name) => {
      const input = { tool_name: "run_shell_command", tool_input: { command: "sleep 9" } };
      return JSON.stringify({ at: 1, data: { hook_event_name, ...input, tool_response: answer } });
    });
    assert.deepEqual(play("gemini", gemini), ["run_shell_command cancelled"]);
  });

  it("equal calls of Gemini that run side by side end in the order in which they began", () => {
    const line = (event: string, input: object, response?: unknown): string =>
      JSON.stringify({
        at: 1,
        event,
        data: {
          hook_event_name: event,
          tool_name: "grep_search",
          tool_input: input,
          ...(response === undefined ? {} : { tool_response: response }),
        },
      });
    const entries = journalOf("gemini", [
      line("BeforeTool", { pattern: "a" }),
      line("BeforeTool", { pattern: "b" }),
      line("BeforeTool", { pattern: "a" }),
      line("AfterTool", { pattern: "b", context: 50 }, "answer b"),
      line("AfterTool", { pattern: "a", context: 50 }, "answer a, first"),
      line("AfterTool", { pattern: "a", context: 50 }, { error: { message: "no" } }),
    ]);
    const ends = entries.filter((entry) => entry.kind === "tool.finished");
    assert.deepEqual(
      ends.map(({ call, status }) => `${call} ${status}`),
      ["gemini-2 ok", "gemini-1 ok", "gemini-3 failed"],
    );
  });
});
