import type { Exchange } from "./exchangeState.ts";
import { withHeader, withoutHeaders, type Header } from "./headers.ts";
import { authorityText } from "./names.ts";

/** How the body of a call is framed on its way out. */
export type Framing = { readonly bytes: number } | "chunked" | "none";

/** The headers of a call as they go out, placeholders still in place: Host the one canonical authority, framing ours. */
export function outgoingHeaders(one: Pick<Exchange, "call">, framing: Framing): readonly Header[] {
  const { authority, scheme, headers } = one.call;
  const host = authorityText(authority, scheme === "https" ? 443 : 80);
  const kept = withoutHeaders(headers, "content-length");
  const hosted = kept.some(([name]) => name.toLowerCase() === "host")
    ? withHeader(kept, "Host", host)
    : [["Host", host] as const, ...kept];
  if (framing === "none") return hosted;
  if (framing === "chunked") return [...hosted, ["Transfer-Encoding", "chunked"]];
  return [...hosted, ["Content-Length", String(framing.bytes)]];
}

/** Methods whose requests say their length even when there is no body. */
export function emptyFraming(method: string): Framing {
  return ["POST", "PUT", "PATCH"].includes(method) ? { bytes: 0 } : "none";
}
