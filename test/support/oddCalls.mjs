// Inside a sandbox: calls tools of MCP servers as no honest agent would, and prints what comes back, one line each.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

let ids = 0;

/** Stands in a message in the place of "DEEP": JSON of so many levels. */
let deep = "";

/** A session with a server, by the gateway. */
async function open(name) {
  const server = spawn("/run/holdfast-native", ["connect", "/run/holdfast/mcp.sock", name]);
  const waiting = new Map();
  createInterface(server.stdout).on("line", (line) => {
    const message = JSON.parse(line);
    waiting.get(message.id)?.(message);
  });
  const send = (message) =>
    server.stdin.write(
      `${JSON.stringify({ jsonrpc: "2.0", ...message }).replace('"DEEP"', deep)}\n`,
    );
  const ask = (method, params) =>
    new Promise((resolve) => {
      waiting.set(++ids, resolve);
      send({ id: ids, method, params });
    });
  const clientInfo = { name: "odd", version: "1" };
  await ask("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo });
  send({ method: "notifications/initialized" });
  return ask;
}

// `[TOOL, ARGUMENTS]`; or `["raw", METHOD, PARAMETERS]`, any request.
const ask = await open("holdfast");
for (const [tool, given, raw] of JSON.parse(process.argv[2])) {
  if (tool === "deep") deep = `${'{"a":'.repeat(given)}1${"}".repeat(given)}`;
  const input = tool === "deep" ? "DEEP" : given;
  const call = raw === undefined ? ["tools/call", { name: tool, arguments: input }] : [given, raw];
  const { result, error } = await ask(...call);
  const text = result?.content?.[0]?.text ?? error?.message ?? "";
  const isError = error !== undefined || result?.isError === true;
  console.log(JSON.stringify({ tool, isError, text, code: error?.code }));
}
process.exit(0);
