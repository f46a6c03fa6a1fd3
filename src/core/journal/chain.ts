import type { Entry, EntryKind, EntrySource } from "./entry.ts";

/** `prev` of the first line. */
export const genesis = "0".repeat(64);

const sources: ReadonlySet<string> = new Set<EntrySource>([
  "hook",
  "acp",
  "stream",
  "mcp",
  "broker",
  "kernel",
  "fs",
  "person",
  "holdfast",
]);

/** Every kind with the members it cannot do without and their types, for validation on reading. */
const required: Readonly<Record<EntryKind, Readonly<Record<string, string>>>> = {
  "transaction.begun": {
    transaction: "string",
    workspace: "string",
    agent: "string",
    command: "array",
  },
  "transaction.forked": { backend: "string", forkMs: "number", files: "number", shadow: "string" },
  "transaction.started": { pid: "number", sandbox: "string" },
  "transaction.exited": {},
  "transaction.sealed": { counts: "object", changeSet: "string" },
  "transaction.interrupted": { reason: "string" },
  "transaction.resumed": { pid: "number" },
  "transaction.discarded": {},
  "transaction.failed": { code: "string", message: "string" },
  "tool.started": { call: "string", tool: "string", toolKind: "string", title: "string" },
  "tool.finished": { call: "string", status: "string" },
  "agent.event": { event: "string" },
  "process.exec": {
    pid: "number",
    ppid: "number",
    argv: "array",
    cwd: "string",
    program: "string",
  },
  "process.exit": { pid: "number", durationMs: "number" },
  "file.changed": { path: "string", change: "string" },
  "request.started": {
    request: "string",
    method: "string",
    host: "string",
    port: "number",
    path: "string",
  },
  "request.finished": { request: "string", bytesSent: "number", bytesReceived: "number" },
  verdict: { request: "string", verdict: "string", rule: "string", reason: "string" },
  "hold.opened": { hold: "string", request: "string", summary: "string", payloadSha256: "string" },
  "hold.decided": { hold: "string", decision: "string", scope: "string" },
  "hold.spent": { request: "string", by: "string" },
  "secret.used": { secret: "string", host: "string" },
  alert: { code: "string", message: "string" },
  "savepoint.taken": { savepoint: "string" },
  "savepoint.restored": { savepoint: "string", to: "string" },
  "check.started": { check: "string", generation: "number" },
  "check.finished": {
    check: "string",
    generation: "number",
    status: "string",
    introduced: "array",
  },
  "check.provisional": { check: "string", generation: "number", paths: "array" },
  "check.step": { check: "string", calls: "array", introduced: "array", resolved: "array" },
  "commit.intended": { commit: "string", paths: "array" },
  "commit.published": { commit: "string", published: "number", merged: "number" },
  "commit.abandoned": { commit: "string", reason: "string" },
  "commit.undone": { commit: "string" },
  "commits.intended": { ref: "string", head: "string" },
  "commits.brought": { ref: "string", head: "string", count: "number" },
  "commits.abandoned": { ref: "string", reason: "string" },
};

/**
 * Checks one parsed line: shape, place and link. Returns the entry, or what is wrong with it in a few words.
 * `line` counts from 1; `head` is the hash of the line before.
 */
export function parseEntry(value: unknown, line: number, head: string): Entry | string {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return "not a JSON object";
  const entry = value as Record<string, unknown>;
  if (entry["seq"] !== line) return `seq is ${JSON.stringify(entry["seq"])}, expected ${line}`;
  if (entry["prev"] !== head) return "prev does not match the line before";
  if (typeof entry["at"] !== "string") return "no time";
  if (typeof entry["source"] !== "string" || !sources.has(entry["source"])) return "unknown source";
  const parent = entry["parent"];
  if (parent !== undefined && !(typeof parent === "number" && parent > 0 && parent < line)) {
    return "parent is not an earlier entry";
  }
  const kind = entry["kind"];
  if (typeof kind !== "string" || !Object.hasOwn(required, kind)) return "unknown kind";
  for (const [member, type] of Object.entries(required[kind as EntryKind])) {
    const found = Array.isArray(entry[member]) ? "array" : typeof entry[member];
    if (found !== type) return `${kind}: ${member} is ${found}, expected ${type}`;
  }
  return entry as unknown as Entry;
}
