import path from "node:path";
import { messageOf } from "../base/errors.ts";
import type { PolicyBook } from "../core/policy/policyBook.ts";
import { startGateway } from "../node/mcp/gateway.ts";
import { secretsNamed, secretsWritten } from "../node/mcp/mcpSecrets.ts";
import { readMcpServers, readOffers, type McpServer } from "../node/mcp/mcpSettings.ts";
import type { OwnTools } from "../node/mcp/ownServer.ts";
import { appendRule } from "../node/policy/appendRule.ts";
import { userPolicyPath } from "../node/policy/policyFiles.ts";
import { givenValues } from "../node/secrets/keyring.ts";
import { loadSecrets, type ValueStores } from "../node/secrets/secretStore.ts";
import type { Secret } from "../node/secrets/vault.ts";
import type { BrokerHost, TransactionPaths } from "../runtime/ports.ts";
import { version } from "./installationPaths.ts";
import type { StartSpec } from "./startSpec.ts";

/** The MCP servers of a transaction, read before the agent runs: what it writes later counts for nothing. */
export interface McpSetup {
  readonly servers: readonly McpServer[];
  /** Servers that the workspace asks for and that the person has not taken over: not run. */
  readonly offered: readonly string[];
  readonly secrets: readonly Secret[];
}

/** Throws a Failure when the person's own settings are not valid or name a secret that does not exist. */
export async function readMcpSetup(spec: StartSpec, paths: TransactionPaths): Promise<McpSetup> {
  const servers = readMcpServers(process.env, spec.workspace);
  const offered = readOffers(spec.workspace)
    .map(({ name }) => name)
    .filter((name) => !servers.some((server) => server.name === name));
  const home = homeOf(paths);
  const named = await loadSecrets(home, secretsNamed(servers), process.env, editorValues(spec));
  return { servers, offered, secrets: [...named, ...secretsWritten(servers)] };
}

/** What the editor keeps is known only to the transactions that begin in it. */
export function editorValues({ editorSecrets }: StartSpec): ValueStores {
  return editorSecrets === undefined ? {} : { editor: givenValues(editorSecrets) };
}

function homeOf(paths: TransactionPaths): string {
  return path.dirname(path.dirname(paths.root));
}

/** Loads what the agent's first connection needs, while the agent comes up: it waits for the answer. */
export async function prepareGateway(): Promise<void> {
  await import("../node/mcp/socketTransport.ts");
  await import("../node/mcp/ownServer.ts");
}

/** Opens the door to the MCP servers, and tells of those that the workspace offers. */
export async function beginGateway(options: {
  readonly spec: StartSpec;
  readonly paths: TransactionPaths;
  readonly host: BrokerHost;
  readonly book: PolicyBook;
  readonly secrets: readonly Secret[];
  readonly setup: McpSetup;
  readonly tools: OwnTools;
}): Promise<{ close(): Promise<void> }> {
  const { spec, paths, host, book, setup } = options;
  if (setup.offered.length > 0) {
    const names = setup.offered.join(", ");
    const message = `.mcp.json of the workspace asks for the MCP servers ${names}: not run; \`holdfast mcp accept NAME\` takes one over`;
    await host.record({ kind: "alert", source: "mcp", code: "mcp-offered", message });
  }
  return startGateway({
    door: paths.door,
    home: homeOf(paths),
    stateDir: path.join(paths.state, "mcp"),
    servers: setup.servers,
    host,
    judge: book.judge,
    secrets: options.secrets,
    onPassed: (facts) => book.passed(facts),
    onRuleApproved: (rule) => {
      try {
        book.add(rule);
        appendRule(spec.policyFile ?? userPolicyPath(process.env), rule);
      } catch (error) {
        const message = `approved for this transaction only: ${messageOf(error)}`;
        void host.record({ kind: "alert", source: "holdfast", code: "rule-not-kept", message });
      }
    },
    serveOwn: async (inside) => {
      const { serveOwnTools } = await import("../node/mcp/ownServer.ts");
      await serveOwnTools(options.tools, version, inside);
    },
    env: process.env,
  });
}
