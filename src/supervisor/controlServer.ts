import { createServer, type Server, type Socket } from "node:net";
import { chmodSync, rmSync } from "node:fs";
import path from "node:path";
import { Failure } from "../base/errors.ts";
import { socketPath } from "../node/state/socketPath.ts";
import {
  controlMethods,
  controlVersion,
  type ControlMethods,
  type ControlNotifications,
  type WireEntry,
} from "../protocol/control.ts";
import { Responder, type Handlers } from "../protocol/endpoint.ts";
import { lineTransport, listenLines } from "./lineTransport.ts";

/** Everything a client may ask, but for the handshake and the subscription, which belong to a connection. */
export type ControlHandlers = Omit<Handlers<ControlMethods>, "hello" | "subscribe">;

export interface ControlServer {
  /** Number of connected clients. */
  readonly clients: number;
  /** Sends new entries to every subscriber. */
  publish(entry: WireEntry): void;
  close(reason: string): Promise<void>;
}

interface Source {
  readonly transaction: string;
  entriesAfter(seq: number): readonly WireEntry[];
}

/** Entries in one notification at most. */
const batch = 500;

/** One client's connection. A client that does not read is dropped when it is this far behind, bytes. */
const farBehind = 64 * 1024 * 1024;

class Connection {
  readonly responder: Responder<ControlMethods, ControlNotifications>;
  readonly #socket: Socket;
  readonly #source: Source;
  #greeted = false;
  #sent: number | undefined;
  /** Those that the client wants; all without. */
  #kinds: ReadonlySet<string> | undefined;
  #pending: WireEntry[] = [];
  #flushing = false;

  constructor(socket: Socket, source: Source, handlers: ControlHandlers) {
    this.#socket = socket;
    this.#source = source;
    const all: Handlers<ControlMethods> = {
      ...handlers,
      hello: ({ version }) => this.#hello(version),
      subscribe: ({ after, kinds }) => {
        this.#kinds = kinds && new Set(kinds);
        this.#subscribe(after);
        return null;
      },
    };
    this.responder = new Responder(controlMethods, all, lineTransport(socket));
    listenLines(socket, (message) => {
      if (!this.#greeted && (message as { method?: unknown }).method !== "hello") {
        socket.destroy();
        return;
      }
      void this.responder.receive(message);
    });
  }

  push(entry: WireEntry): void {
    if (this.#sent === undefined || entry.seq <= this.#sent) return;
    this.#sent = entry.seq;
    if (this.#kinds?.has(entry.kind) === false) return;
    this.#pending.push(entry);
    if (this.#flushing) return;
    this.#flushing = true;
    setImmediate(() => this.#flush());
  }

  #hello(version: number): { version: number; transaction: string; pid: number } {
    if (version !== controlVersion) {
      const fix = "reload the window or reinstall, so that both sides are of the same version";
      throw new Failure(
        "failed",
        "version",
        `control version ${version}, expected ${controlVersion}`,
        fix,
      );
    }
    this.#greeted = true;
    return { version: controlVersion, transaction: this.#source.transaction, pid: process.pid };
  }

  #subscribe(after: number): void {
    this.#sent = after;
    for (const entry of this.#source.entriesAfter(after)) this.push(entry);
  }

  #flush(): void {
    this.#flushing = false;
    while (this.#pending.length > 0 && !this.#socket.destroyed) {
      this.responder.notify("entries", this.#pending.splice(0, batch));
      if (this.#socket.writableLength > farBehind) this.#socket.destroy();
    }
  }
}

/** Listens on `control.sock` in the transaction's directory: 0600, in a 0700 directory, never visible in the sandbox. */
export async function startControlServer(
  root: string,
  source: Source,
  handlers: ControlHandlers,
): Promise<ControlServer> {
  const connections = new Map<Socket, Connection>();
  const server = createServer((socket) => {
    connections.set(socket, new Connection(socket, source, handlers));
    socket.on("error", () => socket.destroy());
    socket.on("close", () => connections.delete(socket));
  });
  await listenPrivately(server, root, "control.sock");
  return {
    get clients() {
      return connections.size;
    },
    publish: (entry) => {
      for (const connection of connections.values()) connection.push(entry);
    },
    close: async (reason) => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const [socket, connection] of connections) {
        connection.responder.notify("ending", { reason });
        socket.end();
      }
      await closed;
      rmSync(path.join(root, "control.sock"), { force: true });
    },
  };
}

/** Binds a socket that only this user can open; what lies there from a dead predecessor is removed (the caller holds the
 * supervisor lock). */
export async function listenPrivately(
  server: Server,
  directory: string,
  name: string,
): Promise<void> {
  rmSync(path.join(directory, name), { force: true });
  const where = socketPath(directory, name);
  const before = process.umask(0o177);
  try {
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(where.path, resolve);
    });
  } catch (error) {
    where.close();
    throw error;
  } finally {
    process.umask(before);
  }
  // The server removes its path when it closes, so the directory's descriptor must live as long.
  server.once("close", () => where.close());
  chmodSync(path.join(directory, name), 0o600);
}
