import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import root from "@opentelemetry/otlp-proto-exporter-base/build/src/generated/root.js";

/** A value of an attribute as the definitions have it; one member is there. */
interface AnyValue {
  readonly stringValue?: string | null;
  readonly boolValue?: boolean | null;
  readonly intValue?: number | { toNumber(): number } | null;
  readonly arrayValue?: { readonly values: readonly AnyValue[] } | null;
}

interface WireSpan {
  readonly traceId: Uint8Array;
  readonly spanId: Uint8Array;
  readonly parentSpanId?: Uint8Array;
  readonly name: string;
  readonly kind: number;
  readonly attributes: readonly { readonly key: string; readonly value: AnyValue }[];
}

interface ExportRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: WireSpan["attributes"] };
    readonly scopeSpans: readonly { readonly spans: readonly WireSpan[] }[];
  }[];
}

/** The messages of the official protobuf definitions, compiled by the OpenTelemetry project. */
interface Definitions {
  readonly opentelemetry: {
    readonly proto: {
      readonly collector: {
        readonly trace: {
          readonly v1: {
            readonly ExportTraceServiceRequest: {
              decode(bytes: Uint8Array): ExportRequest;
              verify(message: object): string | null;
              fromObject(message: object): ExportRequest;
            };
          };
        };
      };
    };
  };
}

export const { ExportTraceServiceRequest } = (root as unknown as Definitions).opentelemetry.proto
  .collector.trace.v1;

/** A span as a collector has taken it. */
export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly name: string;
  readonly attributes: Readonly<Record<string, unknown>>;
}

export interface OtlpReceiver {
  readonly endpoint: string;
  readonly spans: readonly ReceivedSpan[];
  /** Everything that came, as it came. */
  readonly bytes: Buffer;
  readonly headers: readonly IncomingMessage["headers"][];
  close(): Promise<void>;
}

/**
 * Receives OTLP over HTTP as a collector does: protobuf by the official definitions, at `/v1/traces`; whatever is not that is
 * answered with an error. `hang` never answers.
 */
export async function otlpReceiver(
  mode: "take" | "refuse" | "hang" = "take",
): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const bodies: Buffer[] = [];
  const headers: IncomingMessage["headers"][] = [];
  const server: Server = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      headers.push(request.headers);
      bodies.push(body);
      if (mode === "hang") return;
      if (mode === "refuse") answer(response, 400);
      else answer(response, take(request, body, spans));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    spans,
    get bytes() {
      return Buffer.concat(bodies);
    },
    headers,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function take(request: IncomingMessage, body: Buffer, spans: ReceivedSpan[]): number {
  if (request.method !== "POST" || request.url !== "/v1/traces") return 404;
  if (request.headers["content-type"] !== "application/x-protobuf") return 415;
  const message = ExportTraceServiceRequest.decode(body);
  if (ExportTraceServiceRequest.verify(message) !== null) return 400;
  for (const span of spansOf(message)) spans.push(span);
  return 200;
}

/** The spans of one message, attributes as plain values. */
function spansOf(message: ExportRequest): readonly ReceivedSpan[] {
  const all = message.resourceSpans.flatMap(({ scopeSpans }) =>
    scopeSpans.flatMap((one) => one.spans),
  );
  return all.map((span) => ({
    traceId: hex(span.traceId),
    spanId: hex(span.spanId),
    parentSpanId: hex(span.parentSpanId ?? new Uint8Array()),
    name: span.name,
    attributes: Object.fromEntries(span.attributes.map(({ key, value }) => [key, plain(value)])),
  }));
}

function plain(value: AnyValue): unknown {
  const list = value.arrayValue?.values;
  if (list !== undefined) return list.map(plain);
  const number = value.intValue;
  if (typeof number === "object" && number !== null) return number.toNumber();
  return value.stringValue ?? value.boolValue ?? number;
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}

function answer(response: ServerResponse, status: number): void {
  response.writeHead(status, { "content-type": "application/x-protobuf" }).end();
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts);
}
