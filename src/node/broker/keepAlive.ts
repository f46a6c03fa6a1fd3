import { headerOf } from "./headers.ts";
import type { IncomingCall } from "./incomingCall.ts";

/** Keeps a waiting client from giving up, with interim responses where they are known to be taken well. undici and Go
 * fail on unasked or repeated ones, and Python's http.client takes only 100. */
export function startKeepAlive(call: IncomingCall, seconds: number): Disposable {
  const status = interimFor(headerOf(call.headers, "user-agent") ?? "");
  if (status === undefined || seconds === 0 || call.protocol === "HTTP/1.0")
    return { [Symbol.dispose]: () => undefined };
  const timer = setInterval(() => call.reply.interim(status), seconds * 1000);
  timer.unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

function interimFor(userAgent: string): 100 | 102 | undefined {
  if (/^(?:curl|git)\//i.test(userAgent)) return 102;
  if (/python|urllib|requests|httpx|aiohttp/i.test(userAgent)) return 100;
  return undefined;
}
