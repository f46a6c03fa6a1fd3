import { Failure } from "../../base/errors.ts";
import { visible } from "../../core/timeline/describeEntry.ts";
import { acceptServer } from "../../node/mcp/acceptServer.ts";
import {
  mcpSettingsPath,
  readMcpServers,
  readOffers,
  type McpServer,
} from "../../node/mcp/mcpSettings.ts";
import { flag, printJson, workspaceOf, type Verb } from "../context.ts";

/** How a server is reached, without the values of its environment or headers. */
function whereOf(server: McpServer): string {
  return "url" in server ? server.url : [server.command, ...server.args].join(" ");
}

export const mcpListVerb: Verb = {
  usage: "holdfast mcp list [--json]",
  summary: "Lists the MCP servers that agents find here, and those that the workspace asks for.",
  options: {},
  positionals: [0, 0],
  run: (context) => {
    const workspace = workspaceOf(context);
    const servers = readMcpServers(context.env, workspace);
    const offered = readOffers(workspace)
      .map(({ name }) => name)
      .filter((name) => !servers.some((server) => server.name === name));
    const rows = servers.map((server) => ({ name: server.name, runs: whereOf(server) }));
    if (context.json) printJson(context, { servers: rows, offered });
    for (const row of context.json ? [] : rows) {
      context.print(`${row.name}  ${visible(row.runs)}\n`);
    }
    for (const name of context.json ? [] : offered) {
      context.print(`${visible(name)}  offered by .mcp.json, not run: holdfast mcp accept NAME\n`);
    }
    return Promise.resolve(0);
  },
};

export const mcpAcceptVerb: Verb = {
  usage: "holdfast mcp accept NAME [--yes]",
  summary:
    "Takes a server of the workspace's .mcp.json over into your own settings, for this workspace.",
  options: { yes: "boolean" },
  positionals: [1, 1],
  run: (context) => {
    const workspace = workspaceOf(context);
    const name = context.positionals[0] ?? "";
    const offer = readOffers(workspace).find((one) => one.name === name);
    if (offer === undefined) {
      const fix = "`holdfast mcp list` lists what it offers";
      const message = `.mcp.json of the workspace has no server ${JSON.stringify(name)}`;
      throw new Failure("failed", "no-offer", message, fix);
    }
    const entry = visible(JSON.stringify(offer.entry));
    if (!flag(context, "yes")) {
      const fix = "it would run on this machine, outside of the sandbox: add --yes to take it over";
      throw new Failure("refused", "not-accepted", `${name} is ${entry}`, fix);
    }
    const file = mcpSettingsPath(context.env);
    acceptServer(file, offer, workspace);
    if (context.json) printJson(context, { name, file });
    else context.say(`holdfast: ${name} is now in ${file}`);
    return Promise.resolve(0);
  },
};
