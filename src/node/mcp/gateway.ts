import { chmod, rm } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import path from "node:path";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { messageOf } from "../../base/errors.ts";
import type { CallFacts, Judge } from "../../core/policy/judge.ts";
import type { PolicyRule } from "../../core/policy/policyFile.ts";
import type { BrokerHost } from "../../runtime/ports.ts";
import { HeldCalls } from "../broker/heldCalls.ts";
import type { Secret } from "../secrets/vault.ts";
import { Vault } from "../secrets/vault.ts";
import { socketPath } from "../state/socketPath.ts";
import { Gate } from "./gate.ts";
import { gatewaySocket, ownServer } from "./mcpConfiguration.ts";
import { fillSecrets } from "./mcpSecrets.ts";
import type { McpServer } from "./mcpSettings.ts";
import { definitionHash, PinFile } from "./toolPins.ts";

/** What a gateway is started with. */
export interface GatewayOptions {
  /** The directory that the sandbox sees as `/run/holdfast`; the gateway listens on `mcp.sock` there. */
  readonly door: string;
  /** `$HOLDFAST_HOME`: what a person approved for good is kept there. */
  readonly home: string;
  /** Ours alone: held calls. */
  readonly stateDir: string;
  readonly servers: readonly McpServer[];
  readonly host: BrokerHost;
  readonly judge: Judge;
  /** All secrets of the transaction, those of the servers included. */
  readonly secrets: readonly Secret[];
  readonly onPassed: (facts: CallFacts) => void;
  readonly onRuleApproved: (rule: PolicyRule) => void;
  /** Serves Holdfast's own tools on a connection; resolves when it is set up. */
  readonly serveOwn: (inside: Transport) => Promise<void>;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Connections at once: an agent with many sub-agents opens one for each of its servers and theirs. */
const mostConnections = 256;

/**
 * Opens the door to the person's MCP servers, which run outside of the sandbox: one session with a server for each
 * connection from inside. Whoever connects can only name a configured server.
 */
export async function startGateway(options: GatewayOptions): Promise<{ close(): Promise<void> }> {
  const { host } = options;
  const vault = new Vault(options.secrets);
  const pins = new PinFile(options.home);
  const held = await HeldCalls.open(host, options.stateDir, "mcp");
  const { judge, onPassed, onRuleApproved } = options;
  const gate = new Gate({ host, judge, vault, held, pins, onPassed, onRuleApproved });
  const open = new Set<{ close(): Promise<void> }>();
  const fill = (text: string): string => fillSecrets(text, options.secrets);

  const serve = async (socket: Socket): Promise<void> => {
    // The protocol is loaded once the agent has been started, at the latest here: the start does not wait for it.
    const { SocketTransport } = await import("./socketTransport.ts");
    const greeted = await SocketTransport.open(socket);
    if (greeted === undefined) return;
    const { transport: inside } = greeted;
    if (greeted.server === ownServer) {
      open.add(inside);
      socket.once("close", () => open.delete(inside));
      await options.serveOwn(inside);
      return;
    }
    const server = options.servers.find((one) => one.name === greeted.server);
    if (server === undefined) {
      await inside.close();
      return;
    }
    const { McpSession } = await import("./session.ts");
    const { upstreamOf } = await import("./upstream.ts");
    const session = new McpSession({
      server,
      definition: definitionHash(server, options.env, pins.key()),
      gate,
      vault,
      inside,
      upstream: upstreamOf(server, fill),
      onFailure: (message) =>
        void host.record({ kind: "alert", source: "mcp", code: "mcp-failed", message }),
    });
    open.add(session);
    socket.once("close", () => open.delete(session));
    await session.start();
  };

  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on("error", () => socket.destroy());
    serve(socket).catch((error: unknown) => {
      const message = `an MCP session could not be served: ${messageOf(error)}`;
      void host.record({ kind: "alert", source: "mcp", code: "mcp-failed", message });
      socket.destroy();
    });
  });
  server.maxConnections = mostConnections;
  const file = path.join(options.door, gatewaySocket);
  await rm(file, { force: true });
  const where = socketPath(options.door, gatewaySocket);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(where.path, resolve);
  });
  server.once("close", () => where.close());
  // The sandbox may map to another user; who can enter the directory may connect.
  await chmod(file, 0o666);
  return {
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      await Promise.all([...open].map((one) => one.close()));
      await closed;
      await rm(file, { force: true });
    },
  };
}
