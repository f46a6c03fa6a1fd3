import { homedir } from "node:os";
import {
  getDefaultEnvironment,
  StdioClientTransport,
} from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { McpServer } from "./mcpSettings.ts";
import { longestMessage } from "./messages.ts";

/** What a program wrote to its standard error last, characters. */
const keptErrors = 2000;

/** A connection to one of the person's MCP servers, outside of the sandbox. */
export interface Upstream {
  readonly transport: Transport;
  /** The end of what it wrote to standard error; empty for an address. */
  errors(): string;
}

/** Makes, but does not start, the transport to a server. `fill` puts the values of secrets in the place of their names. */
export function upstreamOf(server: McpServer, fill: (text: string) => string): Upstream {
  const filled = (values: Readonly<Record<string, string>>): Record<string, string> =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [name, fill(value)]));
  if ("url" in server) {
    // Redirects are followed within the same origin only: the headers go to nobody else.
    const transport = new StreamableHTTPClientTransport(new URL(server.url), {
      requestInit: { headers: filled(server.headers) },
    });
    return { transport, errors: () => "" };
  }
  const transport = new StdioClientTransport({
    command: server.command,
    args: server.args,
    env: { ...getDefaultEnvironment(), ...filled(server.env) },
    cwd: server.cwd ?? homedir(),
    stderr: "pipe",
    maxBufferSize: longestMessage,
  });
  let errors = "";
  transport.stderr?.on("data", (bytes: Buffer) => {
    errors = (errors + bytes.toString("utf8")).slice(-keptErrors);
  });
  return { transport, errors: () => errors.trim() };
}
