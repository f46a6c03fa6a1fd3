import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import * as z from "zod";
import { CheckedRequests } from "./checkedRequests.ts";
import { ownServer } from "./mcpConfiguration.ts";

/**
 * What the agent may know and do of its own transaction. Nothing here decides, commits or discards, and no value of a
 * secret can be read: what is masked in the shadow is masked here.
 */
export interface OwnTools {
  /** What differs from the workspace as it was at the fork. */
  changes(): Promise<unknown>;
  /** A unified patch of some paths, or of everything. */
  diff(paths: readonly string[]): Promise<string>;
  /** The task, its limits, and how the transaction stands. */
  task(): unknown;
  /** Calls that were held: what, why, and what became of them. */
  holds(): unknown;
  savepoints(): unknown;
  savepoint(name: string | undefined): Promise<unknown>;
  restore(to: string): Promise<unknown>;
}

/** A patch longer than this, characters, is cut: the agent can ask for single paths. */
const longestPatch = 400_000;

interface OwnTool {
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, z.ZodType>>;
  readonly readOnly: boolean;
  run(tools: OwnTools, given: Readonly<Record<string, string | undefined>>): Promise<string>;
}

const json = (value: unknown): string => JSON.stringify(value ?? null, undefined, 2);

const table: Readonly<Record<string, OwnTool>> = {
  changes: {
    description:
      "Lists every file that differs from the workspace as it was when this transaction began, also those that commands changed as a side effect.",
    inputSchema: {},
    readOnly: true,
    run: async (tools) => json(await tools.changes()),
  },
  diff: {
    description: "Shows what has changed, as a unified patch: of one path, or of everything.",
    inputSchema: {
      path: z.string().optional().describe("In the workspace; left out: everything."),
    },
    readOnly: true,
    run: async (tools, { path }) => {
      const patch = await tools.diff(path === undefined ? [] : [path]);
      if (patch === "") return "no difference";
      const cut = `\n… cut off after ${longestPatch} characters: ask for single paths`;
      return patch.length <= longestPatch ? patch : patch.slice(0, longestPatch) + cut;
    },
  },
  task: {
    description: "Tells the declared task, its limits, and how the transaction stands.",
    inputSchema: {},
    readOnly: true,
    run: (tools) => Promise.resolve(json(tools.task())),
  },
  holds: {
    description:
      "Lists the calls of this transaction that were held for a person: what they were, by which rule and why, and what was decided.",
    inputSchema: {},
    readOnly: true,
    run: (tools) => Promise.resolve(json(tools.holds())),
  },
  savepoints: {
    description: "Lists the states of the files that can be restored, oldest first.",
    inputSchema: {},
    readOnly: true,
    run: (tools) => Promise.resolve(json(tools.savepoints())),
  },
  savepoint: {
    description: "Keeps the present state of the files, to come back to.",
    inputSchema: { name: z.string().max(200).optional() },
    readOnly: false,
    run: async (tools, { name }) => json(await tools.savepoint(name)),
  },
  restore: {
    description:
      "Brings the files back to a savepoint. The state that is left is kept as a savepoint, so this can be undone.",
    inputSchema: { to: z.string().describe("The id of a savepoint, as `savepoints` lists it.") },
    readOnly: false,
    run: async (tools, { to = "" }) => json(await tools.restore(to)),
  },
};

/** Serves Holdfast's own tools on one connection from inside. */
export async function serveOwnTools(
  tools: OwnTools,
  version: string,
  inside: Transport,
): Promise<void> {
  const instructions =
    "This session runs in a Holdfast transaction: files are a copy, and a person reviews all changes at the end.";
  const server = new McpServer({ name: ownServer, version }, { instructions });
  for (const [name, tool] of Object.entries(table)) {
    const { description, inputSchema, readOnly } = tool;
    const annotations = { readOnlyHint: readOnly, destructiveHint: false, openWorldHint: false };
    server.registerTool(
      name,
      { description, inputSchema, annotations },
      async (given): Promise<CallToolResult> => {
        const text = await tool.run(tools, given as Readonly<Record<string, string | undefined>>);
        return { content: [{ type: "text", text }] };
      },
    );
  }
  await server.connect(new CheckedRequests(inside));
}
