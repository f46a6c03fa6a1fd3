import type { CheckStatus } from "../journal/entry.ts";

/**
 * A transaction as a trace: plain data, free of any telemetry library. One span for the transaction, one for each tool call,
 * process, request, hold, file change, check, savepoint and commit. Names of attributes are those of the OpenTelemetry
 * semantic conventions where they have one (https://opentelemetry.io/docs/specs/semconv/, and for agents
 * https://github.com/open-telemetry/semantic-conventions-genai); the rest begin with `holdfast.`.
 */

/** Values of attributes. */
export type SpanValue = string | number | boolean | readonly string[];

export type SpanAttributes = Readonly<Record<string, SpanValue>>;

/** Something that happened during a span, at one moment. */
export interface SpanEvent {
  readonly name: string;
  /** ISO 8601. */
  readonly at: string;
  readonly attributes: SpanAttributes;
}

export interface TraceSpan {
  /** The `seq` of the entry that opened it: with the transaction it gives the span its id. */
  readonly seq: number;
  /** The `seq` of the span above; absent for the transaction itself. */
  readonly parent?: number;
  readonly name: string;
  /** `client` for what leaves the machine. */
  readonly kind: "internal" | "client";
  /** ISO 8601. */
  readonly startAt: string;
  readonly endAt: string;
  readonly status: "unset" | "ok" | "error";
  /** Why the status is `error`. */
  readonly message?: string;
  readonly attributes: SpanAttributes;
  readonly events: readonly SpanEvent[];
}

/** The names that we use of the semantic conventions. Those for agents are experimental and not in a package that is kept
 * up, so they stand here. */
export const names = {
  operation: "gen_ai.operation.name",
  agent: "gen_ai.agent.name",
  tool: "gen_ai.tool.name",
  toolCall: "gen_ai.tool.call.id",
  toolType: "gen_ai.tool.type",
  errorType: "error.type",
  pid: "process.pid",
  parentPid: "process.parent_pid",
  program: "process.executable.path",
  arguments: "process.command_args",
  directory: "process.working_directory",
  exitCode: "process.exit.code",
  file: "file.path",
  fileSize: "file.size",
  method: "http.request.method",
  host: "server.address",
  port: "server.port",
  path: "url.path",
  query: "url.query",
  scheme: "url.scheme",
  status: "http.response.status_code",
  sent: "http.request.body.size",
  received: "http.response.body.size",
} as const;

/** Longest text in an attribute, UTF-16 units; the journal has the whole of it. */
const longestText = 2048;
const mostArguments = 64;

/** A text as an attribute carries it: cut, with the count of what is missing. */
export function shortText(text: string): string {
  if (text.length <= longestText) return text;
  return `${text.slice(0, longestText)}… ${text.length - longestText} more`;
}

export function shortList(list: readonly string[]): readonly string[] {
  const kept = list.slice(0, mostArguments).map(shortText);
  return list.length > mostArguments ? [...kept, `… ${list.length - mostArguments} more`] : kept;
}

/** A path and the names in its query: values of a query often are keys. */
export function splitQuery(target: string): { readonly path: string; readonly query?: string } {
  const at = target.indexOf("?");
  if (at < 0) return { path: target };
  const query = target
    .slice(at + 1)
    .split("&")
    .map((pair) => `${pair.split("=")[0] ?? ""}=REDACTED`)
    .join("&");
  return { path: target.slice(0, at), query };
}

/** The moment so many milliseconds before another, ISO 8601. */
export function earlier(at: string, durationMs: number): string {
  return new Date(Date.parse(at) - Math.max(0, durationMs)).toISOString();
}

/** A check that found errors did its work; one that could not answer failed. */
export function checkError(status: CheckStatus, note: string | undefined): string | undefined {
  return status === "passed" || status === "failed" || status === "skipped"
    ? undefined
    : (note ?? status);
}
