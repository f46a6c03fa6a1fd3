import { ExportResultCode, type ExportResult } from "@opentelemetry/core";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter } from "@opentelemetry/sdk-trace";
import { messageOf } from "../../base/errors.ts";
import type { Entry } from "../../core/journal/entry.ts";
import { TraceFold } from "../../core/trace/traceFold.ts";
import type { Vault } from "../secrets/vault.ts";
import { readableSpan, spanOrigin, type SpanOrigin } from "./otlpSpans.ts";
import { scrubSpans } from "./scrubSpans.ts";
import type { TraceTarget } from "./traceSettings.ts";

/** How often what has ended is handed over, milliseconds. */
const defaultTickMs = 2000;
/** Spans that wait at most: what comes beyond is dropped and counted. */
const queueLimit = 4096;
/** Spans that are handed over at once at most. */
const batchLimit = 512;
/** How long an end waits for the last ones, milliseconds. */
const closeMs = 2000;

export interface LiveTraceOptions {
  readonly target: TraceTarget;
  readonly transaction: string;
  readonly version: string;
  readonly vault: Vault;
  /** Called once, at the first failure. */
  readonly onProblem: (message: string) => void;
  readonly tickMs?: number;
}

/**
 * Sends the spans of a running transaction to an OTLP endpoint (HTTP, protobuf). It only listens: taking an entry is
 * synchronous and cheap, nothing waits for the receiver, and what cannot be sent is dropped. A span is sent when it and
 * everything below it have been over for one tick, so that effects that are seen a moment later still count in it; an effect
 * that comes later still is sent as its own span all the same.
 */
export class LiveTraces {
  readonly #fold = new TraceFold();
  readonly #options: LiveTraceOptions;
  readonly #origin: SpanOrigin;
  readonly #processor: BatchSpanProcessor;
  /** Made or changed and not sent; true once it was found settled. */
  readonly #waiting = new Map<number, boolean>();
  readonly #timer: NodeJS.Timeout;
  /** The batch that is being handed over. */
  #handing: Promise<void> | undefined;
  #failed = false;
  #dropped = 0;
  #closed = false;

  constructor(options: LiveTraceOptions) {
    this.#options = options;
    this.#origin = spanOrigin(options.transaction, options.version);
    const { url, headers } = options.target;
    const exporter = new OTLPTraceExporter({
      url,
      headers: { ...headers },
      timeoutMillis: 10_000,
      concurrencyLimit: 2,
    });
    this.#processor = new BatchSpanProcessor({
      exporter: this.#watched(exporter),
      maxQueueSize: queueLimit,
      maxExportBatchSize: batchLimit,
      scheduledDelayMillis: options.tickMs ?? defaultTickMs,
      exportTimeoutMillis: 12_000,
    });
    this.#timer = setInterval(() => this.#tick(), options.tickMs ?? defaultTickMs);
    this.#timer.unref();
  }

  /** Takes what an earlier process of the transaction has journaled, and sent. */
  seed(entries: readonly Entry[]): void {
    for (const entry of entries) this.#fold.apply(entry);
  }

  take(entry: Entry): void {
    if (this.#closed) return;
    for (const seq of this.#fold.apply(entry)) {
      if (this.#waiting.has(seq) || this.#waiting.size < queueLimit) this.#waiting.set(seq, false);
      else this.#dropped++;
    }
  }

  /** Hands over everything, what runs included, and waits for it a moment. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    clearInterval(this.#timer);
    const late = new Promise<void>((resolve) => setTimeout(resolve, closeMs).unref());
    const last = async (): Promise<void> => {
      await this.#handing;
      while (this.#waiting.size > 0) await this.#hand([...this.#waiting.keys()]);
      await this.#processor.shutdown();
    };
    await Promise.race([last().catch((error: unknown) => this.#problem(messageOf(error))), late]);
  }

  #tick(): void {
    const ready: number[] = [];
    for (const [seq, before] of this.#waiting) {
      const settled = this.#fold.settled(seq);
      if (settled && before) ready.push(seq);
      else if (settled !== before) this.#waiting.set(seq, settled);
    }
    if (ready.length === 0 || this.#handing !== undefined) return;
    this.#handing = this.#hand(ready)
      .catch((error: unknown) => this.#problem(messageOf(error)))
      .finally(() => (this.#handing = undefined));
  }

  /** Hands one batch of them over. */
  async #hand(seqs: readonly number[]): Promise<void> {
    const batch = seqs.slice(0, batchLimit);
    const spans = batch.flatMap((seq) => this.#fold.span(seq) ?? []);
    for (const seq of batch) this.#waiting.delete(seq);
    for (const span of await scrubSpans(spans, this.#options.vault)) {
      this.#processor.onEnd(readableSpan(span, this.#origin));
    }
  }

  /** The exporter, with its failures told once. */
  #watched(exporter: SpanExporter): SpanExporter {
    return {
      export: (spans: ReadableSpan[], done: (result: ExportResult) => void) => {
        exporter.export(spans, (result) => {
          if (result.code !== ExportResultCode.SUCCESS) {
            this.#problem(result.error?.message ?? "the receiver refused them");
          }
          // Told already; the processor would only tell it again.
          done({ code: ExportResultCode.SUCCESS });
        });
      },
      forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
      shutdown: () => exporter.shutdown(),
    };
  }

  #problem(message: string): void {
    if (this.#failed) return;
    this.#failed = true;
    const { host } = new URL(this.#options.target.url);
    const dropped = this.#dropped === 0 ? "" : `; ${this.#dropped} spans were dropped`;
    this.#options.onProblem(`traces could not be sent to ${host}: ${message}${dropped}`);
  }
}
