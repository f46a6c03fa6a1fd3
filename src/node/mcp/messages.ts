import {
  ErrorCode,
  type JSONRPCErrorResponse,
  type JSONRPCMessage,
  type JSONRPCNotification,
  type JSONRPCRequest,
  type JSONRPCResultResponse,
  type RequestId,
} from "@modelcontextprotocol/sdk/types.js";
import * as z from "zod";

/** The longest message of a server, bytes. */
export const longestMessage = 64 * 1024 * 1024;

/** What agents put into `_meta` of a call to say which of their own tool calls it is for (Claude Code, Codex). */
const idMembers = ["claudecode/toolUseId", "callId"] as const;

const callParams = z.looseObject({
  name: z.string(),
  arguments: z.unknown().optional(),
});

const readParams = z.looseObject({
  uri: z.string().optional(),
  name: z.string().optional(),
  ref: z.looseObject({ uri: z.string().optional(), name: z.string().optional() }).optional(),
});

/** Requests that read something of a server; what is read is in their parameters. */
const reads: ReadonlySet<string> = new Set([
  "resources/read",
  "resources/subscribe",
  "prompts/get",
  "completion/complete",
]);

/** Requests of the agent that carry nothing of the workspace: they pass as they are. */
const passing: ReadonlySet<string> = new Set([
  "initialize",
  "ping",
  "logging/setLevel",
  "tools/list",
  "resources/list",
  "resources/templates/list",
  "resources/unsubscribe",
  "prompts/list",
  "tasks/get",
  "tasks/list",
  "tasks/result",
  "tasks/cancel",
]);

export function isRequest(message: JSONRPCMessage): message is JSONRPCRequest {
  return "method" in message && "id" in message;
}

export function isNotification(message: JSONRPCMessage): message is JSONRPCNotification {
  return "method" in message && !("id" in message);
}

export function isAnswer(
  message: JSONRPCMessage,
): message is JSONRPCResultResponse | JSONRPCErrorResponse {
  return !("method" in message);
}

/** What becomes of a request of the agent: it is judged, it passes, or it is not one that is passed on. */
export type RequestPlan =
  | { readonly kind: "gate"; readonly target: string; readonly input: unknown }
  | { readonly kind: "pass" }
  | { readonly kind: "refuse" };

export function planOf(request: JSONRPCRequest): RequestPlan {
  if (request.method === "tools/call") {
    const parsed = callParams.safeParse(request.params);
    if (!parsed.success) return { kind: "refuse" };
    return { kind: "gate", target: parsed.data.name, input: parsed.data.arguments };
  }
  if (reads.has(request.method)) {
    const { _meta: _, ...input } = request.params ?? {};
    const { uri, name, ref } = readParams.safeParse(input).data ?? {};
    return { kind: "gate", target: uri ?? name ?? ref?.uri ?? ref?.name ?? "", input };
  }
  return { kind: passing.has(request.method) ? "pass" : "refuse" };
}

/** The request with what may be sent in the place of what was asked. */
export function withInput(request: JSONRPCRequest, input: unknown): JSONRPCRequest {
  const params = request.params ?? {};
  if (request.method !== "tools/call") {
    const meta = params._meta === undefined ? {} : { _meta: params._meta };
    return { ...request, params: { ...(input as object), ...meta } };
  }
  const { arguments: _, ...rest } = params;
  return { ...request, params: input === undefined ? rest : { ...rest, arguments: input } };
}

export function toolCallIds(request: JSONRPCRequest): readonly string[] {
  const meta = request.params?._meta as Readonly<Record<string, unknown>> | undefined;
  return idMembers.map((name) => meta?.[name]).filter((id) => typeof id === "string");
}

export function errorAnswer(id: RequestId, code: number, message: string): JSONRPCErrorResponse {
  return { jsonrpc: "2.0", id, error: { code, message } };
}

/** How a refused call is told: an agent shows a tool's error to its model, which then knows why. */
export function refusal(request: JSONRPCRequest, message: string): JSONRPCMessage {
  const { id } = request;
  if (request.method !== "tools/call") return errorAnswer(id, ErrorCode.InvalidRequest, message);
  return {
    jsonrpc: "2.0",
    id,
    result: { content: [{ type: "text", text: message }], isError: true },
  };
}

/** The id that a `notifications/cancelled` names. */
export function cancelledId(message: JSONRPCNotification): RequestId | undefined {
  if (message.method !== "notifications/cancelled") return undefined;
  const id = (message.params as { requestId?: unknown } | undefined)?.requestId;
  return typeof id === "string" || typeof id === "number" ? id : undefined;
}

/** The protocol version in the answer to `initialize`. */
export function protocolVersion(result: unknown): string | undefined {
  return z.looseObject({ protocolVersion: z.string() }).safeParse(result).data?.protocolVersion;
}
