import { randomUUID } from "node:crypto";
import type { CallFacts, Judge, Judgement } from "../../core/policy/judge.ts";
import type { BrokerHost } from "../../runtime/ports.ts";
import type { Vault } from "../secrets/vault.ts";
import type { CheckedAddresses } from "./addresses.ts";
import type { BodyIntake, Taken } from "./bodyIntake.ts";
import type { SharedBytes } from "./doorLimits.ts";
import type { HeldCalls } from "./heldCalls.ts";
import type { IncomingCall } from "./incomingCall.ts";
import type { Authority } from "./names.ts";
import type { Upstream } from "./outgoingCall.ts";

/** How a client waits while its call is held. */
export interface Waiting {
  /** How often it gets a sign of life, where it takes one; 0: never. */
  readonly keepAliveSeconds: number;
  /** After how long it is told to come back; absent: it waits as long as it likes. */
  readonly answerAfterSeconds?: number | undefined;
}

/** What every exchange works with. */
export interface ExchangeParts {
  readonly host: BrokerHost;
  readonly judge: Judge;
  readonly vault: Vault;
  readonly upstream: Upstream;
  /** Looks the name up: only once the call may go. */
  readonly checked: (authority: Authority) => Promise<CheckedAddresses>;
  readonly isModelHost: (facts: { readonly host: string; readonly port: number }) => boolean;
  readonly held: HeldCalls;
  readonly memory: SharedBytes;
  readonly waiting: Waiting;
  /** A call may go out: it counts against the limits of the task. */
  readonly onPassed?: (facts: CallFacts) => void;
  /** A person approved a call as a rule from now on. */
  readonly onRuleApproved?: (facts: CallFacts, judgement: Judgement) => void;
}

/** One call on its way through the broker. */
export interface Exchange {
  readonly id: string;
  readonly call: IncomingCall;
  readonly parts: ExchangeParts;
  readonly intake: BodyIntake;
  readonly taken: Taken;
  readonly facts: CallFacts;
  readonly judgement: Judgement;
  readonly parent: { readonly parent: number } | Record<string, never>;
  readonly startedMs: number;
  /** Bytes of the body that went out and came back. */
  readonly counted: { sent: number; received: number };
}

export function newRequestId(): string {
  // Drawn from a pool of random bytes; its first fields, where no fixed bits are, then as many of the last.
  const id = randomUUID();
  return `r${id.slice(0, 8)}${id.slice(-8)}`;
}

/** Which later calls an approval for the transaction covers. */
export function likenessOf(facts: CallFacts, judgement: Judgement): string {
  return (
    judgement.likeness ??
    JSON.stringify([judgement.rule, facts.kind, facts.method, facts.host, facts.port, facts.path])
  );
}

/** Journals how a call ended. */
export async function recordFinished(
  one: Pick<Exchange, "id" | "parts" | "parent" | "startedMs" | "counted">,
  end: { readonly status?: number; readonly error?: string },
): Promise<void> {
  const draft = {
    kind: "request.finished",
    source: "broker",
    request: one.id,
    bytesSent: one.counted.sent,
    bytesReceived: one.counted.received,
    durationMs: Math.round((performance.now() - one.startedMs) * 10) / 10,
  } as const;
  // Not by spreading, which takes ten times as long: every call does this.
  await one.parts.host.record(Object.assign(draft, one.parent, end));
}
