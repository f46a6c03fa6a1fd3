import type { SpanAttributes, SpanValue, TraceSpan } from "../../core/trace/span.ts";
import { contentSpans } from "../fork/secretRules.ts";
import type { Vault } from "../secrets/vault.ts";

/** Stands between the texts that are looked through in one go; no rule reaches across it. */
const seam = "\n\u0000\n";

/**
 * Takes secrets out of the texts of spans: the known values of the transaction in any of their forms, and everything that
 * looks like a key, a token or a password in a URL. The journal has no known value; a person's own command line may.
 */
export async function scrubSpans(
  spans: readonly TraceSpan[],
  vault: Vault,
): Promise<readonly TraceSpan[]> {
  const texts = new Set<string>();
  const note = (text: string): string => {
    texts.add(text);
    return text;
  };
  for (const span of spans) mapTexts(span, note);
  const clean = await scrubTexts([...texts], vault);
  return spans.map((span) => mapTexts(span, (text) => clean.get(text) ?? ""));
}

/** Each text with its clean form. */
async function scrubTexts(
  texts: readonly string[],
  vault: Vault,
): Promise<ReadonlyMap<string, string>> {
  const known = texts.map((text) => vault.scrub(text).replaceAll("\u0000", "\\u0000"));
  const whole = known.join(seam);
  const parts: string[] = [];
  let at = 0;
  const found = [...(await contentSpans(whole))].sort((a, b) => a.start - b.start || b.end - a.end);
  for (const { start, end, name } of found) {
    if (end <= at) continue;
    parts.push(
      whole.slice(at, Math.max(at, start)),
      mark(name, whole.slice(Math.max(at, start), end)),
    );
    at = end;
  }
  parts.push(whole.slice(at));
  const clean = parts.join("").split(seam);
  // A rule that reached across a seam would have moved the texts against each other: then nothing of them is told.
  const aligned = clean.length === texts.length;
  return new Map(texts.map((text, index) => [text, aligned ? (clean[index] ?? "") : "[scrubbed]"]));
}

/** What stands in place of a secret; the seams inside it stay. */
function mark(name: string, secret: string): string {
  const seams = secret.split(seam).length - 1;
  return `[secret ${name}]${seam.repeat(seams)}`;
}

function mapTexts(span: TraceSpan, map: (text: string) => string): TraceSpan {
  const { message } = span;
  return {
    ...span,
    name: map(span.name),
    ...(message === undefined ? {} : { message: map(message) }),
    attributes: mapAttributes(span.attributes, map),
    events: span.events.map((event) => ({
      ...event,
      attributes: mapAttributes(event.attributes, map),
    })),
  };
}

function mapAttributes(attributes: SpanAttributes, map: (text: string) => string): SpanAttributes {
  const mapped: Record<string, SpanValue> = {};
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "string") mapped[name] = map(value);
    else mapped[name] = typeof value === "object" ? value.map(map) : value;
  }
  return mapped;
}
