import type { CallFacts, Judgement } from "../../core/policy/judge.ts";
import { approvalCover } from "../../core/policy/policyBook.ts";
import { TooLargeToHold } from "./bodyIntake.ts";
import type { Exchange } from "./exchangeState.ts";
import { likenessOf } from "./exchangeState.ts";
import type { HeldPayload } from "./heldPayload.ts";
import { startKeepAlive } from "./keepAlive.ts";
import { authorityText } from "./names.ts";
import { emptyFraming, outgoingHeaders } from "./outgoingHead.ts";
import { comeBack, patienceOf } from "./patience.ts";
import type { Refusal } from "./refusal.ts";
import { targetText } from "./target.ts";

/** Held bodies up to this size stay in memory; larger ones are spooled to a 0600 file. */
const heldInMemory = 64 * 1024;

export type HoldOutcome =
  | { readonly kind: "approved"; readonly payload: HeldPayload; readonly done: () => Promise<void> }
  | { readonly kind: "refusal"; readonly refusal: Refusal };

/** Takes the whole call in, opens (or joins) its hold, and waits for a person without limit. Rejects when the client
 * goes away; the hold stays open then. */
export async function holdCall(one: Exchange): Promise<HoldOutcome> {
  const { call, parts, judgement, facts } = one;
  const payload = await takePayload(one);
  if ("code" in payload) return { kind: "refusal", refusal: payload };
  const { keepAliveSeconds, answerAfterSeconds } = parts.waiting;
  const keepAlive = startKeepAlive(call, keepAliveSeconds);
  const patience = patienceOf(call.gone.signal, answerAfterSeconds);
  try {
    const outcome = await parts.held.decide(
      payload,
      {
        request: one.id,
        ...one.parent,
        summary: parts.vault.scrub(judgement.summary),
        rule: judgement.rule,
        reason: judgement.reason,
        reversibility: judgement.reversibility,
        ...(judgement.wayBack === undefined ? {} : { wayBack: judgement.wayBack }),
        ...(judgement.blastRadius === undefined ? {} : { blastRadius: judgement.blastRadius }),
        ...ruleToAdd(facts, judgement),
        likeness: likenessOf(facts, judgement),
      },
      one.id,
      patience.signal,
    );
    if (outcome.kind === "approved") {
      if (outcome.scope === "rule") parts.onRuleApproved?.(facts, judgement);
      return outcome;
    }
    return { kind: "refusal", refusal: refusalOf(one, outcome) };
  } catch (error) {
    if (!patience.over()) throw error;
    return { kind: "refusal", refusal: comeBack(one, answerAfterSeconds ?? 0) };
  } finally {
    patience[Symbol.dispose]();
    keepAlive[Symbol.dispose]();
  }
}

/** What an approval as a rule would add, shown before it is given. */
function ruleToAdd(facts: CallFacts, judgement: Judgement): { readonly ruleToAdd?: string } {
  const cover = approvalCover(facts, judgement, "rule");
  return cover.kind === "rule" ? { ruleToAdd: JSON.stringify(cover.rule) } : {};
}

async function takePayload(one: Exchange): Promise<HeldPayload | Refusal> {
  const { call, parts, intake } = one;
  const { held } = parts;
  let body;
  try {
    body = await intake.spool(held.spoolFile(one.id), heldInMemory, held.room);
  } catch (error) {
    if (error instanceof TooLargeToHold) return tooLarge(one, error);
    throw error;
  }
  const framing = body.bytes === 0 ? emptyFraming(call.method) : { bytes: body.bytes };
  return {
    method: call.method,
    // `wss:` for a WebSocket: an approved read must not be what opens one.
    url: `${one.facts.scheme}://${authorityText(call.authority, call.scheme === "https" ? 443 : 80)}${targetText(call.target)}`,
    headers: outgoingHeaders(one, framing),
    body,
  };
}

/** Nothing of it was sent, and nothing of it stays. */
function tooLarge(one: Exchange, error: TooLargeToHold): Refusal {
  return {
    status: 413,
    code: "too-large",
    message: `${one.judgement.reason}; ${error.message}.`,
    advice: "Send less at once, or have the open holds decided first.",
    rule: one.judgement.rule,
    request: one.id,
  };
}

function refusalOf(
  one: Exchange,
  outcome:
    | { readonly kind: "spent" }
    | { readonly kind: "refused"; readonly decision: { decision: string; reason?: string } },
): Refusal {
  const common = { rule: one.judgement.rule, request: one.id };
  if (outcome.kind === "spent") {
    return {
      ...common,
      status: 409,
      code: "already-sent",
      message: "this very call was approved once and has been sent on another connection.",
      advice: "Check its effect before you make it again.",
    };
  }
  const { decision, reason } = outcome.decision;
  const because = reason === undefined ? "" : `: ${reason}`;
  return {
    ...common,
    status: 403,
    code: decision === "abort" ? "hold-aborted" : "hold-denied",
    message:
      decision === "abort"
        ? `the call was given up${because}.`
        : `a person looked at this call and denied it${because}.`,
    advice: "Do not retry the same call.",
  };
}
