import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { parseJson } from "../../src/base/jsonl.ts";
import type { Entry } from "../../src/core/journal/entry.ts";
import { AcpTranslator } from "../../src/node/agents/acpEvents.ts";
import { ToolCalls } from "../../src/runtime/toolCalls.ts";
import { MemoryJournal } from "../support/memoryJournal.ts";

/** One message of a recorded session: an update, or a question that was answered with yes. */
interface Message {
  readonly method?: string;
  readonly params?: { readonly update?: unknown; readonly toolCall?: unknown };
}

const update = (sessionUpdate: string, toolCallId: string, more: object = {}): Message => ({
  method: "session/update",
  params: { update: { sessionUpdate, toolCallId, ...more } },
});

const question = (toolCall: object): Message => ({
  method: "session/request_permission",
  params: { toolCall },
});

function recorded(name: string): Message[] {
  const file = path.resolve(import.meta.dirname, "../fixtures/agents", name);
  const lines = readFileSync(file, "utf8").trimEnd().split("\n");
  return lines.map((line) => parseJson(line) as Message);
}

function journalOf(messages: readonly Message[], granted = true): readonly Entry[] {
  const journal = new MemoryJournal();
  const calls = new ToolCalls(journal, () => undefined);
  const translator = new AcpTranslator();
  for (const { method, params } of messages) {
    const events =
      method === "session/request_permission"
        ? translator.permission(params?.toolCall, granted)
        : translator.translate(params?.update);
    for (const event of events) calls.take(event, "acp");
  }
  for (const event of translator.endTurn()) calls.take(event, "acp");
  calls.endAll();
  return journal.written;
}

/** The calls as `kind status: title, input`. */
function callsOf(entries: readonly Entry[]): string[] {
  return entries
    .filter((entry) => entry.kind === "tool.started")
    .map(({ call, toolKind, title, input }) => {
      const ends = entries.filter((entry) => entry.kind === "tool.finished" && entry.call === call);
      const statuses = ends.map((entry) => (entry.kind === "tool.finished" ? entry.status : ""));
      return `${toolKind} ${statuses.join()}: ${title}, ${JSON.stringify(input)}`;
    });
}

const play = (messages: readonly Message[], granted = true): string[] =>
  callsOf(journalOf(messages, granted));

const recordings = {
  "acp-gemini.jsonl": [
    'read ok: hello.txt, {"locations":[{"path":"/home/dev/project/hello.txt"}]}',
    'edit ok: hello.txt: world => there, {"locations":[{"path":"/home/dev/project/hello.txt"}]}',
    'edit ok: Writing to new.txt, {"locations":[{"path":"/home/dev/project/new.txt"}]}',
    "execute ok: ls -la, {}",
    "execute ok: rm -v new.txt, {}",
    "search ok: 'there' within ./, {}",
    "execute ok: curl -sS -m 3 http://127.0.0.1:1/, {}",
  ],
  "acp-opencode.jsonl": [
    'read ok: read /home/dev/project/hello.txt, {"filePath":"/home/dev/project/hello.txt"}',
    'edit ok: edit /home/dev/project/hello.txt, {"filePath":"/home/dev/project/hello.txt","oldString":"world","newString":"there"}',
    'edit ok: write /home/dev/project/new.txt, {"filePath":"/home/dev/project/new.txt","content":"new file\\n"}',
    'execute ok: ls -la, {"command":"ls -la","description":"List files","cwd":"/home/dev/project"}',
    'execute ok: rm -v new.txt, {"command":"rm -v new.txt","description":"Remove file","cwd":"/home/dev/project"}',
    'search ok: grep there, {"pattern":"there"}',
    'execute failed: curl -sS -m 3 http://127.0.0.1:1/, {"command":"curl -sS -m 3 http://127.0.0.1:1/","description":"Call network","cwd":"/home/dev/project"}',
    'think ok: sub task, {"description":"sub task","prompt":"SUBTASK: look around","subagent_type":"general"}',
  ],
  "acp-claude.jsonl": [
    'read ok: Read hello.txt, {"file_path":"/home/dev/project/hello.txt"}',
    'edit ok: Edit hello.txt, {"replace_all":false,"file_path":"/home/dev/project/hello.txt","old_string":"world","new_string":"there"}',
    'edit ok: Write new.txt, {"file_path":"/home/dev/project/new.txt","content":"new file\\n"}',
    'execute ok: ls -la, {"command":"ls -la","description":"List files"}',
    'execute ok: rm -v new.txt, {"command":"rm -v new.txt","description":"Remove file"}',
    'search failed: grep "there" /home/dev/project, {"pattern":"there","path":"/home/dev/project"}',
  ],
};

describe("updates of ACP sessions", () => {
  for (const [file, calls] of Object.entries(recordings)) {
    const messages = recorded(file);
    const told = play(messages);

    it(`${file}: the session's calls with their inputs`, () => {
      assert.deepEqual(told.slice(0, calls.length), calls);
    });

    it(`${file}: every message told twice changes nothing`, () => {
      assert.deepEqual(play(messages.flatMap((one) => [one, one])), told);
    });

    it(`${file}: cut anywhere, every call ends once`, () => {
      for (let cut = 0; cut <= messages.length; cut++) {
        const seen = play(messages.slice(0, cut));
        for (const call of seen) assert.match(call, /^\w+ (ok|failed|cancelled): /);
      }
    });

    it(`${file}: members of wrong types are as if left out, and no call is lost`, () => {
      const broken = messages.map(({ method, params }) => {
        const odd = { title: 7, kind: [], _meta: "odd", locations: 3 };
        const changed =
          params?.toolCall === undefined
            ? { update: { ...(params?.update as object), ...odd } }
            : { toolCall: { ...(params.toolCall as object), ...odd } };
        return { ...(method === undefined ? {} : { method }), params: changed };
      });
      assert.equal(play(broken).length, told.length);
    });
  }

  it("a call that is let run has begun, one that no way is offered to allow is denied", () => {
    const asked = question({ toolCallId: "a", title: "rm x", kind: "execute", status: "pending" });
    const begun = new AcpTranslator().permission(asked.params?.toolCall, true);
    assert.deepEqual(
      begun.map(({ type }) => type),
      ["toolStarted"],
    );
    assert.deepEqual(play([asked], false), ["execute denied: rm x, {}"]);
    assert.deepEqual(play([question({ title: "no id" })]), []);
  });

  it("what fails after the turn was cancelled was cancelled, the next turn is its own", () => {
    const translator = new AcpTranslator();
    const statuses = (...updates: Message[]): unknown[] =>
      updates
        .flatMap(({ params }) => translator.translate(params?.update))
        .flatMap((event) => (event.type === "toolFinished" ? [event.status] : []));
    const failed = { status: "failed" };
    const run = { status: "in_progress", kind: "execute" };
    translator.translate(update("tool_call", "a", run).params?.update);
    translator.translate(update("tool_call", "b", run).params?.update);
    translator.cancelling();
    assert.deepEqual(statuses(update("tool_call_update", "a", failed)), ["cancelled"]);
    const ends = translator.endTurn();
    assert.deepEqual(
      ends.map((event) => (event.type === "toolFinished" ? `${event.call} ${event.status}` : "")),
      ["b cancelled"],
    );
    assert.deepEqual(
      statuses(update("tool_call", "c", run), update("tool_call_update", "c", failed)),
      ["failed"],
    );
  });

  it("the last content is the output, also when it is none", () => {
    const outputOf = (...contents: unknown[]): unknown => {
      const messages = contents.map((content) => update("tool_call_update", "a", { content }));
      const end = update("tool_call_update", "a", { status: "completed" });
      const entries = journalOf([update("tool_call", "a"), ...messages, end]);
      const finished = entries.find((entry) => entry.kind === "tool.finished");
      return finished?.kind === "tool.finished" ? finished.output : undefined;
    };
    assert.deepEqual(outputOf(["one"], ["two"], undefined), ["two"]);
    assert.deepEqual(outputOf(["where it runs"], []), null);
  });

  it("an input that comes when the call runs already is kept, once", () => {
    const entries = journalOf([
      update("tool_call", "a", { status: "in_progress", title: "ls", kind: "execute" }),
      update("tool_call_update", "a", { rawInput: { command: "ls" } }),
      update("tool_call_update", "a", { rawInput: { command: "ls" } }),
    ]);
    const inputs = entries.filter(
      (entry) => entry.kind === "agent.event" && entry.event === "input",
    );
    assert.equal(inputs.length, 1);
    assert.match(JSON.stringify(inputs), /"call":"a","input":\{"command":"ls"\}/);
  });

  it("an id that is used again is another call; one that is only told again is not", () => {
    const again = (status: string | undefined, a: number): Message =>
      update("tool_call", "1", { title: "Edit", kind: "edit", status, rawInput: { a } });
    const done = update("tool_call_update", "1", { status: "completed" });
    const failed = update("tool_call_update", "1", { status: "failed" });
    assert.deepEqual(play([again("pending", 1), done, again("completed", 1), done]), [
      'edit ok: Edit, {"a":1}',
    ]);
    assert.deepEqual(play([again("pending", 1), done, again("pending", 2), failed]), [
      'edit ok: Edit, {"a":1}',
      'edit failed: Edit, {"a":2}',
    ]);
    assert.equal(play([done, again("pending", 1)]).length, 1, "a late beginning");
  });
});
