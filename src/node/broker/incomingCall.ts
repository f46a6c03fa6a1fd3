import type { IncomingMessage, ServerResponse } from "node:http";
import { constants, type Http2ServerRequest, type Http2ServerResponse } from "node:http2";
import type { Duplex, Readable } from "node:stream";
import { ClientGone } from "./clientGone.ts";
import { endToEnd, flatOf, headerOf, headersOf, pairsOf, repeated } from "./headers.ts";
import { trailersOf, type Header } from "./headers.ts";
import { parseAuthority, type Authority } from "./names.ts";
import { parseTarget, type Target } from "./target.ts";

/** One request at the door, whatever protocol carried it. */
export interface IncomingCall {
  readonly protocol: "HTTP/1.1" | "HTTP/1.0" | "HTTP/2";
  readonly scheme: "http" | "https";
  readonly method: string;
  readonly authority: Authority;
  readonly target: Target;
  /** Without those of one connection: what is judged, searched and shown is what goes out. */
  readonly headers: readonly Header[];
  readonly body: Readable;
  readonly hasBody: boolean;
  readonly declaredBytes: number | undefined;
  /** Complete once the body has ended. */
  trailers(): readonly Header[];
  /** Whether the body ended because the client broke off: over HTTP/2 a stream of Node's ends then as any other. */
  isCutOff(): boolean;
  /** The client is gone before the answer was complete. */
  readonly gone: ClientGone;
  readonly reply: Reply;
  /** The raw connection, when the client wants to switch it to WebSocket. */
  readonly webSocket?: Duplex;
}

/** The answer's way back to the client. */
export interface Reply {
  readonly started: boolean;
  /** An interim response; does nothing where the protocol or the client has no place for it. */
  interim(status: 100 | 102 | 103): void;
  begin(status: number, reason: string, headers: readonly Header[]): void;
  /** Sends the head now instead of with the first bytes. */
  flush(): void;
  write(chunk: Uint8Array): boolean;
  onDrain(listener: () => void): void;
  /** The last bytes, if any, and the end. */
  end(trailers: readonly Header[], last?: Uint8Array): void;
  /** Breaks the answer off, so that the client sees that it is not complete. */
  abort(): void;
}

export type ServerRequest = IncomingMessage | Http2ServerRequest;
export type ServerReply = ServerResponse | Http2ServerResponse;

/** Why a request is not even a call: answered at once, never sent. */
export interface Malformed {
  readonly status: 400 | 421;
  readonly code: string;
  readonly message: string;
}

/** Where the connection that carries a request leads: fixed by CONNECT, SOCKS or SNI; absent at the plain door. */
export interface Route {
  readonly scheme: "http" | "https";
  readonly authority: Authority | undefined;
}

/** Reads the head of a request. Host, authority and the connection's own destination must be one and the same. */
export function readCall(
  request: ServerRequest,
  response: ServerReply,
  route: Route,
): IncomingCall | Malformed {
  const http2 = request.httpVersionMajor === 2;
  const received = pairsOf(request.rawHeaders);
  const headers = endToEnd(received);
  const method = (request.method ?? "").toUpperCase();
  const place = placeOf(request, headers, route);
  if ("status" in place) return place;
  const twice = repeated(headers);
  if (twice !== undefined) {
    return malformed("repeated-header", `the header ${twice} is there twice and not the same`);
  }
  const target = parseTarget(place.target);
  if (target === undefined) return malformed("bad-target", "the request target is not valid");
  const length = headerOf(headers, "content-length");
  const chunked = headerOf(received, "transfer-encoding") !== undefined;
  const declaredBytes = length === undefined ? undefined : Number(length);
  return {
    protocol: http2 ? "HTTP/2" : request.httpVersion === "1.0" ? "HTTP/1.0" : "HTTP/1.1",
    scheme: place.scheme,
    method,
    authority: place.authority,
    target,
    headers,
    body: request,
    hasBody: http2
      ? !(request as Http2ServerRequest).stream.endAfterHeaders && declaredBytes !== 0
      : chunked || (declaredBytes ?? 0) > 0,
    declaredBytes,
    trailers: () => trailersOf(pairsOf(request.rawTrailers)),
    isCutOff: cutOffTest(request),
    gone: goneOf(response),
    reply: replyOver(response, request),
  };
}

function cutOffTest(request: ServerRequest): () => boolean {
  if (request.httpVersionMajor !== 2) return () => !request.complete;
  // The request forgets its stream at the end.
  const { stream } = request as Http2ServerRequest;
  return () => stream.aborted || stream.rstCode !== constants.NGHTTP2_NO_ERROR;
}

function malformed(code: string, message: string, status: 400 | 421 = 400): Malformed {
  return { status, code, message };
}

interface Place {
  readonly scheme: "http" | "https";
  readonly authority: Authority;
  readonly target: string;
}

function placeOf(
  request: ServerRequest,
  headers: readonly Header[],
  route: Route,
): Place | Malformed {
  const pseudo = request.httpVersionMajor === 2 ? (request as Http2ServerRequest).authority : "";
  const hosts = [...headersOf(headers, "host"), ...(pseudo === "" ? [] : [pseudo])];
  const url = request.url ?? "";
  const absolute = url.startsWith("/") ? null : /^(https?):\/\/([^/?#]*)(.*)$/i.exec(url);
  const scheme = absolute === null ? route.scheme : schemeOf(absolute[1] ?? "");
  const port = scheme === "https" ? 443 : 80;
  const named = absolute === null ? hosts[0] : absolute[2];
  const authority = parseAuthority(named ?? "", port);
  if (authority === undefined) return malformed("bad-host", "the request names no valid host");
  for (const host of hosts) {
    const other = parseAuthority(host, port);
    if (other?.host !== authority.host || other.port !== authority.port) {
      return malformed("host-mismatch", "Host and the request's own authority differ");
    }
  }
  const fixed = route.authority;
  if (fixed !== undefined && (fixed.host !== authority.host || fixed.port !== authority.port)) {
    return malformed("host-mismatch", "Host is not the host that the connection leads to", 421);
  }
  if (fixed !== undefined && scheme !== route.scheme) {
    return malformed("scheme-mismatch", "the scheme is not the connection's own", 421);
  }
  const rest = absolute === null ? url : (absolute[3] ?? "");
  return { scheme, authority, target: rest.startsWith("/") ? rest : `/${rest}` };
}

function schemeOf(text: string): "http" | "https" {
  return text.toLowerCase() === "https" ? "https" : "http";
}

function goneOf(response: ServerReply): ClientGone {
  const gone = new ClientGone();
  response.once("close", () => {
    if (!response.writableFinished) gone.happened(new Error("the client broke off"));
  });
  return gone;
}

function replyOver(response: ServerReply, request: ServerRequest): Reply {
  response.sendDate = false;
  return request.httpVersionMajor === 2
    ? new Http2Reply(response as Http2ServerResponse)
    : new Http1Reply(response as ServerResponse, request as IncomingMessage);
}

/** Bytes that may wait for a client before the origin is made to wait: a few of its chunks, so that they go out together. */
const mostWaiting = 128 * 1024;
const mostAsText = 8 * 1024;

function latin1Of(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
}

class Http1Reply implements Reply {
  readonly #response: ServerResponse;
  readonly #request: IncomingMessage;

  constructor(response: ServerResponse, request: IncomingMessage) {
    this.#response = response;
    this.#request = request;
  }

  get started(): boolean {
    return this.#response.headersSent;
  }

  interim(status: 100 | 102 | 103): void {
    if (this.started || this.#request.httpVersion === "1.0") return;
    if (status === 100) this.#response.writeContinue();
    else if (status === 102) this.#response.writeProcessing();
  }

  begin(status: number, reason: string, headers: readonly Header[]): void {
    // A raw list keeps order, case and repeats.
    this.#response.writeHead(status, reason, flatOf(headers));
  }

  flush(): void {
    this.#response.flushHeaders();
  }

  write(chunk: Uint8Array): boolean {
    return this.#response.write(chunk) || this.#response.writableLength < mostWaiting;
  }

  onDrain(listener: () => void): void {
    this.#response.once("drain", listener);
  }

  end(trailers: readonly Header[], last?: Uint8Array): void {
    if (trailers.length > 0) {
      this.#response.addTrailers(trailers.map(([name, value]): [string, string] => [name, value]));
    }
    if (last === undefined || last.length === 0) this.#response.end();
    // As text it goes out with the head in one write; as bytes in one that has to be put together.
    else if (last.length <= mostAsText) this.#response.end(latin1Of(last), "latin1");
    else this.#response.end(last);
  }

  abort(): void {
    this.#request.socket.destroy();
  }
}

class Http2Reply implements Reply {
  readonly #response: Http2ServerResponse;

  constructor(response: Http2ServerResponse) {
    this.#response = response;
  }

  get started(): boolean {
    return this.#response.headersSent;
  }

  interim(status: 100 | 102 | 103): void {
    if (!this.started && status === 100) this.#response.writeContinue();
  }

  begin(status: number, _reason: string, headers: readonly Header[]): void {
    this.#response.writeHead(status, http2Headers(headers));
  }

  flush(): void {
    // HTTP/2 sends a head at once.
  }

  write(chunk: Uint8Array): boolean {
    return this.#response.write(chunk) || this.#response.writableLength < mostWaiting;
  }

  onDrain(listener: () => void): void {
    this.#response.once("drain", listener);
  }

  end(trailers: readonly Header[], last?: Uint8Array): void {
    if (trailers.length > 0) this.#response.addTrailers(http2Headers(trailers));
    if (last === undefined || last.length === 0) this.#response.end();
    else this.#response.end(last);
  }

  abort(): void {
    this.#response.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
  }
}

function http2Headers(headers: readonly Header[]): Record<string, string | string[]> {
  const merged: Record<string, string | string[]> = {};
  for (const [name, value] of headers) {
    const lower = name.toLowerCase();
    const known = merged[lower];
    merged[lower] = known === undefined ? value : [known, value].flat();
  }
  return merged;
}
