import type { Exchange } from "./exchangeState.ts";
import type { Refusal } from "./refusal.ts";

/** How long a client waits for a decision: until it is gone, or is asked to come back. */
export interface Patience extends Disposable {
  readonly signal: AbortSignal;
  /** Whether it was time that ended it, and not the client. */
  over(): boolean;
}

export function patienceOf(client: AbortSignal, seconds: number | undefined): Patience {
  const nothing = { over: () => false, [Symbol.dispose]: () => undefined };
  if (seconds === undefined) return { signal: client, ...nothing };
  const controller = new AbortController();
  const gone = (): void => controller.abort(client.reason);
  client.addEventListener("abort", gone, { once: true });
  let over = false;
  const timer = setTimeout(() => {
    over = true;
    controller.abort(new Error("the client is asked to come back"));
  }, seconds * 1000);
  return {
    signal: controller.signal,
    over: () => over,
    [Symbol.dispose]: () => {
      clearTimeout(timer);
      client.removeEventListener("abort", gone);
    },
  };
}

/** What a client is told whose patience is over: nothing was sent, and its call is still held. */
export function comeBack(one: Exchange, seconds: number): Refusal {
  return {
    rule: one.judgement.rule,
    request: one.id,
    status: 503,
    code: "held",
    message: "the call waits for a person; it has not been sent.",
    advice:
      "Make the very same call again later: it waits on, and is sent once, when it is approved.",
    retryAfterSeconds: seconds,
  };
}
