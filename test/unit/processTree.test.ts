import assert from "node:assert/strict";
import type { Entry } from "../../src/core/journal/entry.ts";
import type { AgentEvent } from "../../src/runtime/agent.ts";
import type { SandboxEvent } from "../../src/runtime/ports.ts";
import { ProcessTree } from "../../src/runtime/processTree.ts";
import { ToolCalls } from "../../src/runtime/toolCalls.ts";
import { MemoryJournal } from "../support/memoryJournal.ts";

const exec = (pid: number, ppid: number, ...argv: string[]): SandboxEvent => ({
  type: "exec",
  pid,
  ppid,
  argv,
  cwd: "/w",
  program: `/bin/${argv[0] ?? ""}`,
  atMs: pid,
});
const exit = (pid: number, exitCode = 0): SandboxEvent => ({
  type: "exit",
  pid,
  exitCode,
  atMs: pid + 50,
});

function world(callPerChild: boolean): {
  journal: MemoryJournal;
  calls: ToolCalls;
  tree: ProcessTree;
} {
  const journal = new MemoryJournal();
  const calls = new ToolCalls(journal, () => undefined);
  return { journal, calls, tree: new ProcessTree(journal, calls, callPerChild, "/run/tell hook") };
}

const words = (entry: Entry): string => (entry.kind === "process.exec" ? entry.argv.join(" ") : "");

describe("process tree", () => {
  it("a process and its descendants hang under the call that was running", () => {
    const { journal, calls, tree } = world(false);
    tree.take(exec(10, 1, "agent"));
    calls.take(
      {
        type: "toolStarted",
        call: "a",
        tool: "Bash",
        toolKind: "execute",
        title: "",
        input: { command: "make all" },
      },
      "hook",
    );
    tree.take(exec(11, 10, "sh", "-c", "make all"));
    tree.take(exec(12, 11, "make", "all"));
    calls.take({ type: "toolFinished", call: "a", status: "ok", output: null }, "hook");
    tree.take(exec(13, 12, "cc", "late.c"));
    assert.deepEqual(journal.lines("process.exec", words), [
      "-: agent",
      "2: sh -c make all",
      "2: make all",
      "2: cc late.c",
    ]);
  });

  it("of commands side by side, each its own, however the agent wraps and quotes it", () => {
    const { journal, calls, tree } = world(false);
    tree.take(exec(10, 1, "agent"));
    const commands = ["echo 'one'", "echo 'one'; exit 3", "make", "make"];
    for (const [at, cmd] of commands.entries()) {
      const title = `Bash ${cmd}`;
      const started = { tool: "Bash", toolKind: "execute", title, input: { cmd } } as const;
      calls.take({ type: "toolStarted", call: `${at}`, ...started }, "hook");
    }
    const quoted = `eval "\${SET-}"; exec bash -c 'echo '"'"'one'"'"'; exit 3'`;
    tree.take(exec(11, 10, "/proc/self/exe", "--setup", "/w", "bash", "-c", quoted));
    tree.take(exec(12, 10, "bash", "-c", "{ echo 'one'; }; pgrep -g 0"));
    tree.take(exec(13, 10, "bash", "-c", "make"));
    tree.take(exec(14, 10, "bash", "-c", "make"));
    assert.deepEqual(
      journal.written.filter(({ kind }) => kind === "process.exec").map(({ parent }) => parent),
      [undefined, 3, 2, 5, 4],
    );
    for (const call of ["0", "1", "2", "3"])
      calls.take({ type: "toolFinished", call, status: "ran", output: "" }, "hook");
    tree.take(exit(12, 0));
    tree.take(exit(11, 3));
    tree.take(exit(13, 2));
    tree.take(exit(14, 0));
    assert.deepEqual(
      journal.written.flatMap((one) =>
        one.kind === "tool.finished" ? [`${one.call} ${one.status}`] : [],
      ),
      ["0 ok", "1 failed", "3 failed", "2 ok"],
    );
  });

  it("a call ends by the process of its command, not by what the agent starts before it", () => {
    const { journal, calls, tree } = world(false);
    tree.take(exec(10, 1, "agent"));
    const input = { command: "make all" };
    const started = { tool: "Bash", toolKind: "execute", title: "Bash", input } as const;
    calls.take({ type: "toolStarted", call: "a", ...started }, "hook");
    tree.take(exec(11, 10, "bash", "-c", "env"));
    tree.take(exit(11, 0));
    tree.take(exec(12, 10, "bash", "-c", "source profile; eval 'make all'"));
    tree.take(exec(13, 10, "date"));
    tree.take(exit(13, 0));
    calls.take({ type: "toolFinished", call: "a", status: "background", output: "" }, "hook");
    assert.equal(calls.running().length, 1);
    tree.take(exit(12, 3));
    calls.endAll();
    const ends = journal.written.flatMap((one) =>
      one.kind === "tool.finished" ? [one.status] : [],
    );
    assert.deepEqual(ends, ["failed"]);
  });

  it("of calls side by side, the one whose input names the arguments", () => {
    const { journal, calls, tree } = world(false);
    tree.take(exec(10, 1, "agent"));
    for (const command of ["make first", "make second"]) {
      calls.take(
        {
          type: "toolStarted",
          call: command,
          tool: "Bash",
          toolKind: "execute",
          title: "",
          input: { command },
        },
        "hook",
      );
    }
    tree.take(exec(11, 10, "sh", "-c", "make first"));
    tree.take(exec(12, 10, "sh", "-c", "make second"));
    assert.deepEqual(journal.lines("process.exec", words).slice(1), [
      "2: sh -c make first",
      "3: sh -c make second",
    ]);
  });

  describe("what the kernel tells late", () => {
    const start = (call: string, atMs: number | undefined, input: string): AgentEvent => ({
      type: "toolStarted",
      ...{ call, tool: "Bash", toolKind: "execute", title: "", input },
      ...(atMs === undefined ? {} : { atMs }),
    });
    const end = (call: string, atMs: number): AgentEvent => ({
      type: "toolFinished",
      ...{ call, status: "ok", output: null, atMs },
    });
    const at = (pid: number, atMs: number, ...argv: string[]): SandboxEvent => ({
      ...exec(pid, 10, ...argv),
      atMs,
    });

    it("is laid to the call that ran then, though it has ended and others run", () => {
      const { journal, calls, tree } = world(false);
      tree.take(exec(10, 1, "agent"));
      calls.take(start("first", 1000, "look around"), "hook");
      calls.take(end("first", 1030), "hook");
      calls.take(start("second", 1031, "make all"), "hook");
      tree.take(at(11, 1002, "grep", "-rn", "TODO"));
      tree.take(at(12, 1033, "make"));
      assert.deepEqual(journal.lines("process.exec", words).slice(1), [
        "2: grep -rn TODO",
        "4: make",
      ]);
    });

    it("is laid to nobody when no call ran", () => {
      const { journal, calls, tree } = world(false);
      tree.take(exec(10, 1, "agent"));
      calls.take(start("first", 1000, "look around"), "hook");
      calls.take(end("first", 1030), "hook");
      calls.take(start("second", 1060, "make all"), "hook");
      tree.take(at(11, 1045, "git", "rev-parse"));
      assert.deepEqual(journal.lines("process.exec", words).slice(1), ["-: git rev-parse"]);
    });

    it("goes by what the call names before it goes by time", () => {
      const { journal, calls, tree } = world(false);
      tree.take(exec(10, 1, "agent"));
      calls.take(start("first", 1000, "make all"), "hook");
      calls.take(start("second", 1001, "make check"), "hook");
      calls.take(end("first", 1030), "hook");
      tree.take(at(11, 1010, "sh", "-c", "make all"));
      assert.deepEqual(journal.lines("process.exec", words).slice(1), ["2: sh -c make all"]);
    });

    it("a beginning without a time may have been heard late", () => {
      const { journal, calls, tree } = world(false);
      tree.take(exec(10, 1, "agent"));
      calls.take(start("first", undefined, "look around"), "acp");
      tree.take(at(11, 1000, "grep"));
      assert.deepEqual(journal.lines("process.exec", words).slice(1), ["2: grep"]);
    });
  });

  it("with agent command every child of the command is a call of its own, with its exit code", () => {
    const { journal, tree } = world(true);
    tree.take(exec(10, 1, "sh", "script"));
    tree.take(exec(11, 10, "cp", "a", "b"));
    tree.take(exit(11));
    tree.take(exec(12, 10, "make"));
    tree.take(exec(13, 12, "cc"));
    tree.take(exit(13, 1));
    tree.take(exit(12, 2));
    tree.take(exit(10, 2));
    const calls = journal.written.filter((entry) => entry.kind === "tool.finished");
    assert.deepEqual(
      calls.map(({ status, durationMs }) => [status, durationMs]),
      [
        ["ok", 50],
        ["failed", 50],
      ],
    );
    const make = journal.written.find(
      (entry) => entry.kind === "tool.started" && entry.tool === "make",
    );
    assert.deepEqual(journal.lines("process.exec", words).at(-1), `${make?.seq}: cc`);
  });

  it("a pid that is used again is another process", () => {
    const { journal, calls, tree } = world(false);
    tree.take(exec(10, 1, "agent"));
    calls.take(
      {
        type: "toolStarted",
        call: "a",
        tool: "Bash",
        toolKind: "execute",
        title: "",
        input: "one",
      },
      "hook",
    );
    tree.take(exec(11, 10, "one"));
    tree.take(exit(11));
    calls.take({ type: "toolFinished", call: "a", status: "ok", output: null }, "hook");
    tree.take(exec(11, 10, "two"));
    assert.deepEqual(journal.lines("process.exec", words).slice(1), ["2: one", "-: two"]);
  });

  it("cuts what is very long and says how much", () => {
    const { journal, tree } = world(false);
    tree.take(exec(10, 1, "x".repeat(5000), ...Array.from({ length: 400 }, String)));
    const [entry] = journal.written;
    assert.ok(entry?.kind === "process.exec");
    assert.match(entry.argv[0]!, /…\(\+904\)$/);
    assert.equal(entry.argv.at(-1), "…(+145 arguments)");
  });
});
