import type { Kept } from "../../core/journal/entry.ts";
import type { HoldView } from "../../protocol/control.ts";
import type { HoldCard } from "../../protocol/webview.ts";

/** Longest payload that a card carries, in UTF-16 units; more opens in the editor. */
const payloadLimit = 65_536;

/** What the timeline knows about a held call. */
export interface HoldContext {
  readonly task: string | undefined;
  readonly method: string;
  readonly target: string;
  readonly host: string;
  readonly cause: string;
}

/** The card of an open hold. */
export function holdCard(view: HoldView, context: HoldContext): HoldCard {
  const payload = payloadOf(view.payload);
  const recoverable = view.reversibility === "recoverable";
  return {
    hold: view.hold,
    class: recoverable ? "recoverable" : "irreversible",
    openedAt: view.openedAt,
    summary: view.summary,
    method: context.method,
    target: context.target,
    rule: view.rule,
    reason: view.reason,
    ...(view.wayBack === undefined ? {} : { wayBack: view.wayBack }),
    ...(context.task === undefined ? {} : { task: context.task }),
    ...(view.blastRadius === undefined ? {} : { blastRadius: view.blastRadius }),
    payload: payload.text.slice(0, payloadLimit),
    payloadBytes: payload.bytes,
    payloadComplete: payload.complete && payload.text.length <= payloadLimit,
    payloadSha256: view.payloadSha256 ?? "",
    cause: context.cause,
    scope: recoverable ? "transaction" : "call",
    ruleText: view.ruleToAdd ?? `nothing: no rule can allow what ${view.rule} holds`,
  };
}

/** A kept payload as text. */
export function payloadOf(payload: unknown): {
  readonly text: string;
  readonly bytes: number;
  readonly complete: boolean;
  readonly blob?: string;
} {
  const kept = payload as Kept | undefined;
  if (typeof kept === "string")
    return { text: kept, bytes: new TextEncoder().encode(kept).length, complete: true };
  if (kept === undefined || kept === null) return { text: "", bytes: 0, complete: true };
  const blob = (kept as { $blob?: { blob: string; bytes: number; preview: string } }).$blob;
  if (blob !== undefined)
    return { text: blob.preview, bytes: blob.bytes, complete: false, blob: blob.blob };
  return payloadOf(JSON.stringify(kept, undefined, 2));
}
