import { secretsNamed, secretsWritten } from "../node/mcp/mcpSecrets.ts";
import { readMcpServers, readOffers, type McpServer } from "../node/mcp/mcpSettings.ts";
import { givenValues } from "../node/secrets/keyring.ts";
import { loadSecrets, type ValueStores } from "../node/secrets/secretStore.ts";
import { homeOf } from "../node/state/home.ts";
import type { Secret } from "../node/secrets/vault.ts";
import type { TransactionPaths } from "../runtime/ports.ts";
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
