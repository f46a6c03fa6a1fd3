import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import {
  CallToolRequestSchema,
  ErrorCode,
  InitializeRequestSchema,
  type JSONRPCMessage,
  ListToolsRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import type * as z from "zod";
import { errorAnswer, isRequest } from "./messages.ts";

const schemas: ReadonlyMap<string, z.ZodType> = new Map<string, z.ZodType>([
  ["initialize", InitializeRequestSchema],
  ["tools/call", CallToolRequestSchema],
  ["tools/list", ListToolsRequestSchema],
]);

/** The first thing that is wrong with a request, in one sentence; undefined where nothing is, or its method is another. */
function problemOf(message: { readonly method: string }): string | undefined {
  const issue = schemas.get(message.method)?.safeParse(message).error?.issues[0];
  if (issue === undefined) return undefined;
  const place = issue.path.slice(1).map(String).join(".");
  if (issue.code !== "invalid_type") return `${message.method}: ${place}: ${issue.message}`;
  const found = issue.path.reduce<unknown>(
    (at, name) => (at as Readonly<Record<PropertyKey, unknown>> | undefined)?.[name],
    message,
  );
  const wanted = `must be ${withArticle(issue.expected === "record" ? "object" : issue.expected)}`;
  const given = found === undefined ? "is missing" : `is ${withArticle(kindOf(found))}`;
  return `${message.method}: ${place === "" ? "params" : place} ${wanted}, and ${given}`;
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

function withArticle(kind: string): string {
  if (kind === "null") return kind;
  return `${/^[aeio]/.test(kind) ? "an" : "a"} ${kind}`;
}

/**
 * A connection of which a server sees no request of a wrong shape: those are answered here, as the wrong parameters that they
 * are. The server of the SDK would call them an error of its own, with the words of its schema.
 */
export class CheckedRequests implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #inner: Transport;

  constructor(inner: Transport) {
    this.#inner = inner;
  }

  start(): Promise<void> {
    this.#inner.onclose = () => this.onclose?.();
    this.#inner.onerror = (error) => this.onerror?.(error);
    this.#inner.onmessage = (message) => {
      const problem = isRequest(message) ? problemOf(message) : undefined;
      if (!isRequest(message) || problem === undefined) this.onmessage?.(message);
      else void this.send(errorAnswer(message.id, ErrorCode.InvalidParams, problem));
    };
    return this.#inner.start();
  }

  send(message: JSONRPCMessage): Promise<void> {
    return this.#inner.send(message);
  }

  close(): Promise<void> {
    return this.#inner.close();
  }
}
