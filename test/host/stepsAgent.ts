/** One tool call of {@link stepsAgent}: a shell script that runs as that call, or a request that changes something elsewhere. */
export interface AgentStep {
  readonly title: string;
  readonly shell?: string;
  /** URL of a POST that waits until a person has decided. */
  readonly post?: string;
}

/** Runs inside the sandbox, so it has nothing but Node. */
const program = `
const { execFileSync } = require("node:child_process"), http = require("node:http"), net = require("node:net");
const socket = net.connect(process.env.HOLDFAST_AGENT_SOCK);
const tell = (event) => new Promise((done) => {
  socket.write(JSON.stringify({ ...event, at: new Date().toISOString() }) + "\\n", done);
});
const post = (url) => new Promise((resolve) => {
  const proxy = new URL(process.env.HTTP_PROXY || process.env.http_proxy);
  const headers = { host: new URL(url).host, "content-type": "application/json" };
  const options = { method: "POST", host: proxy.hostname, port: proxy.port, path: url, headers };
  http.request(options, (answer) => answer.resume().once("end", resolve)).once("error", resolve).end("{}");
});
socket.once("connect", async () => {
  await tell({ event: "session.started" });
  for (const [at, step] of JSON.parse(process.argv[1]).entries()) {
    const call = "c" + at;
    const toolKind = step.post === undefined ? "execute" : "fetch";
    await tell({ event: "tool.started", call, tool: toolKind, toolKind, title: step.title, input: step });
    if (step.shell !== undefined) execFileSync("/bin/sh", ["-c", step.shell], { stdio: "inherit" });
    if (step.post !== undefined) await post(step.post);
    await tell({ event: "tool.finished", call, status: "ok", output: "done" });
  }
  socket.end();
});
`;

/** The command line of an agent that makes these tool calls one after the other, and tells of each. */
export function stepsAgent(...steps: readonly AgentStep[]): string[] {
  return [process.execPath, "-e", program, JSON.stringify(steps)];
}
