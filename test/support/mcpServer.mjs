// An MCP server for tests, made with the official SDK: over standard input and output, or with PORT=0 over HTTP (then it
// prints its address). MCP_TOOLS names a file whose JSON is merged over the definition of the tool `echo`: tests change it.
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import http from "node:http";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import {
  CallToolRequestSchema,
  CompleteRequestSchema,
  GetPromptRequestSchema,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListToolsRequestSchema,
  ReadResourceRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";

const text = (value) => ({ content: [{ type: "text", text: String(value) }] });
const anything = { type: "object", properties: {}, additionalProperties: true };

const log = (line) => {
  if (process.env.MCP_LOG) appendFileSync(process.env.MCP_LOG, `${JSON.stringify(line)}\n`);
};

function tools() {
  const file = process.env.MCP_TOOLS;
  const changed = file && existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
  return [
    {
      name: "echo",
      description: "Echoes",
      inputSchema: anything,
      annotations: { readOnlyHint: true },
      ...changed,
    },
    {
      name: "wipe",
      description: "Wipes",
      inputSchema: anything,
      annotations: { destructiveHint: true },
    },
    { name: "slow", description: "Makes progress until cancelled", inputSchema: anything },
    {
      name: "ask",
      description: "Asks the client for a sample and for input",
      inputSchema: anything,
    },
    { name: "env", description: "Tells a variable of its environment", inputSchema: anything },
    { name: "crash", description: "Ends the server", inputSchema: anything },
    { name: "grow", description: "Says that its tools have changed", inputSchema: anything },
  ];
}

function makeServer() {
  const server = new Server(
    { name: "test", version: "1.0.0" },
    {
      capabilities: {
        tools: { listChanged: true },
        resources: {},
        prompts: {},
        completions: {},
        logging: {},
      },
    },
  );
  // Two tools a page.
  server.setRequestHandler(ListToolsRequestSchema, ({ params }) => {
    const at = Number(params?.cursor ?? 0);
    const all = tools();
    const next = at + 2 < all.length ? { nextCursor: String(at + 2) } : {};
    return { tools: all.slice(at, at + 2), ...next };
  });
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
    log({ call: params });
    switch (params.name) {
      case "slow": {
        const { progressToken } = params._meta ?? {};
        for (let progress = 1; !extra.signal.aborted; progress++) {
          await extra.sendNotification({
            method: "notifications/progress",
            params: { progressToken, progress, total: 1000 },
          });
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
        log({ cancelled: true });
        return text("cancelled");
      }
      case "ask": {
        const sample = await server.createMessage({
          messages: [{ role: "user", content: { type: "text", text: "a word" } }],
          maxTokens: 5,
        });
        const given = await server.elicitInput({
          message: "a number",
          requestedSchema: { type: "object", properties: { n: { type: "integer" } } },
        });
        return text(`${sample.content.text} ${given.content?.n}`);
      }
      case "env":
        return text(process.env[params.arguments.name]);
      case "crash":
        process.stderr.write("out of order\n");
        process.exit(9);
      // falls through: the process has ended
      case "grow":
        await server.sendToolListChanged();
        return text("grown");
      case "wipe":
        return { ...text("wiped"), structuredContent: { wiped: 3 }, _meta: { "test/extra": true } };
      default:
        if (params.arguments?.deep) {
          const levels = Number(params.arguments.deep);
          const deep = `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;
          const id = JSON.stringify(extra.requestId);
          process.stdout.write(
            `{"jsonrpc":"2.0","method":"notifications/deep","params":${deep}}\n`,
          );
          process.stdout.write(
            `{"jsonrpc":"2.0","id":${id},"result":{"content":[],"deep":${deep}}}\n`,
          );
          return new Promise(() => undefined);
        }
        return text(`echo:${JSON.stringify(params.arguments)}`);
    }
  });
  server.setRequestHandler(ListResourcesRequestSchema, () => ({
    resources: [{ uri: "test://one", name: "one" }],
  }));
  server.setRequestHandler(ReadResourceRequestSchema, ({ params }) => ({
    contents: [{ uri: params.uri, text: "the resource" }],
  }));
  server.setRequestHandler(ListPromptsRequestSchema, () => ({ prompts: [{ name: "greet" }] }));
  server.setRequestHandler(GetPromptRequestSchema, () => ({
    messages: [{ role: "user", content: { type: "text", text: "Hello" } }],
  }));
  server.setRequestHandler(CompleteRequestSchema, () => ({ completion: { values: ["one"] } }));
  return server;
}

if (process.env.PORT === undefined) await makeServer().connect(new StdioServerTransport());
else {
  const sessions = new Map();
  const listener = http.createServer(async (request, response) => {
    log({ http: request.method, authorization: request.headers.authorization ?? null });
    const id = request.headers["mcp-session-id"];
    let transport = sessions.get(id);
    if (transport === undefined) {
      transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: () => crypto.randomUUID(),
        onsessioninitialized: (session) => sessions.set(session, transport),
      });
      await makeServer().connect(transport);
    }
    await transport.handleRequest(request, response);
  });
  listener.listen(Number(process.env.PORT), "127.0.0.1", () =>
    process.stdout.write(`http://127.0.0.1:${listener.address().port}/mcp\n`),
  );
}
