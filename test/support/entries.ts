import { createHash } from "node:crypto";
import { genesis } from "../../src/core/journal/chain.ts";
import type { Entry, EntryDraft } from "../../src/core/journal/entry.ts";

/** Makes entries of drafts as a journal would: numbered, timed (one second apart), chained. */
export function entriesOf(drafts: readonly EntryDraft[]): readonly Entry[] {
  let prev = genesis;
  return drafts.map((draft, index) => {
    const at = new Date(Date.UTC(2026, 0, 1, 12, 0, index)).toISOString();
    const entry = { seq: index + 1, at, ...draft, prev } as unknown as Entry;
    prev = createHash("sha256").update(JSON.stringify(entry)).digest("hex");
    return entry;
  });
}

export const begun: EntryDraft = {
  kind: "transaction.begun",
  source: "person",
  transaction: "t20260101-120000-abcdef",
  version: "0.1.0",
  workspace: "/home/dev/shop",
  agent: "scripted",
  command: ["node", "agent.mjs"],
  limits: {},
  backendWanted: "auto",
  onExit: "review",
};

/** A tool call's beginning. */
export function toolStarted(
  call: string,
  toolKind: "read" | "edit" | "execute" | "agent" = "execute",
): EntryDraft {
  return {
    kind: "tool.started",
    source: "hook",
    call,
    tool: toolKind,
    toolKind,
    title: call,
    input: null,
  };
}

export function toolFinished(call: string, parent: number): EntryDraft {
  return {
    kind: "tool.finished",
    source: "hook",
    parent,
    call,
    status: "ok",
    output: null,
    durationMs: 5,
  };
}

/** A request's beginning, under a tool call or not. */
export function requestStarted(
  request: string,
  traffic: "model" | "disclosure" | "change",
  reversibility: "recoverable" | "irreversible",
  parent?: number,
): EntryDraft {
  return {
    kind: "request.started",
    source: "broker",
    ...(parent === undefined ? {} : { parent }),
    request,
    protocol: "https",
    method: traffic === "disclosure" ? "GET" : "POST",
    host: traffic === "model" ? "model.example" : "api.example",
    port: 443,
    path: "/things",
    reversibility,
    traffic,
  };
}

export function holdOpened(hold: string, request: string, parent: number): EntryDraft {
  return {
    kind: "hold.opened",
    source: "broker",
    parent,
    hold,
    request,
    summary: `POST for ${hold}`,
    rule: "default.change",
    reason: "changes something outside",
    reversibility: "irreversible",
    payload: "POST /things",
    payloadSha256: "0".repeat(64),
  };
}

export function holdDecided(hold: string, decision: "approve" | "deny"): EntryDraft {
  return { kind: "hold.decided", source: "person", hold, decision, scope: "call" };
}
