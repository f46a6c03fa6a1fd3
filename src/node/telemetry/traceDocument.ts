import { JsonTraceSerializer } from "@opentelemetry/otlp-transformer";
import type { Entry } from "../../core/journal/entry.ts";
import { TraceFold } from "../../core/trace/traceFold.ts";
import type { Vault } from "../secrets/vault.ts";
import { readableSpan, spanOrigin } from "./otlpSpans.ts";
import { scrubSpans } from "./scrubSpans.ts";

/** A journal as one OTLP/JSON document (`ExportTraceServiceRequest`), as collectors take it at `/v1/traces`. Two exports of
 * the same journal are the same text. */
export async function traceDocument(
  entries: readonly Entry[],
  origin: { readonly transaction: string; readonly version: string },
  vault: Vault,
): Promise<string> {
  const fold = new TraceFold();
  for (const entry of entries) fold.apply(entry);
  const shared = spanOrigin(origin.transaction, origin.version);
  const spans = await scrubSpans(fold.spans(), vault);
  const bytes = JsonTraceSerializer.serializeRequest(
    spans.map((span) => readableSpan(span, shared)),
  );
  return new TextDecoder().decode(bytes);
}
