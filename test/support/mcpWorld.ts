import { mkdirSync, readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import path from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { compilePolicy } from "../../src/core/policy/compilePolicy.ts";
import type { Judge } from "../../src/core/policy/judge.ts";
import type { PolicyRule } from "../../src/core/policy/policyFile.ts";
import { startGateway, type GatewayOptions } from "../../src/node/mcp/gateway.ts";
import type { McpServer } from "../../src/node/mcp/mcpSettings.ts";
import { parseJson } from "../../src/base/jsonl.ts";
import { MemoryHost } from "./brokerHost.ts";
import { policyOf } from "./judged.ts";
import { temporaryFolders } from "./temporaryFolder.ts";

/** The program of `mcpServer.mjs` as a person would configure it. */
export const testServerProgram = path.join(import.meta.dirname, "mcpServer.mjs");

/** A judge under which the test server's tools pass. */
export function allowing(...tools: readonly string[]): Judge {
  const when = { kind: "mcp" as const, server: "test", tool: [...tools] };
  const rules = [{ id: "open", when, verdict: "allow" as const }];
  return compilePolicy({ task: {}, user: policyOf({ version: 1, rules }) });
}

export interface McpWorld {
  readonly host: MemoryHost;
  readonly home: string;
  readonly door: string;
  /** What the test server wrote to its log, one object a line. */
  log(): readonly Record<string, unknown>[];
  /** The file that changes the server's tool `echo`. */
  readonly toolsFile: string;
  readonly rules: PolicyRule[];
  /** An official client, connected as the agent is from inside. */
  client(server?: string, capabilities?: object): Promise<Client>;
  close(): Promise<void>;
}

/** Makes gateways in front of the test server; everything is closed after each test. */
export function mcpWorlds(): (
  options?: Partial<GatewayOptions> & { readonly home?: string },
) => Promise<McpWorld> {
  const open: McpWorld[] = [];
  afterEach(async () => {
    for (const world of open.splice(0)) await world.close();
  });
  const folder = temporaryFolders();
  return async (options = {}) => {
    const root = folder();
    const home = options.home ?? path.join(root, "home");
    const door = path.join(root, "door");
    mkdirSync(door);
    const logFile = path.join(root, "log");
    const toolsFile = path.join(root, "tools.json");
    const host = new MemoryHost();
    const rules: PolicyRule[] = [];
    const gateway = await startGateway({
      door,
      home,
      stateDir: path.join(root, "state"),
      servers: [stdioServer({ MCP_LOG: logFile, MCP_TOOLS: toolsFile })],
      host,
      judge: allowing("*"),
      secrets: [],
      onPassed: () => undefined,
      onRuleApproved: (rule) => void rules.push(rule),
      serveOwn: () => Promise.reject(new Error("not in this test")),
      env: process.env,
      ...options,
    });
    const clients: Client[] = [];
    const sockets: Socket[] = [];
    const world: McpWorld = {
      host,
      home,
      door,
      toolsFile,
      rules,
      log: () =>
        readFileSync(logFile, { encoding: "utf8", flag: "a+" })
          .split("\n")
          .map((line) => parseJson(line))
          .filter((line) => line !== undefined) as Record<string, unknown>[],
      client: async (server = "test", capabilities = {}) => {
        const client = new Client({ name: "agent", version: "1" }, { capabilities });
        clients.push(client);
        const socket = await insideSocket(door, server);
        sockets.push(socket);
        socket.once("close", () => void client.close());
        await client.connect(new StdioServerTransport(socket, socket));
        return client;
      },
      close: async () => {
        for (const socket of sockets) socket.destroy();
        await Promise.all(clients.map((client) => client.close()));
        await gateway.close();
      },
    };
    open.push(world);
    return world;
  };
}

export function stdioServer(env: Record<string, string>): McpServer {
  return { name: "test", command: process.execPath, args: [testServerProgram], env };
}

/** The agent's end of a connection to the gateway, as `holdfast-native connect` makes it. */
export async function insideSocket(door: string, server: string): Promise<Socket> {
  const socket = connect(path.join(door, "mcp.sock"));
  await new Promise<void>((resolve, reject) => {
    socket.once("connect", resolve);
    socket.once("error", reject);
  });
  socket.on("error", () => socket.destroy());
  socket.write(`${server}\n`);
  return socket;
}
