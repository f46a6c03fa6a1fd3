import path from "node:path";
import { messageOf } from "../base/errors.ts";
import type { PolicyBook } from "../core/policy/policyBook.ts";
import { startGateway } from "../node/mcp/gateway.ts";
import type { OwnTools } from "../node/mcp/ownServer.ts";
import { appendRule } from "../node/policy/appendRule.ts";
import { userPolicyPath } from "../node/policy/policyFiles.ts";
import type { Secret } from "../node/secrets/vault.ts";
import { homeOf } from "../node/state/home.ts";
import type { BrokerHost, TransactionPaths } from "../runtime/ports.ts";
import { version } from "./installationPaths.ts";
import type { McpSetup } from "./mcpSetup.ts";
import type { StartSpec } from "./startSpec.ts";

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
