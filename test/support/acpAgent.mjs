// A small agent that speaks the Agent Client Protocol, made with the official SDK. Each prompt is a list of words that say
// what to do, one after the other; `word=about` says what with.
import { execFile, execFileSync } from "node:child_process";
import { appendFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { Readable, Writable } from "node:stream";
import { promisify } from "node:util";
import { agent, methods, ndJsonStream, PROTOCOL_VERSION } from "@agentclientprotocol/sdk";

let calls = 0;
let prompts = 0;
let cancelled = false;
let session;

/** What follows such a word on the command line; undefined without it. */
const option = (name) => process.argv.find((word) => word.startsWith(name))?.slice(name.length);

/** With `--silent=METHOD` that method is never answered; with `--first=URL` each is, after something was asked there. */
async function beforeAnswering(method) {
  if (option("--silent=") === method) await new Promise(() => undefined);
  const url = option("--first=");
  const curl = ["--silent", `${url}/${method}`];
  if (url !== undefined) await promisify(execFile)("curl", curl).catch(() => undefined);
}

const acts = {
  async say({ update }) {
    for (const text of ["Hello ", "from ", "the agent."])
      await update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
  },
  async think({ update }) {
    await update({ sessionUpdate: "agent_thought_chunk", content: { type: "text", text: "Hm." } });
  },
  async plan({ update }) {
    const entries = [
      { content: "Look", priority: "high", status: "completed" },
      { content: "Write", priority: "medium", status: "in_progress" },
    ];
    await update({ sessionUpdate: "plan", entries });
  },
  async write({ update, client }) {
    const toolCallId = `call-${++calls}`;
    const file = path.join(session.cwd, `written-${calls}.txt`);
    const call = { toolCallId, title: `Write ${path.basename(file)}`, kind: "edit" };
    await update({ sessionUpdate: "tool_call", ...call, status: "pending", rawInput: {} });
    const { outcome } = await client.request(methods.client.session.requestPermission, {
      sessionId: session.id,
      toolCall: { toolCallId, title: call.title, rawInput: { file } },
      options: [
        { optionId: "always", name: "Always", kind: "allow_always" },
        { optionId: "once", name: "Once", kind: "allow_once" },
        { optionId: "no", name: "No", kind: "reject_once" },
      ],
    });
    if (outcome.outcome !== "selected" || outcome.optionId !== "once") throw new Error("denied");
    writeFileSync(file, "written\n");
    const done = { toolCallId, status: "completed", rawOutput: { bytes: 8 } };
    await update({ sessionUpdate: "tool_call_update", ...done });
  },
  async run({ update }) {
    const toolCallId = `call-${++calls}`;
    const rawInput = { command: "touch ran.txt" };
    const call = { toolCallId, title: "touch ran.txt", kind: "execute", status: "in_progress" };
    await update({ sessionUpdate: "tool_call", ...call, rawInput });
    // As long as any real agent takes from saying to doing.
    await new Promise((resolve) => setTimeout(resolve, 100));
    execFileSync("touch", ["ran.txt"], { cwd: session.cwd });
    await update({ sessionUpdate: "tool_call_update", toolCallId, status: "completed" });
  },
  // It asks for something, and says so when it waits for the answer already.
  async ask({ update, about: url }) {
    const toolCallId = `call-${++calls}`;
    const curl = ["--silent", "--max-time", "60", url];
    const asked = promisify(execFile)("curl", curl).catch((error) => error);
    await new Promise((resolve) => setTimeout(resolve, 100));
    const call = { toolCallId, title: `Ask ${url}`, kind: "fetch", status: "in_progress" };
    await update({ sessionUpdate: "tool_call", ...call, rawInput: { url } });
    const { stdout } = await asked;
    await update({
      sessionUpdate: "tool_call_update",
      toolCallId,
      status: "completed",
      rawOutput: { stdout },
    });
  },
  async fail({ update }) {
    const toolCallId = `call-${++calls}`;
    await update({ sessionUpdate: "tool_call", toolCallId, title: "Fails", kind: "fetch" });
    await update({ sessionUpdate: "tool_call_update", toolCallId, status: "failed" });
  },
  async count({ update }) {
    const text = `This is prompt ${prompts}.`;
    await update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
  },
  async servers({ update }) {
    const text = JSON.stringify(session.mcpServers);
    await update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
  },
  async files({ update, client }) {
    const asked = { sessionId: session.id, path: path.join(session.cwd, "hello.txt") };
    const text = await client.request(methods.client.fs.readTextFile, asked).then(
      ({ content }) => content,
      (error) => `refused ${error.code}`,
    );
    await update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
  },
  // Kinds that no client knows, and what is no update at all.
  async odd() {
    const raw = (params) =>
      process.stdout.write(
        `${JSON.stringify({ jsonrpc: "2.0", method: "session/update", params })}\n`,
      );
    raw({ sessionId: session.id, update: { sessionUpdate: "dance", steps: 3 } });
    raw({ sessionId: session.id, update: { sessionUpdate: "tool_call" } });
    raw({ sessionId: session.id, update: 7 });
    process.stdout.write("this is no message\n");
    process.stdout.write(
      `${JSON.stringify({ jsonrpc: "2.0", method: "_odd/thing", params: {} })}\n`,
    );
    await new Promise((resolve) => setTimeout(resolve, 100));
  },
  // Options of kinds that are new, and none at all; then what would steer a terminal.
  async oddAsk({ update, client }) {
    const options = [
      { optionId: "new", name: "For this session", kind: "allow_session" },
      { optionId: "once", name: "Once", kind: "allow_once" },
    ];
    for (const offered of [options, options.slice(0, 1), undefined]) {
      const toolCall = { toolCallId: `call-${++calls}`, title: "\u001b[2JOdd" };
      const asked = { sessionId: session.id, toolCall, options: offered };
      const { outcome } = await client.request(methods.client.session.requestPermission, asked);
      const text = `\u001b]52;c;AA==\u0007${outcome.optionId ?? outcome.outcome} `;
      await update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
    }
  },
  // Asks for more after it was told to end its turn.
  async lateAsk({ update, client }) {
    await acts.wait();
    const { outcome } = await client.request(methods.client.session.requestPermission, {
      sessionId: session.id,
      toolCall: { toolCallId: `call-${++calls}`, title: "Late" },
      options: [{ optionId: "once", name: "Once", kind: "allow_once" }],
    });
    const content = { type: "text", text: outcome.outcome };
    await update({ sessionUpdate: "agent_message_chunk", content });
  },
  async wait() {
    while (!cancelled) await new Promise((resolve) => setTimeout(resolve, 20));
  },
  // More than a frame of the terminal holds, then what is nested without end, as no library would write it.
  async large({ update }) {
    const text = `${"x".repeat(20_000_000)} whole.`;
    await update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
  },
  async deep() {
    const input = `${'{"a":'.repeat(10_000)}1${"}".repeat(10_000)}`;
    const update = `{"sessionUpdate":"tool_call","toolCallId":"d","title":"Deep","rawInput":${input}}`;
    for (const [method, params] of [
      ["session/update", `{"sessionId":"${session.id}","update":${update}}`],
      ["_odd/deep", input],
    ])
      process.stdout.write(`{"jsonrpc":"2.0","method":"${method}","params":${params}}\n`);
    const asked = `{"sessionId":"${session.id}","toolCall":${input},"options":[]}`;
    process.stdout.write(
      `{"jsonrpc":"2.0","id":"d","method":"session/request_permission","params":${asked}}\n`,
    );
    await new Promise((resolve) => setTimeout(resolve, 100));
  },
  async deaf() {
    await new Promise(() => undefined);
  },
  die() {
    process.exit(7);
  },
};

agent({ name: "test" })
  .onRequest(methods.agent.initialize, async () => {
    await beforeAnswering("initialize");
    const met = option("--met=");
    if (met !== undefined) return JSON.parse(met);
    return {
      protocolVersion: PROTOCOL_VERSION,
      agentCapabilities: {},
      agentInfo: { name: "test-agent", version: "1.0.0" },
      authMethods: [{ id: "test-api-key", name: "API key" }],
    };
  })
  .onRequest(methods.agent.session.new, async ({ params }) => {
    await beforeAnswering("session/new");
    session = { id: "session-1", cwd: params.cwd, mcpServers: params.mcpServers };
    return { sessionId: session.id };
  })
  .onNotification(methods.agent.session.cancel, () => {
    cancelled = true;
  })
  .onRequest(methods.agent.session.prompt, async ({ params, client }) => {
    prompts++;
    cancelled = false;
    const words = params.prompt.map(({ text }) => text).join(" ");
    if (process.env.ACP_LOG) appendFileSync(process.env.ACP_LOG, `${words}\n`);
    const update = (one) =>
      client.notify(methods.client.session.update, { sessionId: session.id, update: one });
    for (const word of words.split(" ")) {
      const [act, about] = word.split("=");
      await acts[act]?.({ update, client, about });
    }
    if (words === "odd end") return {};
    return { stopReason: cancelled ? "cancelled" : "end_turn" };
  })
  .connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
