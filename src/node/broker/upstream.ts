import { request as requestHttp, type ClientRequest, type IncomingMessage } from "node:http";
import type { ClientGone } from "./clientGone.ts";
import type { Dialler } from "./dial.ts";
import { flatOf, headerOf, pairsOf } from "./headers.ts";
import { announceIdle, KeptConnections, type Routed } from "./keptConnections.ts";
import type {
  OutgoingBody,
  OutgoingCall,
  Switched,
  Upstream,
  UpstreamAnswer,
} from "./outgoingCall.ts";
import { Http2Sessions } from "./upstreamHttp2.ts";

/** HTTP/1.1 and HTTP/2 toward the outside. */
export function createUpstream(dialler: Dialler): Upstream {
  const kept = new KeptConnections(dialler, true);
  const single = new KeptConnections(dialler, false);
  const sessions = new Http2Sessions(dialler);
  const begin = (call: OutgoingCall): ClientRequest => {
    const options: Routed & { setHost: boolean } = {
      call,
      agent: call.fresh ? single : kept,
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
  if (seconds !== undefined) announceIdle(response.socket, Number(seconds) * 1000);
  return {
    status: response.statusCode ?? 0,
    reason: response.statusMessage ?? "",
    headers,
    body: response,
    complete: () => response.complete,
    isCutOff: () => !response.complete,
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
  if (stream.errored !== null) {
    request.destroy(stream.errored);
    return;
  }
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
