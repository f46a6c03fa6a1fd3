import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { setupConformance } from "../../.config/setupConformance.mjs";
import type { McpServer } from "../../src/node/mcp/mcpSettings.ts";
import { conformanceServer } from "../support/conformanceServer.mjs";
import { startMcpFront, type McpFront } from "../support/mcpFront.ts";
import { insideSocket, mcpWorlds, type McpWorld } from "../support/mcpWorld.ts";
import { temporaryFolders } from "../support/temporaryFolder.ts";

const program = path.join(import.meta.dirname, "../support/conformanceServer.mjs");

/** Resumes a stream of HTTP in the middle: asked of the address in front of the server, which does not offer it. */
const ofHttp = "server-sse-polling";

describe("the public MCP conformance suite", function () {
  // It starts some thirty sessions each time.
  this.timeout(240_000);
  const newWorld = mcpWorlds();
  const folder = temporaryFolders();
  const fronts: McpFront[] = [];
  let good: string[];
  after(async () => {
    for (const front of fronts.splice(0).reverse()) await front.close();
  });

  async function front(connect: Parameters<typeof startMcpFront>[0]): Promise<string> {
    const opened = await startMcpFront(connect);
    fronts.push(opened);
    return opened.url;
  }

  /** The server with nothing of ours in between. */
  function direct(): Promise<string> {
    return front(async () => {
      const [ours, its] = InMemoryTransport.createLinkedPair();
      await conformanceServer().connect(its);
      return ours;
    });
  }

  /** The same through a gateway, whose every hold is approved. */
  async function throughGateway(server: McpServer): Promise<string> {
    const world = await newWorld({ servers: [server] });
    void approveAll(world);
    return front(async () => {
      const socket = await insideSocket(world.door, server.name);
      const transport = new StdioServerTransport(socket, socket);
      return Object.assign(transport, { close: () => Promise.resolve(void socket.destroy()) });
    });
  }

  async function approveAll({ host }: McpWorld): Promise<void> {
    for (let decided = 0; ; decided++) {
      await host.until(() => host.holds.length > decided);
      host.holds[decided]?.decide({ decision: "approve", scope: "transaction" });
    }
  }

  /** Every check of every scenario: `scenario check STATUS`. */
  async function resultsOf(url: string): Promise<string[]> {
    const [node, script] = await setupConformance();
    const output = folder();
    const args = [script, "server", "--url", url, "--suite", "all", "--output-dir", output];
    // It ends with 1 where a scenario fails; the results are in its files.
    await new Promise<void>((resolve) => {
      execFile(node, args, { maxBuffer: 64 * 1024 * 1024 }, () => resolve());
    });
    return readdirSync(output, { recursive: true, encoding: "utf8" })
      .filter((file) => path.basename(file) === "checks.json")
      .filter((file) => !file.includes(ofHttp))
      .flatMap((file) => {
        const scenario = path.dirname(file).replace(/-\d{4}-\d\d-\d\dT.*$/, "");
        const checks = JSON.parse(readFileSync(path.join(output, file), "utf8")) as {
          readonly id: string;
          readonly status: string;
        }[];
        return checks.map(({ id, status }) => `${scenario} ${id} ${status}`);
      })
      .sort();
  }

  before("with the server alone", async () => {
    good = await resultsOf(await direct());
    const scenarios = new Set(good.map((line) => line.split(" ")[0]));
    assert.equal(scenarios.size, 31, good.join("\n"));
    assert.deepEqual(
      good.filter((line) => !line.endsWith(" SUCCESS")),
      [],
    );
  });

  it("passes through the gateway, which runs the server", async () => {
    const server = { name: "test", command: process.execPath, args: [program], env: {} };
    assert.deepEqual(await resultsOf(await throughGateway(server)), good);
  });

  it("passes through the gateway, which reaches the server by its address", async () => {
    const server = { name: "test", url: await direct(), headers: {} };
    assert.deepEqual(await resultsOf(await throughGateway(server)), good);
  });
});
