import type { JsonValue } from "../../journal/entry.ts";
import type { McpFacts } from "../judge.ts";
import type { BodyInput } from "./bodyFacts.ts";

const methods =
  /^(?:initialize|ping|tools\/|resources\/|prompts\/|completion\/|logging\/|sampling\/|roots\/|elicitation\/|notifications\/|server\/discover$|tasks\/)/;

/** The messages of a Model Context Protocol request over HTTP (Streamable HTTP transport): one, or a batch. */
export function mcpFacts(
  input: BodyInput,
  body: JsonValue | undefined,
): readonly McpFacts[] | undefined {
  if (input.method !== "POST" || body === undefined) return undefined;
  const messages = Array.isArray(body) ? (body as JsonValue[]) : [body];
  const facts: McpFacts[] = [];
  for (const message of messages) {
    if (typeof message !== "object" || message === null || Array.isArray(message)) return undefined;
    const { jsonrpc, method, params } = message as Readonly<Record<string, JsonValue>>;
    if (jsonrpc !== "2.0") return undefined;
    if (method === undefined) continue; // The client's answer to a request of the server.
    if (typeof method !== "string" || !methods.test(method)) return undefined;
    facts.push({ server: `${input.host}${input.path}`, method, ...callOf(method, params) });
  }
  return messages.length === 0 ? undefined : facts;
}

function callOf(method: string, params: JsonValue | undefined): Partial<McpFacts> {
  if (method !== "tools/call" || typeof params !== "object" || params === null) return {};
  const { name, arguments: given } = params as Readonly<Record<string, JsonValue>>;
  return {
    ...(typeof name === "string" ? { tool: name } : {}),
    ...(given === undefined ? {} : { arguments: given }),
  };
}
