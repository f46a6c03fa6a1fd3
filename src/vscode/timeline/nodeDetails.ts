import type { Entry, JsonValue, Kept } from "../../core/journal/entry.ts";
import { spokenPiece } from "../../core/timeline/spokenRow.ts";
import { plural } from "../../base/words.ts";
import type { RowAction, RowIcon, RowStatus } from "../../protocol/webview.ts";

/** What opening a node shows besides its children: a line (`text` absent) or a block of text. */
export interface NodeDetail {
  readonly key: string;
  readonly icon: RowIcon;
  readonly verb: string;
  readonly title: string;
  readonly status: RowStatus;
  readonly actions: readonly RowAction[];
  /** The lines that are shown, at most {@link shownLines}. */
  readonly text?: string;
  readonly diff: boolean;
  readonly lines: number;
  readonly linesInAll: number;
  /** Whole text, or the blob that has it. */
  readonly whole?: WholeText;
  /** A place in the workspace that the line is about. */
  readonly place?: { readonly path: string; readonly line: number };
  /** Whether the detail stands before the children or after them. */
  readonly after: boolean;
}

export type WholeText = { readonly text: string } | { readonly blob: string };

const shownLines = 14;
const shownColumns = 600;
const inlineText = 262_144;

/** The details of a node, from the entries that make it up. */
export function nodeDetails(
  entries: readonly Entry[],
  mismatch: string | undefined,
): readonly NodeDetail[] {
  const details: NodeDetail[] = [];
  if (mismatch !== undefined)
    details.push({ ...note("mismatch", "alert", "Not as said", mismatch), status: "failed" });
  const pieces = entries.map(spokenPiece).filter((piece) => piece !== undefined);
  // What came in pieces is read as one text.
  if (pieces.length > 0) details.push(block("data", "Told by the agent", pieces.join("")));
  for (const entry of entries) {
    if (spokenPiece(entry) === undefined) details.push(...detailsOf(entry));
  }
  return details;
}

function detailsOf(entry: Entry): readonly NodeDetail[] {
  switch (entry.kind) {
    case "tool.started":
      return [argumentsOf(entry.input)];
    case "tool.finished":
      return isEmpty(entry.output)
        ? []
        : [
            {
              ...block("output", entry.status === "failed" ? "Error" : "Result", entry.output),
              after: true,
            },
          ];
    case "process.exec":
      return [note(`exec${entry.seq}`, "process", "Program", `${entry.program} in ${entry.cwd}`)];
    case "process.exit":
      return [note("exit", "process", "Ended", exitText(entry.exitCode, entry.signal))];
    case "file.changed":
      return entry.from === undefined ? [] : [note("from", "file", "Was", entry.from)];
    case "request.started":
      return entry.wayBack === undefined
        ? []
        : [note("wayBack", "request", "Way back", entry.wayBack)];
    case "verdict":
      return [
        {
          ...note(
            `verdict${entry.seq}`,
            "check",
            "Verdict",
            `${entry.verdict} by rule ${entry.rule}: ${entry.reason}`,
          ),
          status: entry.verdict === "deny" ? "failed" : "none",
        },
      ];
    case "request.finished":
      return [note("response", "request", "Response", responseText(entry))];
    case "secret.used":
      return [
        note(
          `secret${entry.seq}`,
          "secret",
          "Secret used",
          `${entry.secret} in ${entry.where}, to ${entry.host}`,
        ),
      ];
    case "hold.opened":
      return [
        block(
          "payload",
          `Bytes to send, SHA-256 ${entry.payloadSha256.slice(0, 12)}`,
          entry.payload,
        ),
      ];
    case "hold.decided":
      return [note("decided", "check", "Decision", decisionText(entry))];
    case "check.finished":
    case "check.step":
      return checkDetails(entry);
    case "savepoint.taken":
      return [note("files", "savepoint", "Keeps", `${String(entry.files)} changed files`)];
    case "agent.event":
      return isEmpty(entry.data) ? [] : [block("data", "Told by the agent", entry.data)];
    case "commit.intended":
      return [
        block("paths", "Files", entry.paths.join("\n")),
        ...(entry.edited === undefined || entry.edited.length === 0
          ? []
          : [block("edited", "Written or chosen by you", entry.edited.join("\n"))]),
      ];
    case "commit.published":
      return [
        note(
          "published",
          "check",
          "Published",
          `${plural(entry.published, "file")}, ${String(entry.merged)} merged`,
        ),
      ];
    case "commits.brought":
      return [
        note("brought", "check", "Brought", `${plural(entry.count, "commit")} to ${entry.ref}`),
      ];
    case "commits.abandoned":
    case "commit.abandoned":
      return [note("abandoned", "alert", "Abandoned", entry.reason)];
    case "alert":
      return [note("alert", "alert", entry.code, entry.message)];
    default:
      return [];
  }
}

function checkDetails(
  entry: Extract<Entry, { kind: "check.finished" | "check.step" }>,
): readonly NodeDetail[] {
  const details: NodeDetail[] = [];
  if (entry.kind === "check.finished" && entry.note !== undefined)
    details.push(note("note", "check", "Note", entry.note));
  const lists = [
    ["introduced", "New", entry.introduced, "failed"],
    ["resolved", "Fixed", entry.resolved, "ok"],
  ] as const;
  for (const [key, verb, diagnostics, status] of lists) {
    diagnostics.forEach(({ path, line, message, code }, index) => {
      details.push({
        ...note(`${key}${index}`, "check", verb, `${path}:${line} ${message} (${code})`),
        status,
        actions: ["open"],
        place: { path, line },
      });
    });
  }
  return details;
}

function note(key: string, icon: RowIcon, verb: string, title: string): NodeDetail {
  return {
    key,
    icon,
    verb,
    title,
    status: "none",
    actions: [],
    lines: 0,
    linesInAll: 0,
    diff: false,
    after: false,
  };
}

/** A block of text; more than {@link shownLines} lines are cut and can be opened whole. */
function block(key: string, verb: string, value: Kept): NodeDetail {
  const blob = blobOf(value);
  const whole: WholeText =
    blob === undefined ? { text: readable(value as JsonValue) } : { blob: blob.blob };
  const text =
    blob === undefined ? readable(value as JsonValue).slice(0, inlineText) : blob.preview;
  const lines = text.replace(/\n$/, "").split("\n");
  const shown = lines
    .slice(0, shownLines)
    .map((line) => (line.length > shownColumns ? `${line.slice(0, shownColumns)}…` : line));
  const cut =
    blob !== undefined ||
    lines.length > shownLines ||
    lines.some((line) => line.length > shownColumns);
  const size =
    blob === undefined ? `${lines.length} lines` : `${blob.bytes.toLocaleString("en-US")} bytes`;
  return {
    key,
    icon: "message",
    verb,
    title: cut ? `the beginning of ${size}` : "",
    status: "none",
    actions: cut ? ["copy", "open"] : ["copy"],
    text: shown.join("\n"),
    lines: Math.max(1, shown.length),
    linesInAll: lines.length,
    whole,
    diff: false,
    after: false,
  };
}

/** Arguments of a call; those that replace one text by another read as a difference. */
function argumentsOf(input: Kept): NodeDetail {
  const blob = blobOf(input);
  if (blob !== undefined || typeof input !== "object" || input === null || Array.isArray(input))
    return block("input", "Arguments", input);
  const { old_string: old, new_string: replacement, ...rest } = input as Record<string, JsonValue>;
  if (typeof old !== "string" || typeof replacement !== "string")
    return block("input", "Arguments", input);
  const lines = [
    ...readable(rest)
      .split("\n")
      .map((line) => `  ${line}`),
    ...old.split("\n").map((line) => `- ${line}`),
    ...replacement.split("\n").map((line) => `+ ${line}`),
  ];
  return { ...block("input", "Arguments", lines.join("\n")), diff: true };
}

function blobOf(value: Kept): { blob: string; bytes: number; preview: string } | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  return (value as { $blob?: { blob: string; bytes: number; preview: string } }).$blob;
}

function isEmpty(value: Kept): boolean {
  return value === null || value === "" || (Array.isArray(value) && value.length === 0);
}

/** A JSON value as people read it: strings as they are, members on lines of their own, long strings below their name. */
export function readable(value: JsonValue): string {
  if (typeof value === "string") return value;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  if (Array.isArray(value)) {
    return value
      .map((item: JsonValue) => (typeof item === "string" ? item : JSON.stringify(item)))
      .join("\n");
  }
  return Object.entries(value)
    .map(([name, member]) => {
      if (typeof member !== "string") return `${name}: ${JSON.stringify(member)}`;
      return member.includes("\n") ? `${name}:\n${indented(member)}` : `${name}: ${member}`;
    })
    .join("\n");
}

function indented(text: string): string {
  return text
    .replace(/\n$/, "")
    .split("\n")
    .map((line) => `  ${line}`)
    .join("\n");
}

function exitText(exitCode: number | null, signal: string | undefined): string {
  return exitCode === null ? `by signal ${signal ?? "unknown"}` : `with exit code ${exitCode}`;
}

function responseText(entry: Extract<Entry, { kind: "request.finished" }>): string {
  const { status, bytesSent, bytesReceived, error } = entry;
  const outcome = error ?? (status === undefined ? "no status" : `status ${status}`);
  return `${outcome}, ${bytesSent.toLocaleString("en-US")} bytes sent, ${bytesReceived.toLocaleString("en-US")} received`;
}

function decisionText(entry: Extract<Entry, { kind: "hold.decided" }>): string {
  const words = { approve: "approved", deny: "denied", abort: "given up" }[entry.decision];
  const scope = { call: "for this call", transaction: "for the transaction", rule: "as a rule" }[
    entry.scope
  ];
  const told = entry.reason === undefined ? "" : `: ${entry.reason}`;
  return entry.decision === "approve" ? `${words} ${scope}` : `${words}${told}`;
}
