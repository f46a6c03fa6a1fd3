import { Agent, request as requestHttp, type ClientRequest, type IncomingMessage } from "node:http";
import type { RequestOptions } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { ClientGone } from "./clientGone.ts";
import type { Dialler } from "./dial.ts";
import { flatOf, headerOf, pairsOf } from "./headers.ts";
import { authorityText } from "./names.ts";
import type {
  OutgoingBody,
  OutgoingCall,
  Switched,
  Upstream,
  UpstreamAnswer,
} from "./outgoingCall.ts";
import { Http2Sessions } from "./upstreamHttp2.ts";

interface Routed extends RequestOptions {
  readonly call: OutgoingCall;
}

/** How long a kept connection may be idle. */
const idleMs = 60_000;
/** How much sooner we give it up than the origin says that it will. */
const marginMs = 1000;
/** After how long the origin says that it gives an idle connection up, milliseconds. */
const announcedIdle = new WeakMap<Socket, number>();

/** Keeps connections per scheme and authority; every new one goes through the dialler's checked addresses. */
class DoorAgent extends Agent {
  readonly #dialler: Dialler;

  constructor(dialler: Dialler, keepAlive: boolean) {
    super({ keepAlive, maxFreeSockets: 64, timeout: idleMs, scheduling: "lifo" });
    this.#dialler = dialler;
  }

  /** What Node's own does, without the system calls: the dialler has set keep-alive when it connected. */
  override keepSocketAlive(socket: Socket): boolean {
    socket.unref();
    const announced = announcedIdle.get(socket) ?? idleMs + marginMs;
    const timeout = Math.min(idleMs, announced - marginMs);
    if (timeout > 0 && socket.timeout !== timeout) socket.setTimeout(timeout);
    return timeout > 0;
  }

  override getName(options?: RequestOptions): string {
    const { call } = options as Routed;
    return `${call.scheme} ${authorityText(call.destination.authority)}`;
  }

  override createConnection(
    options: RequestOptions,
    settled: (error: Error | null, socket: Duplex) => void,
  ): undefined {
    const { call } = options as Routed;
    const never = new AbortController().signal;
    const socket =
      call.scheme === "https"
        ? this.#dialler.secure(call.destination, ["http/1.1"], never)
        : this.#dialler.plain(call.destination, never);
    socket.then(
      (connected) => settled(null, connected),
      (error: unknown) => settled(error as Error, undefined as unknown as Duplex),
    );
    return undefined;
  }
}

/** HTTP/1.1 and HTTP/2 toward the outside. */
export function createUpstream(dialler: Dialler): Upstream {
  const kept = new DoorAgent(dialler, true);
  const sessions = new Http2Sessions(dialler);
  const begin = (call: OutgoingCall): ClientRequest => {
    const options: Routed & { setHost: boolean } = {
      call,
      agent: call.fresh ? new DoorAgent(dialler, false) : kept,
      method: call.method,
      path: call.target,
      setHost: false,
      headers: flatOf(call.headers),
    };
    const request = requestHttp(options);
    endWith(call.gone, request);
    return request;
  };
  const send = async (call: OutgoingCall): Promise<UpstreamAnswer> => {
    if (call.http2 && call.scheme === "https") {
      const answer = await sessions.send(call);
      if (answer !== "http1Only") return answer;
    }
    try {
      return await answerOf(begin(call), call.body);
    } catch (error) {
      if (!(error instanceof StaleConnection) || call.body.kind === "stream") throw error;
      return await answerOf(begin({ ...call, fresh: true }), call.body);
    }
  };
  return {
    send,
    upgrade: async (call) => await switchedOf(begin(call)),
    close() {
      kept.destroy();
      sessions.close();
    },
  };
}

/** A client that is gone needs no answer. */
function endWith(gone: ClientGone, request: ClientRequest): void {
  const destroy = (reason: Error): void => void request.destroy(reason);
  gone.listen(destroy);
  request.once("close", () => gone.unlisten(destroy));
}

/** A kept connection was closed by the origin just as it was used again: nothing was answered. */
class StaleConnection extends Error {}

async function answerOf(request: ClientRequest, body: OutgoingBody): Promise<UpstreamAnswer> {
  return await new Promise((resolve, reject) => {
    request.once("response", (response) => resolve(answerFrom(response)));
    request.on("error", (error: NodeJS.ErrnoException) => {
      const stale = request.reusedSocket && ["ECONNRESET", "EPIPE"].includes(error.code ?? "");
      reject(stale ? new StaleConnection(error.message, { cause: error }) : error);
    });
    // An origin that switches protocols unasked is not understood.
    request.once("upgrade", (_response, socket) => {
      socket.destroy();
      reject(new Error("the origin switched protocols unasked"));
    });
    writeBody(request, body);
  });
}

async function switchedOf(request: ClientRequest): Promise<UpstreamAnswer | Switched> {
  return await new Promise((resolve, reject) => {
    request.once("response", (response) => resolve(answerFrom(response)));
    request.once("error", reject);
    request.once("upgrade", (response, socket, head) => {
      resolve({ switched: true, headers: pairsOf(response.rawHeaders), socket, head });
    });
    request.end();
  });
}

function answerFrom(response: IncomingMessage): UpstreamAnswer {
  const headers = pairsOf(response.rawHeaders);
  const seconds = /^timeout=(\d+)/.exec(headerOf(headers, "keep-alive") ?? "")?.[1];
  if (seconds !== undefined) announcedIdle.set(response.socket, Number(seconds) * 1000);
  return {
    status: response.statusCode ?? 0,
    reason: response.statusMessage ?? "",
    headers,
    body: response,
    complete: () => response.complete,
    trailers: () => pairsOf(response.rawTrailers),
  };
}

function writeBody(request: ClientRequest, body: OutgoingBody): void {
  if (body.kind === "none") {
    request.end();
    return;
  }
  if (body.kind === "bytes") {
    request.end(body.bytes);
    return;
  }
  const { stream } = body;
  stream.once("error", (error) => request.destroy(error));
  stream.once("end", () => {
    const trailers = body.trailers();
    if (trailers.length > 0) {
      request.addTrailers(trailers.map(([name, value]): [string, string] => [name, value]));
    }
    request.end();
  });
  stream.pipe(request, { end: false });
}
