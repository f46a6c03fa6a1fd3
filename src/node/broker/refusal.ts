import { headerOf, type Header } from "./headers.ts";
import type { Reply } from "./incomingCall.ts";

/** Why a call was not sent, in words for the agent. */
export interface Refusal {
  readonly status: number;
  /** `denied`, `hold-denied`, `secret-leak`, `unreachable`, … */
  readonly code: string;
  readonly message: string;
  readonly rule?: string;
  readonly request?: string;
  /** What the agent can do; e.g. retry the same call later. */
  readonly advice?: string;
  readonly retryAfterSeconds?: number;
}

/** Answers a call that was not sent: JSON in a shape that the common model and API clients read their message from,
 * plain text for git and for those that ask for text. */
export function refuse(reply: Reply, requestHeaders: readonly Header[], refusal: Refusal): void {
  const plain = wantsText(requestHeaders);
  const line = [refusal.message, refusal.advice].filter((part) => part !== undefined).join(" ");
  const body = Buffer.from(
    plain
      ? `Holdfast: ${line}\n`
      : `${JSON.stringify({
          type: "error",
          error: {
            type: `holdfast_${refusal.code}`,
            code: refusal.code,
            message: `Holdfast: ${line}`,
          },
          holdfast: { ...refusal },
        })}\n`,
  );
  reply.begin(refusal.status, reasonOf(refusal.status), [
    ["Content-Type", plain ? "text/plain; charset=utf-8" : "application/json; charset=utf-8"],
    ["Content-Length", String(body.length)],
    ["X-Holdfast", refusal.code],
    ["Cache-Control", "no-store"],
    ...(refusal.retryAfterSeconds === undefined
      ? []
      : ([["Retry-After", String(refusal.retryAfterSeconds)]] satisfies Header[])),
  ]);
  reply.write(body);
  reply.end([]);
}

/** Answers a push in git's own protocol. */
export function rejectPush(reply: Reply, report: Uint8Array): void {
  reply.begin(200, "OK", [
    ["Content-Type", "application/x-git-receive-pack-result"],
    ["Content-Length", String(report.length)],
    ["Cache-Control", "no-cache"],
  ]);
  reply.write(report);
  reply.end([]);
}

function wantsText(headers: readonly Header[]): boolean {
  const agent = headerOf(headers, "user-agent") ?? "";
  const accept = headerOf(headers, "accept") ?? "*/*";
  return /^git\//.test(agent) || (/text\/(?:plain|html)/.test(accept) && !/json/.test(accept));
}

function reasonOf(status: number): string {
  const reasons: Readonly<Record<number, string>> = {
    400: "Bad Request",
    403: "Forbidden",
    409: "Conflict",
    413: "Content Too Large",
    421: "Misdirected Request",
    502: "Bad Gateway",
    503: "Service Unavailable",
  };
  return reasons[status] ?? "Refused";
}
