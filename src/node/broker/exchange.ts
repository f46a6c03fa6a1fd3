import type { EntryDraft } from "../../core/journal/entry.ts";
import type { Judgement } from "../../core/policy/judge.ts";
import { SecretLeak } from "../secrets/vault.ts";
import type { CheckedAddresses } from "./addresses.ts";
import { BodyIntake } from "./bodyIntake.ts";
import {
  likenessOf,
  newRequestId,
  recordFinished,
  type Exchange,
  type ExchangeParts,
} from "./exchangeState.ts";
import type { HeldPayload } from "./heldPayload.ts";
import { holdCall } from "./holdCall.ts";
import type { IncomingCall } from "./incomingCall.ts";
import { addressFloor, judgeCall } from "./judgeCall.ts";
import { pushRejection } from "./pushRejection.ts";
import { refuse, rejectPush, type Refusal } from "./refusal.ts";
import { prepareSending, sendCall, type PreparedCall } from "./sendCall.ts";
import { targetText } from "./target.ts";
import { sendWebSocket } from "./webSocket.ts";

/** Judges one call, and refuses, holds or sends it. Never rejects. */
export async function exchange(call: IncomingCall, parts: ExchangeParts): Promise<void> {
  const startedMs = performance.now();
  const id = newRequestId();
  const intake = new BodyIntake(call, parts.memory);
  try {
    const one = await judgeCall(id, call, intake, parts, startedMs);
    // Beside each other: the use of a secret shares the fsync of the call that it is for.
    const [, prepared] = await Promise.all([announce(one, one.judgement), preparedMeanwhile(one)]);
    await carryOut(one, prepared);
  } catch (error) {
    await failed(id, call, parts, startedMs, error);
  } finally {
    intake.release();
  }
}

/** Journals the call and its verdict; durable before anything leaves. */
async function announce(one: Exchange, judgement: Judgement): Promise<void> {
  const { id, call, parts, facts, parent } = one;
  const { host, vault } = parts;
  const started = {
    kind: "request.started",
    source: "broker",
    request: id,
    protocol: call.protocol,
    method: call.method,
    host: call.authority.host,
    port: call.authority.port,
    path: vault.scrub(targetText(call.target)),
    reversibility: judgement.reversibility,
    traffic: judgement.traffic,
  } as const;
  // Not by spreading, which takes ten times as long: every call does this.
  const draft: EntryDraft = Object.assign(
    started,
    parent,
    judgement.wayBack === undefined ? undefined : { wayBack: judgement.wayBack },
    facts.bodyBytes === undefined ? undefined : { bytes: facts.bodyBytes },
  );
  await Promise.all([host.record(draft), recordVerdict(one, judgement)]);
}

function recordVerdict(one: Exchange, judgement: Judgement): Promise<number> {
  const draft = {
    kind: "verdict",
    source: "broker",
    request: one.id,
    verdict: judgement.verdict,
    reversibility: judgement.reversibility,
    rule: judgement.rule,
    reason: one.parts.vault.scrub(judgement.reason),
  } as const;
  return one.parts.host.record(Object.assign(draft, one.parent));
}

/**
 * What can be made ready while the call and its verdict become durable. Only a call that is as good as sent: where a name is yet to
 * be looked up, its address may still deny it, and a secret that has not gone out is not one that was used.
 */
async function preparedMeanwhile(one: Exchange): Promise<PreparedCall | undefined> {
  const { judgement, facts, call } = one;
  const isSure = facts.modelHost || facts.address !== "unresolved";
  if (judgement.verdict !== "allow" || !isSure || call.webSocket !== undefined) return undefined;
  return await Promise.resolve(prepareSending(one, undefined));
}

async function carryOut(one: Exchange, prepared: PreparedCall | undefined): Promise<void> {
  const { judgement } = one;
  if (judgement.verdict === "deny") {
    if (
      judgement.rule.startsWith("floor.secret") ||
      judgement.rule === "floor.foreign-credential"
    ) {
      await alert(one, judgement.rule.slice("floor.".length), judgement.reason);
    }
    await finishRefused(one, deniedBy(one.id, judgement));
    return;
  }
  if (
    judgement.verdict === "hold" &&
    !one.parts.held.isApproved(likenessOf(one.facts, judgement))
  ) {
    const held = await holdCall(one);
    if (held.kind === "refusal") {
      await finishRefused(one, held.refusal);
      return;
    }
    one.parts.onPassed?.(one.facts);
    await send(one, held.payload, undefined);
    await held.done();
  } else {
    if (judgement.verdict === "hold") one.parts.onPassed?.(one.facts);
    await send(one, undefined, prepared);
  }
}

async function send(
  one: Exchange,
  held: HeldPayload | undefined,
  prepared: PreparedCall | undefined,
): Promise<void> {
  const checked = await checkedAddresses(one);
  if (checked === undefined) return;
  const { webSocket } = one.call;
  if (webSocket === undefined) await sendCall(one, checked, prepared ?? prepareSending(one, held));
  else await sendWebSocket(one, checked, held, webSocket);
}

/** Looks the name up, only now that the call may go; denies what turns out not to be public. */
async function checkedAddresses(one: Exchange): Promise<CheckedAddresses | undefined> {
  const checked = await one.parts.checked(one.call.authority);
  if (checked.class === "public" || one.facts.address !== "unresolved") return checked;
  const facts = { ...one.facts, address: checked.class };
  const again = addressFloor(facts, one.parts.judge(facts));
  if (again.verdict !== "deny") return checked;
  await recordVerdict(one, again);
  await finishRefused(one, deniedBy(one.id, again));
  return undefined;
}

function deniedBy(request: string, judgement: Judgement): Refusal {
  return {
    status: 403,
    code: "denied",
    message: `denied by ${judgement.rule}: ${judgement.reason}.`,
    advice: "Do not retry; say what you need so that a person can change the policy.",
    rule: judgement.rule,
    request,
  };
}

async function alert(one: Exchange, code: string, message: string): Promise<void> {
  await one.parts.host.record({ kind: "alert", source: "broker", ...one.parent, code, message });
}

async function finishRefused(one: Exchange, refusal: Refusal): Promise<void> {
  const { call, facts, taken } = one;
  const rejection =
    facts.git?.action === "push"
      ? pushRejection(facts.git, taken.bytes, refusal.message)
      : undefined;
  if (rejection === undefined) refuse(call.reply, call.headers, refusal);
  else rejectPush(call.reply, rejection);
  await recordFinished(one, { error: refusal.code });
}

/** Something went wrong on the way: told to the agent while the answer has not begun, journaled either way. */
async function failed(
  id: string,
  call: IncomingCall,
  parts: ExchangeParts,
  startedMs: number,
  error: unknown,
): Promise<void> {
  const leak = error instanceof SecretLeak;
  const message = parts.vault.scrub(error instanceof Error ? error.message : String(error));
  if (leak)
    await parts.host.record({ kind: "alert", source: "broker", code: "secret-leak", message });
  const one = { id, parts, parent: {}, startedMs, counted: { sent: 0, received: 0 } };
  await recordFinished(one, { error: message });
  if (call.gone.reason !== undefined) return;
  if (call.reply.started) call.reply.abort();
  else {
    refuse(call.reply, call.headers, {
      status: leak ? 403 : 502,
      code: leak ? "secret-leak" : "unreachable",
      message: leak ? `denied: ${message}.` : `could not reach ${call.authority.host}: ${message}.`,
      request: id,
    });
  }
}
