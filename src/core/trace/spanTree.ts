import { names, shortText, type SpanEvent, type SpanValue, type TraceSpan } from "./span.ts";

/** Attributes as they are told; what is undefined is left out. */
export type Told = Readonly<Record<string, SpanValue | undefined>>;

/** A span while the fold builds it. */
interface GrowingSpan {
  readonly seq: number;
  readonly parent: number | undefined;
  name: string;
  readonly kind: TraceSpan["kind"];
  readonly startAt: string;
  endAt: string | undefined;
  status: TraceSpan["status"];
  message: string | undefined;
  readonly attributes: Record<string, SpanValue>;
  readonly events: SpanEvent[];
  /** Spans below it that have not ended. */
  openBelow: number;
}

/** How a span begins. */
export interface Opening {
  readonly name: string;
  readonly kind?: TraceSpan["kind"];
  readonly parent?: number | undefined;
  readonly startAt?: string;
  /** Ended already: it stands for one moment, or its length was told at its end. */
  readonly endAt?: string;
  readonly error?: string | undefined;
  readonly attributes: Told;
}

/** The spans of one trace, by the `seq` of the entry that opened each. The first that is opened is the root; what names no
 * span above it hangs under the root. */
export class SpanTree {
  readonly #spans = new Map<number, GrowingSpan>();
  #root: number | undefined;

  get root(): number | undefined {
    return this.#root;
  }

  seqs(): Iterable<number> {
    return this.#spans.keys();
  }

  has(seq: number | undefined): boolean {
    return seq !== undefined && this.#spans.has(seq);
  }

  /** True for a span that is there and has not ended. */
  isOpen(seq: number | undefined): boolean {
    const span = this.#spans.get(seq ?? 0);
    return span !== undefined && span.endAt === undefined;
  }

  /** True when a span and everything below it have ended. */
  settled(seq: number): boolean {
    const span = this.#spans.get(seq);
    return span?.endAt !== undefined && span.openBelow === 0;
  }

  /** One span as it is now, with `more` attributes; one that has not ended ends at `now` and is marked. */
  span(seq: number, now: string, more: Told): TraceSpan | undefined {
    const span = this.#spans.get(seq);
    if (span === undefined) return undefined;
    const { parent, name, kind, startAt, endAt, status, message, attributes, events } = span;
    const unfinished = endAt === undefined ? true : undefined;
    return {
      seq,
      ...(parent === undefined ? {} : { parent }),
      name,
      kind,
      startAt,
      endAt: endAt ?? now,
      status,
      ...(message === undefined ? {} : { message }),
      attributes: {
        ...attributes,
        ...defined(more),
        ...defined({ "holdfast.unfinished": unfinished, [names.errorType]: errorType(span) }),
        "holdfast.seq": seq,
      },
      events: [...events],
    };
  }

  open(entry: { readonly seq: number; readonly at: string }, opening: Opening): number {
    const { seq, at } = entry;
    const { parent, endAt, error } = opening;
    this.#root ??= seq;
    const above = this.has(parent) ? parent : this.#root;
    this.#spans.set(seq, {
      seq,
      parent: above === seq ? undefined : above,
      name: opening.name,
      kind: opening.kind ?? "internal",
      startAt: opening.startAt ?? at,
      endAt,
      status: error === undefined ? "unset" : "error",
      message: error === undefined ? undefined : shortText(error),
      attributes: defined(opening.attributes),
      events: [],
      openBelow: 0,
    });
    if (endAt === undefined) this.#countAbove(seq, 1);
    return seq;
  }

  /** Adds what became known; returns the span's `seq` when there is one. */
  tell(seq: number | undefined, attributes: Told, name?: string): number | undefined {
    const span = this.#spans.get(seq ?? 0);
    if (span === undefined) return undefined;
    if (name !== undefined) span.name = name;
    Object.assign(span.attributes, defined(attributes));
    return span.seq;
  }

  addEvent(seq: number | undefined, event: SpanEvent): number | undefined {
    const span = this.#spans.get(seq ?? 0);
    span?.events.push(event);
    return span?.seq;
  }

  end(seq: number | undefined, at: string, told: Told, error?: string): number | undefined {
    const span = this.#spans.get(seq ?? 0);
    if (span === undefined) return undefined;
    if (span.endAt === undefined) this.#countAbove(span.seq, -1);
    span.endAt = at;
    Object.assign(span.attributes, defined(told));
    if (error !== undefined) {
      span.status = "error";
      span.message = shortText(error);
    }
    return span.seq;
  }

  #countAbove(seq: number, by: number): void {
    let above = this.#spans.get(this.#spans.get(seq)?.parent ?? 0);
    while (above !== undefined) {
      above.openBelow += by;
      above = this.#spans.get(above.parent ?? 0);
    }
  }
}

/** What went wrong as one of few words: a longer text is no type. */
function errorType({ status, message }: GrowingSpan): string | undefined {
  if (status !== "error") return undefined;
  return message !== undefined && message.length <= 40 ? message : "_OTHER";
}

function defined(told: Told): Record<string, SpanValue> {
  const present: Record<string, SpanValue> = {};
  for (const [name, value] of Object.entries(told)) {
    if (value !== undefined) present[name] = value;
  }
  return present;
}
