import { createServer as createHttpServer, ServerResponse } from "node:http";
import type { IncomingMessage, Server as HttpServer, ServerOptions } from "node:http";
import { createSecureServer, type Http2SecureServer } from "node:http2";
import { createServer, type Server, type Socket } from "node:net";
import { ByteReader } from "./byteReader.ts";
import { connectionFacts } from "./callFacts.ts";
import type { CertificateAuthority } from "./certificates.ts";
import { readClientHello, type Hello } from "./clientHello.ts";
import type { Dialler } from "./dial.ts";
import type { DoorLimits } from "./doorLimits.ts";
import { endWith } from "./endWith.ts";
import { exchange } from "./exchange.ts";
import type { ExchangeParts } from "./exchangeState.ts";
import { clearHttp2, http2GoAway } from "./http2GoAway.ts";
import { readCall, type IncomingCall, type Malformed, type Route } from "./incomingCall.ts";
import type { ServerReply, ServerRequest } from "./incomingCall.ts";
import { authorityText, canonicalHost, parseAuthority, type Authority } from "./names.ts";
import { tunnelOpaque } from "./opaqueTunnel.ts";
import { peek } from "./peek.ts";
import { acceptSocks } from "./socks.ts";
import { TransparentNotices } from "./transparentNotices.ts";

/** A protocol in which the server speaks first is known by the client's silence. On the web's own ports the client
 * speaks first, so a silent one is only slow. */
const silenceMs = 3000;
const patienceMs = 60_000;
const webPorts: ReadonlySet<number> = new Set([80, 443, 8080, 8443]);
const maximalServers = 256;
const longestLine = 400;
/** Of a request's first line and headers. */
const headBytes = 16 * 1024;
/** Holds wait without limit, so nothing here may give up on a request or a kept connection. */
const patient: ServerOptions = {
  requestTimeout: 0,
  headersTimeout: 60_000,
  keepAliveTimeout: 0,
  maxHeaderSize: headBytes,
};

/**
 * The one way out. Everything that the sandbox sends arrives here as a byte stream and is told apart by its first bytes:
 * the transparent path's own line, SOCKS5, TLS without a proxy, or HTTP, of which CONNECT opens a tunnel. Inside a
 * tunnel the first bytes decide again: TLS is terminated, plain HTTP is read, anything else is an opaque connection.
 */
export class Door {
  readonly #parts: ExchangeParts;
  readonly #notices: TransparentNotices;
  readonly #authority: CertificateAuthority;
  readonly #dialler: Dialler;
  readonly #sockets = new Set<Socket>();
  readonly #listener: Server;
  readonly #plain: HttpServer;
  readonly #secure = new Map<string, Promise<Http2SecureServer>>();
  /** Where a plain connection inside a tunnel leads. */
  readonly #routes = new WeakMap<object, Route>();
  readonly #waiting = { count: 0 };
  /** Connections on which an answer has begun and not ended: nothing else may be said there. */
  readonly #answering = new WeakSet<object>();
  readonly #limits: DoorLimits;

  constructor(
    parts: ExchangeParts,
    authority: CertificateAuthority,
    dialler: Dialler,
    limits: DoorLimits,
  ) {
    this.#parts = parts;
    this.#limits = limits;
    this.#notices = new TransparentNotices(parts);
    this.#authority = authority;
    this.#dialler = dialler;
    this.#plain = createHttpServer(patient);
    this.#serve(this.#plain, (request) => this.#routes.get(request.socket) ?? plainDoor);
    this.#plain.on("connect", (request, socket, head) => {
      if (head.length > 0) socket.unshift(head);
      // The same object, typed as what it is.
      this.#connect(request.url ?? "", request.socket);
    });
    this.#listener = createServer({ allowHalfOpen: true }, (socket) => this.#accept(socket));
    this.#listener.maxConnections = limits.connections;
    this.#listener.once("drop", () => {
      const message = `more than ${limits.connections} connections at once; what came after them was closed`;
      void this.#alert("connections", message);
    });
  }

  async listen(path: string): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#listener.once("error", reject);
      this.#listener.listen(path, () => resolve());
    });
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#listener.close(() => resolve()));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #accept(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
    // A client that breaks off is no error of ours; `close` follows.
    socket.on("error", () => undefined);
    this.#tellApart(socket).catch(() => socket.destroy());
  }

  async #tellApart(socket: Socket): Promise<void> {
    const first = await peek(socket, () => true, 60_000);
    if (first.length === 0 && socket.readableEnded) socket.destroy();
    else if (first[0] === 1) await this.#transparent(socket);
    else if (first[0] === 5) {
      const authority = await acceptSocks(socket);
      if (authority !== undefined) await this.#tunnel(socket, authority);
    } else if (first[0] === 22) {
      const { hello } = await this.#hello(socket, patienceMs);
      const name = typeof hello === "string" ? undefined : canonicalHost(hello.serverName ?? "");
      if (name === undefined) socket.destroy();
      else await this.#tunnel(socket, { host: name, port: 443 });
    } else {
      await this.#plainHttp(socket, first);
    }
  }

  /** HTTP without TLS. HTTP/2 begun that way is refused in its own words; such clients go on over HTTP/1.1 or TLS. */
  async #plainHttp(socket: Socket, first: Buffer): Promise<void> {
    if (!first.toString("latin1", 0, 4).startsWith("PRI ")) {
      whole(socket);
      this.#plain.emit("connection", socket);
      return;
    }
    await this.#alert("clear-http2", clearHttp2);
    endWith(socket, http2GoAway(clearHttp2));
  }

  /** What the bridge of the transparent path sends (native/src/bridgeTransparent.c). Who sends it is inside like any
   * other: it can say no more than CONNECT can. */
  async #transparent(socket: Socket): Promise<void> {
    const reader = new ByteReader(socket);
    await reader.take(1);
    const first = await reader.line(longestLine);
    if (first === "notices") {
      for (let line = await reader.line(longestLine); line !== undefined;) {
        await this.#notices.take(line);
        line = await reader.line(longestLine);
      }
      socket.destroy();
      return;
    }
    const [, host = "", port = ""] = /^tcp (\S+) (\d+)$/.exec(first ?? "") ?? [];
    const authority = parseAuthority(`${host}:${port}`);
    if (authority === undefined) socket.destroy();
    else await this.#tunnel(socket, authority);
  }

  #connect(target: string, socket: Socket): void {
    const authority = parseAuthority(target);
    if (authority === undefined) {
      endWith(socket, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
      return;
    }
    socket.write("HTTP/1.1 200 Connection Established\r\n\r\n");
    this.#tunnel(socket, authority).catch(() => socket.destroy());
  }

  async #hello(socket: Socket, waitMs: number): Promise<{ hello: Hello; first: Buffer }> {
    const first = await peek(
      socket,
      (bytes) => readClientHello(bytes) !== "incomplete" || bytes.length > 64 * 1024,
      waitMs,
    );
    return { hello: readClientHello(first), first };
  }

  async #tunnel(socket: Socket, authority: Authority): Promise<void> {
    const patience = webPorts.has(authority.port) ? patienceMs : silenceMs;
    const { hello, first } = await this.#hello(socket, patience);
    if (hello === "incomplete" && (first.length > 0 || socket.readableEnded)) {
      socket.destroy();
    } else if (typeof hello === "object") {
      await this.#terminate(socket, authority, hello.serverName);
    } else if (/^[A-Z]{3,16} \S/.test(first.toString("latin1", 0, 32))) {
      this.#routes.set(socket, { scheme: "http", authority });
      await this.#plainHttp(socket, first);
    } else {
      await tunnelOpaque(socket, authority, this.#parts, this.#dialler, this.#waiting);
    }
  }

  async #terminate(
    socket: Socket,
    authority: Authority,
    serverName: string | undefined,
  ): Promise<void> {
    if (serverName !== undefined && canonicalHost(serverName) !== authority.host) {
      await this.#alert(
        "sni-mismatch",
        `${serverName} was asked for inside a tunnel to ${authority.host}`,
      );
      socket.destroy();
      return;
    }
    // Model traffic and hosts with a secret need to be looked into: their placeholders are filled here.
    const fills =
      this.#parts.isModelHost(authority) || this.#parts.vault.isBound({ ...authority, path: "/" });
    const judgement = this.#parts.judge(connectionFacts(authority, false));
    if (!fills && judgement.uninspected === true && judgement.verdict === "allow") {
      await tunnelOpaque(socket, authority, this.#parts, this.#dialler, this.#waiting);
      return;
    }
    const server = await this.#secureServer(authority);
    whole(socket);
    server.emit("connection", socket);
  }

  #secureServer(authority: Authority): Promise<Http2SecureServer> {
    const key = authorityText(authority);
    const known = this.#secure.get(key);
    if (known !== undefined) return known;
    const making = this.#makeSecureServer(authority);
    this.#secure.set(key, making);
    const oldest = this.#secure.keys().next().value;
    if (this.#secure.size > maximalServers && oldest !== undefined) this.#secure.delete(oldest);
    return making;
  }

  async #makeSecureServer(authority: Authority): Promise<Http2SecureServer> {
    const leaf = await this.#authority.leafFor(authority.host);
    const server = createSecureServer({
      ...leaf,
      ...patient,
      allowHTTP1: true,
      settings: { maxConcurrentStreams: this.#limits.streams },
    });
    Object.assign(server, { ...patient, timeout: 0 });
    this.#serve(server, () => ({ scheme: "https", authority }));
    let told = false;
    server.on("tlsClientError", (error: NodeJS.ErrnoException) => {
      if (
        told ||
        !/ALERT_(?:UNKNOWN_CA|BAD_CERTIFICATE|CERTIFICATE_UNKNOWN)/.test(error.code ?? "")
      ) {
        return;
      }
      told = true;
      const host = authorityText(authority);
      const message = `a client does not trust the transaction's certificate for ${host}`;
      void this.#alert("certificate-distrusted", message);
    });
    return server;
  }

  #serve(server: HttpServer | Http2SecureServer, routeOf: (request: ServerRequest) => Route): void {
    const handle = (request: ServerRequest, response: ServerReply): void => {
      response.on("error", () => undefined);
      if (request.httpVersionMajor === 1) {
        const { socket } = request;
        this.#answering.add(socket);
        response.once("close", () => this.#answering.delete(socket));
      }
      const call = readCall(request, response, routeOf(request));
      if ("code" in call) {
        this.#refuseMalformed(call, response);
        return;
      }
      // The journal refused: nothing may leave.
      exchange(call, this.#parts).catch(() => call.reply.abort());
    };
    const listening = server as HttpServer;
    listening.on("request", handle);
    listening.on("checkContinue", (request, response) => {
      response.writeContinue();
      handle(request, response);
    });
    listening.on("upgrade", (request, socket, head) => {
      this.#upgrade(request, request.socket, head, routeOf(request));
      // The same object; an error here is the client's breaking off.
      socket.on("error", () => undefined);
    });
    listening.on("clientError", (error: NodeJS.ErrnoException, socket) => {
      const unreadable = this.#answering.has(socket) ? undefined : whyUnreadable(error);
      if (unreadable === undefined) socket.destroy();
      else endWith(socket, unreadable);
    });
  }

  #refuseMalformed(call: Malformed, response: ServerReply): void {
    if (call.code === "host-mismatch") void this.#alert(call.code, call.message);
    response.writeHead(call.status, { "content-type": "text/plain", connection: "close" });
    (response as NodeJS.WritableStream).end(`Holdfast: ${call.message}\n`);
  }

  /** A WebSocket handshake is judged like any call. A client that offers another protocol (`h2c`) and sends no body is
   * answered over HTTP/1.1, as if it had not. */
  #upgrade(request: IncomingMessage, socket: Socket, head: Buffer, route: Route): void {
    const response = new ServerResponse(request);
    response.assignSocket(socket);
    response.shouldKeepAlive = false;
    response.once("finish", () => endWith(socket));
    const webSocket = request.headers.upgrade?.toLowerCase() === "websocket";
    const call = readCall(request, response, route);
    if ("code" in call) {
      this.#refuseMalformed(call, response);
      return;
    }
    if (!webSocket && call.hasBody) {
      response.writeHead(400).end();
      return;
    }
    if (head.length > 0) socket.unshift(head);
    const empty: IncomingCall = {
      ...call,
      hasBody: false,
      ...(webSocket ? { webSocket: socket } : {}),
    };
    exchange(empty, this.#parts).catch(() => socket.destroy());
  }

  async #alert(code: string, message: string): Promise<void> {
    await this.#parts.host.record({ kind: "alert", source: "broker", code, message });
  }
}

/** The answer to what cannot be read as HTTP; none where the connection itself is broken. */
function whyUnreadable({ code = "" }: NodeJS.ErrnoException): string | undefined {
  const [status, words] =
    code === "HPE_HEADER_OVERFLOW"
      ? ["431 Request Header Fields Too Large", `the head of a request may have ${headBytes} bytes`]
      : code === "ERR_HTTP_REQUEST_TIMEOUT"
        ? ["408 Request Timeout", "the head of the request did not come"]
        : ["400 Bad Request", "this is not a request that can be read in one way alone"];
  if (!code.startsWith("HPE_") && !code.startsWith("ERR_HTTP_")) return undefined;
  const body = `Holdfast: ${words}\n`;
  const head = `Content-Type: text/plain\r\nContent-Length: ${body.length}\r\nConnection: close`;
  return `HTTP/1.1 ${status}\r\n${head}\r\n\r\n${body}`;
}

/** HTTP and TLS know no half of a connection: what takes the socket over ends its side with the client's. */
function whole(socket: Socket): void {
  socket.allowHalfOpen = false;
}

const plainDoor: Route = { scheme: "http", authority: undefined };
