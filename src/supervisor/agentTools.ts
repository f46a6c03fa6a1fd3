import path from "node:path";
import type { Entry } from "../core/journal/entry.ts";
import type { OwnTools } from "../node/mcp/ownServer.ts";
import type { StartSpec } from "./startSpec.ts";
import type { TransactionSupervisor } from "./transactionSupervisor.ts";

/** What the agent may see and do of its own transaction, through Holdfast's own MCP server. */
export function agentTools(supervisor: TransactionSupervisor, spec: StartSpec): OwnTools {
  return {
    changes: () => supervisor.reviewed().changed(),
    diff: async (paths) => {
      // Agents like to name a file from the root.
      const inside = `${spec.workspace}/`;
      const relative = paths.map((one) =>
        one.startsWith(inside) ? one.slice(inside.length) : one,
      );
      return Buffer.from(await supervisor.reviewed().diff(relative), "latin1").toString("utf8");
    },
    task: () => ({
      transaction: path.basename(supervisor.paths.root),
      state: supervisor.state.state,
      workspace: spec.workspace,
      task: spec.task ?? null,
      limits: spec.limits,
    }),
    holds: () => heldCalls(supervisor.journal.entries()),
    savepoints: () => supervisor.savepoints().list(),
    savepoint: (name) => supervisor.savepoints().take(name, "mcp"),
    restore: (to) => supervisor.savepoints().restore(to, "mcp"),
  };
}

interface HeldCall {
  readonly hold: string;
  readonly summary: string;
  readonly rule: string;
  readonly reason: string;
  readonly state: "waiting" | "approve" | "deny" | "abort";
  readonly decisionReason?: string;
}

/** Why calls were held and what became of them; never what they would send. */
function heldCalls(entries: readonly Entry[]): readonly HeldCall[] {
  const calls = new Map<string, HeldCall>();
  for (const entry of entries) {
    if (entry.kind === "hold.opened") {
      const { hold, summary, rule, reason } = entry;
      calls.set(hold, { hold, summary, rule, reason, state: "waiting" });
    } else if (entry.kind === "hold.decided") {
      const call = calls.get(entry.hold);
      const because = entry.reason === undefined ? {} : { decisionReason: entry.reason };
      if (call !== undefined) calls.set(entry.hold, { ...call, state: entry.decision, ...because });
    }
  }
  return [...calls.values()];
}
