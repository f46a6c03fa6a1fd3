import { connect, constants, type ClientHttp2Session, type ClientHttp2Stream } from "node:http2";
import type { Dialler } from "./dial.ts";
import { headerOf, pairsOf, type Header } from "./headers.ts";
import { authorityText, type Authority } from "./names.ts";
import type { OutgoingBody, OutgoingCall, UpstreamAnswer } from "./outgoingCall.ts";

/** HTTP/2 sessions per authority, opened on the first call that came in over HTTP/2. An origin that does not speak it
 * is remembered, and its calls go over HTTP/1.1. */
export class Http2Sessions {
  readonly #dialler: Dialler;
  readonly #sessions = new Map<string, Promise<ClientHttp2Session | "http1Only">>();

  constructor(dialler: Dialler) {
    this.#dialler = dialler;
  }

  /** The answer, or `"http1Only"` when nothing was sent because the origin speaks HTTP/1.1 only. */
  async send(call: OutgoingCall): Promise<UpstreamAnswer | "http1Only"> {
    const session = await this.#sessionFor(call);
    return session === "http1Only" ? session : await exchange(session, call);
  }

  close(): void {
    for (const opening of this.#sessions.values()) {
      opening.then(
        (session) => session !== "http1Only" && session.destroy(),
        () => undefined,
      );
    }
    this.#sessions.clear();
  }

  #sessionFor(call: OutgoingCall): Promise<ClientHttp2Session | "http1Only"> {
    const key = authorityText(call.destination.authority);
    const known = this.#sessions.get(key);
    if (known !== undefined) return known;
    const forget = (): void => void this.#sessions.delete(key);
    const opening = this.#open(call, key, forget);
    this.#sessions.set(key, opening);
    opening.catch(forget);
    return opening;
  }

  async #open(
    call: OutgoingCall,
    key: string,
    forget: () => void,
  ): Promise<ClientHttp2Session | "http1Only"> {
    // The session outlives the call that opened it.
    const never = new AbortController().signal;
    const socket = await this.#dialler.secure(call.destination, ["h2", "http/1.1"], never);
    if (socket.alpnProtocol !== "h2") {
      socket.destroy();
      return "http1Only";
    }
    // What is pushed unasked would go nowhere.
    const options = { createConnection: () => socket, settings: { enablePush: false } };
    const session = connect(`https://${key}`, options);
    session.on("error", forget).on("close", forget).on("goaway", forget);
    session.setTimeout(60_000, () => session.close());
    return session;
  }
}

async function exchange(session: ClientHttp2Session, call: OutgoingCall): Promise<UpstreamAnswer> {
  const stream = session.request(headersFor(call), {
    endStream: call.body.kind === "none",
    waitForTrailers: call.body.kind === "stream",
    signal: call.gone.signal,
  });
  let trailers: Header[] = [];
  stream.once("trailers", (_headers, _flags, raw?: string[]) => {
    trailers = pairsOf(raw ?? []);
  });
  return await new Promise((resolve, reject) => {
    stream.on("error", reject);
    stream.once("close", () => reject(new Error("the origin closed the stream")));
    stream.once("response", (headers, _flags, raw?: string[]) => {
      resolve({
        status: headers[":status"] ?? 0,
        reason: "",
        headers: pairsOf(raw ?? []),
        body: stream,
        // The end of an HTTP/2 stream is told apart from its last bytes.
        complete: () => false,
        // A stream of Node's that breaks off may end as any other.
        isCutOff: () => stream.rstCode !== constants.NGHTTP2_NO_ERROR,
        trailers: () => trailers,
      });
    });
    writeBody(stream, call.body);
  });
}

function writeBody(stream: ClientHttp2Stream, body: OutgoingBody): void {
  if (body.kind === "bytes") stream.end(body.bytes);
  if (body.kind !== "stream") return;
  const source = body.stream;
  if (source.errored !== null) {
    stream.destroy(source.errored);
    return;
  }
  source.once("error", (error) => stream.destroy(error));
  stream.once("wantTrailers", () => {
    stream.sendTrailers(objectOf(body.trailers()));
  });
  source.pipe(stream);
}

function headersFor(call: OutgoingCall): Record<string, string | string[]> {
  const authority: Authority = call.destination.authority;
  return {
    ":method": call.method,
    ":scheme": call.scheme,
    ":authority": headerOf(call.headers, "host") ?? authorityText(authority, 443),
    ":path": call.target,
    ...objectOf(call.headers),
  };
}

const notInHttp2 = new Set(["host", "connection", "transfer-encoding", "keep-alive", "upgrade"]);

function objectOf(headers: readonly Header[]): Record<string, string | string[]> {
  const merged: Record<string, string | string[]> = {};
  for (const [name, value] of headers) {
    const lower = name.toLowerCase();
    if (notInHttp2.has(lower)) continue;
    const known = merged[lower];
    merged[lower] = known === undefined ? value : [known, value].flat();
  }
  return merged;
}
