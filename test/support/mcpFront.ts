import { randomUUID } from "node:crypto";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { RequestId } from "@modelcontextprotocol/sdk/types.js";

/** An address at which HTTP clients reach what speaks MCP in another way. */
export interface McpFront {
  /** `http://127.0.0.1:PORT/mcp`. */
  readonly url: string;
  close(): Promise<void>;
}

/** Opens an address whose sessions each get a connection of their own, and passes messages on as they are. */
export async function startMcpFront(connect: () => Promise<Transport>): Promise<McpFront> {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const behind: Transport[] = [];
  const open = async (): Promise<StreamableHTTPServerTransport> => {
    const inside = await connect();
    behind.push(inside);
    const outside = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (session) => void sessions.set(session, outside),
    });
    await join(outside, inside);
    return outside;
  };
  const server = http.createServer((request, response) => {
    // A page of a name that leads here must not speak to it: the suite asks for that.
    if (![`127.0.0.1:${port}`, `localhost:${port}`].includes(request.headers.host ?? "")) {
      response.writeHead(403).end();
      return;
    }
    const id = request.headers["mcp-session-id"]?.toString() ?? "";
    void (async () => {
      const transport = sessions.get(id) ?? (await open());
      await transport.handleRequest(request, response);
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    close: async () => {
      for (const one of [...sessions.values(), ...behind]) await one.close();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}

/** What comes while a request is under way belongs to its answer: HTTP has one stream for each request. */
async function join(outside: Transport, inside: Transport): Promise<void> {
  const under = new Set<RequestId>();
  outside.onmessage = (message) => {
    if ("method" in message && "id" in message) under.add(message.id);
    void inside.send(message);
  };
  inside.onmessage = (message) => {
    const relatedRequestId = [...under].at(-1);
    if (!("method" in message) && message.id !== undefined) under.delete(message.id);
    const related = relatedRequestId === undefined ? {} : { relatedRequestId };
    void outside.send(message, related).catch(() => undefined); // its client has gone
  };
  await inside.start();
  await outside.start();
}
