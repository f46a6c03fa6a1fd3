import { doorInside, nativeInside } from "../sandbox/insidePaths.ts";

/**
 * How each agent is told of the MCP servers: inside, a server is a program that connects standard input and output with
 * the gateway (native/PROTOCOL.md, `connect`). Nothing of the server's own command, environment or address is inside.
 */

/** Where the gateway listens, in the transaction's door directory. */
export const gatewaySocket = "mcp.sock";

/** The name under which Holdfast's own server is found. */
export const ownServer = "holdfast";

/** A tool call may wait for a person for as long as it takes: a day, in milliseconds, where an agent wants a bound. */
const patienceMs = 24 * 60 * 60 * 1000;

interface InsideProgram {
  readonly command: string;
  readonly args: readonly string[];
}

function programOf(server: string): InsideProgram {
  return { command: nativeInside, args: ["connect", `${doorInside}/${gatewaySocket}`, server] };
}

function byName<T>(servers: readonly string[], make: (server: string) => T): Record<string, T> {
  return Object.fromEntries(servers.map((server) => [server, make(server)]));
}

/** Claude Code: the content of `managed-mcp.json`, which takes the place of every other server configuration. */
export function claudeMcp(servers: readonly string[]): object {
  return { mcpServers: byName(servers, (one) => ({ type: "stdio", ...programOf(one), env: {} })) };
}

/** Codex: tables for its `config.toml`. */
export function codexMcp(servers: readonly string[]): string {
  const quoted = (text: string): string => JSON.stringify(text);
  return servers
    .map((server) => {
      const { command, args } = programOf(server);
      return [
        `[mcp_servers.${quoted(server)}]`,
        `command = ${quoted(command)}`,
        `args = [${args.map(quoted).join(", ")}]`,
        `tool_timeout_sec = ${patienceMs / 1000}`,
        "",
      ].join("\n");
    })
    .join("\n");
}

/** OpenCode: the value of `mcp` in its `opencode.json`. */
export function openCodeMcp(servers: readonly string[]): object {
  return byName(servers, (one) => {
    const { command, args } = programOf(one);
    return { type: "local", command: [command, ...args], enabled: true, timeout: patienceMs };
  });
}

/** Gemini CLI: the value of `mcpServers` in its `settings.json`; `trust` switches its own questions off. */
export function geminiMcp(servers: readonly string[]): object {
  return byName(servers, (one) => ({ ...programOf(one), timeout: patienceMs, trust: true }));
}

/** An agent that speaks ACP: the `mcpServers` of `session/new`. */
export function acpMcp(
  servers: readonly string[],
): { name: string; command: string; args: string[]; env: never[] }[] {
  return servers.map((name) => {
    const { command, args } = programOf(name);
    return { name, command, args: [...args], env: [] };
  });
}
