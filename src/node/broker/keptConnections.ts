import { Agent, type ClientRequest, type RequestOptions } from "node:http";
import type { Socket } from "node:net";
import type { Dialler } from "./dial.ts";
import { authorityText } from "./names.ts";
import type { OutgoingCall } from "./outgoingCall.ts";

/** What a request is made with: the call says where it goes. */
export interface Routed extends RequestOptions {
  readonly call: OutgoingCall;
}

/** A connection to an origin, and the request that has it or had it last. */
interface Connection {
  readonly socket: Socket;
  request: ClientRequest;
  /** While no request has it: until when one may (as `performance.now()` counts), and how much had come by it. */
  until: number;
  bytesRead: number;
}

/** How long a kept connection may be idle. */
const idleMs = 60_000;
/** How much sooner we give it up than the origin says that it will. */
const marginMs = 1000;
const sweepMs = 5000;
const mostFree = 64;
/** After how long the origin says that it gives an idle connection up, milliseconds. */
const announcedIdle = new WeakMap<Socket, number>();

/** Notes what an origin said of the connection by which its answer came, milliseconds. */
export function announceIdle(socket: Socket, milliseconds: number): void {
  announcedIdle.set(socket, milliseconds);
}

/**
 * Connections to origins, kept per scheme and authority; every new one goes through the dialler's checked addresses.
 *
 * Node's own Agent copies the options of a request three times and keeps lists that nothing here asks for, a tenth of what
 * a call costs. This one has what `node:http` wants of an agent, `addRequest`: it gives the request a socket, and takes
 * the socket back when it says that it is free. There is no bound of connections and so no queue: the door has one.
 */
export class KeptConnections extends Agent {
  readonly #dialler: Dialler;
  readonly #keeps: boolean;
  readonly #free = new Map<string, Connection[]>();
  #sweeper: NodeJS.Timeout | undefined;

  /** `keepAlive` false: each connection is for one request, which says so. */
  constructor(dialler: Dialler, keepAlive: boolean) {
    super({ keepAlive });
    this.#dialler = dialler;
    this.#keeps = keepAlive;
  }

  /** Called by `node:http`. */
  addRequest(request: ClientRequest, { call }: Routed): void {
    const name = `${call.scheme} ${authorityText(call.destination.authority)}`;
    const free = this.#takeFree(name);
    if (free !== undefined) {
      free.request = request;
      request.reusedSocket = true;
      request.onSocket(free.socket);
      return;
    }
    this.#connect(call).then(
      (socket) => {
        const connection = { socket, request, until: 0, bytesRead: 0 };
        socket.on("error", () => undefined); // `close` follows, and finds it in nobody's hands.
        socket.on("free", () => this.#takeBack(name, connection));
        request.onSocket(socket);
      },
      (error: unknown) => failWith(request, error as Error),
    );
  }

  override destroy(): void {
    clearInterval(this.#sweeper);
    for (const list of this.#free.values()) for (const { socket } of list) socket.destroy();
    this.#free.clear();
  }

  async #connect(call: OutgoingCall): Promise<Socket> {
    const never = new AbortController().signal;
    return call.scheme === "https"
      ? await this.#dialler.secure(call.destination, ["http/1.1"], never)
      : await this.#dialler.plain(call.destination, never);
  }

  /** The one that was used last, so that the others grow old. What came by one unasked would be taken for an answer. */
  #takeFree(name: string): Connection | undefined {
    const list = this.#free.get(name);
    for (let one = list?.pop(); one !== undefined; one = list?.pop()) {
      const { socket, until, bytesRead } = one;
      if (isOpen(socket) && until > performance.now() && socket.bytesRead === bytesRead) return one;
      socket.destroy();
    }
    return undefined;
  }

  #takeBack(name: string, connection: Connection): void {
    const { socket, request } = connection;
    const idle = Math.min(idleMs, (announcedIdle.get(socket) ?? Infinity) - marginMs);
    const list = this.#free.get(name) ?? [];
    const keeps = this.#keeps && request.shouldKeepAlive && isOpen(socket);
    if (!keeps || idle <= 0 || list.length >= mostFree) {
      socket.destroy();
      return;
    }
    connection.until = performance.now() + idle;
    connection.bytesRead = socket.bytesRead;
    if (list.push(connection) === 1) this.#free.set(name, list);
    this.#sweeper ??= setInterval(() => this.#sweep(), sweepMs).unref();
  }

  #sweep(): void {
    const now = performance.now();
    for (const [name, list] of this.#free) {
      const kept = list.filter((one) => isOpen(one.socket) && one.until > now);
      for (const one of list) if (!kept.includes(one)) one.socket.destroy();
      if (kept.length > 0) this.#free.set(name, kept);
      else this.#free.delete(name);
    }
    if (this.#free.size > 0) return;
    clearInterval(this.#sweeper);
    this.#sweeper = undefined;
  }
}

function isOpen(socket: Socket): boolean {
  return socket.writable && !socket.destroyed && !socket.readableEnded;
}

/** There is no socket to fail with the request: this is how Node's own Agent tells it. */
function failWith(request: ClientRequest, error: Error): void {
  const told = request as unknown as { onSocket(socket: undefined, error: Error): void };
  told.onSocket(undefined, error);
}
