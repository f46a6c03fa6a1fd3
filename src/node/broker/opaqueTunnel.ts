import type { Socket } from "node:net";
import { createHash } from "node:crypto";
import { connectionFacts } from "./callFacts.ts";
import type { Dialler } from "./dial.ts";
import { likenessOf, newRequestId, recordFinished, type ExchangeParts } from "./exchangeState.ts";
import { addressFloor, causeOf } from "./judgeCall.ts";
import type { HeldPayload } from "./heldPayload.ts";
import { authorityText, type Authority } from "./names.ts";
import type { Judgement } from "../../core/policy/judge.ts";

/**
 * Connections that may wait for a person at once. A client that has sent its end of stream may still wait for what comes
 * back, so nothing tells it from one that is gone before something is written to it: such a socket is kept until the
 * decision, and this bounds what that costs. The hold is one for all connections to the same place, and stays open.
 */
const mostWaiting = 256;

/** A connection that is passed on without being looked into: only where the policy allows it by host, or a person
 * approved it. Judged, journaled and counted like a call; ends the socket when it may not pass. */
export async function tunnelOpaque(
  socket: Socket,
  authority: Authority,
  parts: ExchangeParts,
  dialler: Dialler,
  waiting: { count: number },
): Promise<void> {
  const id = newRequestId();
  const startedMs = performance.now();
  const facts = connectionFacts(authority, parts.isModelHost(authority));
  const judgement = addressFloor(facts, parts.judge(facts));
  const gone = new AbortController();
  socket.once("close", () => gone.abort(new Error("the client broke off")));
  const tool = await causeOf(parts.host, judgement);
  const parent = tool === undefined ? {} : { parent: tool };
  const counted = { sent: 0, received: 0 };
  const one = { id, parts, parent, startedMs, counted, waiting };
  await announce(one, authority, judgement);
  let error: string | undefined;
  try {
    await passed(one, authority, judgement, likenessOf(facts, judgement), gone.signal);
    const checked = await parts.checked(authority);
    const again = addressFloor({ ...facts, address: checked.class }, judgement);
    if (again.verdict === "deny") throw new Error(again.reason);
    const upstream = await dialler.plain({ authority, addresses: checked.addresses }, gone.signal);
    await relay(socket, upstream, counted);
  } catch (failure) {
    error = failure instanceof Error ? failure.message : String(failure);
    socket.destroy();
  }
  await recordFinished(one, error === undefined ? {} : { error });
}

type One = Parameters<typeof recordFinished>[0] & { readonly waiting: { count: number } };

async function announce(one: One, authority: Authority, judgement: Judgement): Promise<void> {
  const { host } = one.parts;
  const common = { source: "broker", ...one.parent, request: one.id } as const;
  await Promise.all([
    host.record({
      kind: "request.started",
      ...common,
      protocol: "not inspected",
      method: "CONNECT",
      host: authority.host,
      port: authority.port,
      path: "",
      reversibility: judgement.reversibility,
      traffic: "opaque",
    }),
    host.record({
      kind: "verdict",
      ...common,
      verdict: judgement.verdict,
      reversibility: judgement.reversibility,
      rule: judgement.rule,
      reason: judgement.reason,
    }),
  ]);
}

/** Returns when the connection may pass; throws with the reason when not. */
async function passed(
  one: One,
  authority: Authority,
  judgement: Judgement,
  likeness: string,
  signal: AbortSignal,
): Promise<void> {
  const { parts } = one;
  if (judgement.verdict === "allow" || parts.held.isApproved(likeness)) return;
  if (judgement.verdict === "deny") throw new Error(`denied: ${judgement.reason}`);
  const payload: HeldPayload = {
    method: "CONNECT",
    url: authorityText(authority),
    headers: [],
    body: { bytes: 0, sha256: createHash("sha256").digest("hex"), start: Buffer.alloc(0) },
  };
  const opening = {
    request: one.id,
    ...one.parent,
    summary: judgement.summary,
    rule: judgement.rule,
    reason: judgement.reason,
    reversibility: judgement.reversibility,
    likeness,
  };
  if (one.waiting.count >= mostWaiting) throw new Error("too many connections wait for a person");
  one.waiting.count += 1;
  const outcome = await parts.held
    .decide(payload, opening, one.id, signal)
    .finally(() => (one.waiting.count -= 1));
  if (outcome.kind !== "approved") throw new Error("a person denied this connection");
  await outcome.done();
}

async function relay(
  client: Socket,
  origin: Socket,
  counted: { sent: number; received: number },
): Promise<void> {
  client.on("data", (chunk: Buffer) => (counted.sent += chunk.length));
  origin.on("data", (chunk: Buffer) => (counted.received += chunk.length));
  client.pipe(origin).pipe(client);
  await new Promise<void>((resolve) => {
    const stop = (): void => {
      client.destroy();
      origin.destroy();
      resolve();
    };
    client.once("close", stop);
    origin.once("close", stop).on("error", stop);
  });
}
