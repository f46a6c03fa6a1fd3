import { startRun } from "../scriptedRun.ts";
import { reloadedWindow } from "./reloaded.ts";

/**
 * Changes three files, makes a call that is held, and from its decision on writes a file a second for ten minutes: however
 * slow the machine is, it is still at work when the window is there again.
 */
const agent = `
const fs = require("node:fs"), http = require("node:http"), net = require("node:net");
const socket = net.connect(process.env.HOLDFAST_AGENT_SOCK);
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const tell = (event) => new Promise((done) => socket.write(JSON.stringify(event) + "\\n", done));
let calls = 0;
async function tool(toolKind, title, work) {
  const call = "c" + ++calls;
  await tell({ event: "tool.started", call, tool: toolKind, toolKind, title, input: { title } });
  await work();
  await tell({ event: "tool.finished", call, status: "ok", output: "done" });
}
const append = (file, text) => tool("edit", "Edit " + file, () => fs.appendFileSync(file, text));
const post = () => new Promise((resolve) => {
  const proxy = new URL(process.env.HTTP_PROXY || process.env.http_proxy);
  const path = "http://hooks.chat.example/services/T00/B00";
  const options = { method: "POST", host: proxy.hostname, port: proxy.port, path, headers: { host: "hooks.chat.example" } };
  http.request(options, (answer) => answer.resume().once("end", resolve)).once("error", resolve).end("{}");
});
socket.once("connect", async () => {
  await tell({ event: "session.started" });
  await append("src/cli.ts", "// by the agent\\n");
  await append("src/money.ts", "// by the agent\\n");
  await append("docs/prices.md", "By the agent.\\n");
  await tool("fetch", "Post a summary", post);
  for (let at = 1; at <= 600; at++) {
    await append("ticks.txt", "tick " + at + "\\n");
    await pause(1000);
  }
  socket.end();
});
`;

describe("before the window is loaded anew", () => {
  it("an agent is at work and waits for a decision", async () => {
    const window = await reloadedWindow();
    await startRun(
      window,
      {
        agent: "scripted",
        command: [process.execPath, "-e", agent],
        task: "Work over a reload",
      },
      "waiting",
    );
    await window.call("wait", { selector: ".card h3", panel: true });
    window.close();
  });
});
