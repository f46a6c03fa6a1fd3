import { createHash } from "node:crypto";
import {
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Attributes,
  type AttributeValue,
  type HrTime,
  type SpanContext,
} from "@opentelemetry/api";
import { resourceFromAttributes, type Resource } from "@opentelemetry/resources";
import type { ReadableSpan } from "@opentelemetry/sdk-trace";
import type { SpanAttributes, TraceSpan } from "../../core/trace/span.ts";

const kinds = { internal: SpanKind.INTERNAL, client: SpanKind.CLIENT } as const;

const codes = {
  unset: SpanStatusCode.UNSET,
  ok: SpanStatusCode.OK,
  error: SpanStatusCode.ERROR,
} as const;

function hexOf(text: string, bytes: number): string {
  return createHash("sha256")
    .update(text)
    .digest("hex")
    .slice(0, bytes * 2);
}

/** Id of a transaction's trace, 16 bytes in hex: the same in every export of it. */
export function traceIdOf(transaction: string): string {
  return hexOf(`holdfast trace ${transaction}`, 16);
}

/** Id of the span that an entry opened, 8 bytes in hex. */
export function spanIdOf(transaction: string, seq: number): string {
  return hexOf(`holdfast span ${transaction} ${seq}`, 8);
}

/** What all spans of one program have in common; made once, because spans are grouped by it. */
export interface SpanOrigin {
  readonly transaction: string;
  readonly version: string;
  readonly resource: Resource;
}

export function spanOrigin(transaction: string, version: string): SpanOrigin {
  const resource = resourceFromAttributes({
    "service.name": "holdfast",
    "service.version": version,
  });
  return { transaction, version, resource };
}

/** A span in the form that the OpenTelemetry exporters take. */
export function readableSpan(span: TraceSpan, origin: SpanOrigin): ReadableSpan {
  const { transaction, version, resource } = origin;
  const startTime = hrTime(span.startAt);
  const endTime = later(startTime, hrTime(span.endAt));
  const own = contextOf(transaction, span.seq);
  const { parent, message } = span;
  return {
    name: span.name,
    kind: kinds[span.kind],
    spanContext: () => own,
    ...(parent === undefined ? {} : { parentSpanContext: contextOf(transaction, parent) }),
    startTime,
    endTime,
    duration: between(startTime, endTime),
    status: { code: codes[span.status], ...(message === undefined ? {} : { message }) },
    attributes: attributesOf(span.attributes),
    links: [],
    events: span.events.map(({ name, at, attributes }) => ({
      name,
      time: hrTime(at),
      attributes: attributesOf(attributes),
    })),
    ended: true,
    resource,
    instrumentationScope: { name: "holdfast", version },
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

function contextOf(transaction: string, seq: number): SpanContext {
  return {
    traceId: traceIdOf(transaction),
    spanId: spanIdOf(transaction, seq),
    traceFlags: TraceFlags.SAMPLED,
  };
}

function attributesOf(attributes: SpanAttributes): Attributes {
  const copy: Record<string, AttributeValue> = {};
  for (const [name, value] of Object.entries(attributes)) {
    copy[name] = typeof value === "object" ? [...value] : value;
  }
  return copy;
}

/** Seconds and nanoseconds since 1970. */
function hrTime(at: string): HrTime {
  const milliseconds = Date.parse(at);
  return [Math.floor(milliseconds / 1000), (milliseconds % 1000) * 1_000_000];
}

/** A clock that was set back must not make a span end before it began. */
function later(start: HrTime, end: HrTime): HrTime {
  return end[0] < start[0] || (end[0] === start[0] && end[1] < start[1]) ? start : end;
}

function between(start: HrTime, end: HrTime): HrTime {
  const nanoseconds = (end[0] - start[0]) * 1e9 + (end[1] - start[1]);
  return [Math.floor(nanoseconds / 1e9), nanoseconds % 1e9];
}
