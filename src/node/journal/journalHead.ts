import { closeSync, openSync, readSync } from "node:fs";
import path from "node:path";
import { parseJson } from "../../base/jsonl.ts";

/** Where the journal of a transaction lies. */
export function journalPath(root: string): string {
  return path.join(root, "journal.jsonl");
}

/** Longest first line that is looked at, bytes: it has the task and the prompt, which a person typed. */
const headLimit = 1024 * 1024;
const pieceBytes = 16 * 1024;

/**
 * The workspace that a transaction works on, from the first line of its journal and nothing else: cheap, and not verified.
 * Undefined while there is no whole first line, or when it says nothing of the kind.
 */
export function workspaceInHead(root: string): string | undefined {
  const line = firstLine(journalPath(root));
  const entry = (line === undefined ? undefined : parseJson(line)) as
    { readonly kind?: unknown; readonly workspace?: unknown } | null | undefined;
  if (entry?.kind !== "transaction.begun") return undefined;
  return typeof entry.workspace === "string" ? entry.workspace : undefined;
}

function firstLine(file: string): string | undefined {
  let fd: number;
  try {
    fd = openSync(file, "r");
  } catch {
    return undefined; // not there yet, or not there any more
  }
  try {
    let read = Buffer.alloc(0);
    while (read.length < headLimit) {
      const piece = Buffer.alloc(pieceBytes);
      const bytes = readSync(fd, piece, 0, piece.length, read.length);
      if (bytes === 0) return undefined;
      read = Buffer.concat([read, piece.subarray(0, bytes)]);
      const end = read.indexOf(10);
      if (end >= 0) return read.toString("utf8", 0, end);
    }
    return undefined;
  } finally {
    closeSync(fd);
  }
}
