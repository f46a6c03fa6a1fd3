import { Agent, request as requestHttp, type RequestOptions } from "node:http";
import { connect as connectSocket, type Socket } from "node:net";
import { performance } from "node:perf_hooks";
import type { Duplex } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import { connect as connectTls } from "node:tls";
import { secretInBench } from "./brokerBenchInput.ts";

/** For a machine that is busy, or to see that the bench runs at all: a share of the usual work, e.g. 0.1. */
export const share = Number(process.env["HOLDFAST_BENCH_SHARE"] ?? 1);

/** One way to the origin. */
export interface Way {
  readonly name: string;
  readonly host: string;
  readonly port: number;
  readonly proxy?: number;
  readonly ca: string;
  readonly memory?: () => Promise<number>;
}

/** Connections to the origin, straight or through a CONNECT tunnel, kept alive. */
class WayAgent extends Agent {
  readonly #way: Way;

  constructor(way: Way, connections: number) {
    super({ keepAlive: true, maxSockets: connections });
    this.#way = way;
  }

  override createConnection(
    _options: RequestOptions,
    done: (error: Error | null, socket: Duplex) => void,
  ): undefined {
    void this.#open().then(
      (socket) => done(null, socket),
      (error: unknown) => done(error as Error, undefined as never),
    );
    return undefined;
  }

  async #open(): Promise<Duplex> {
    const { proxy, host, port, ca } = this.#way;
    const socket = proxy === undefined ? undefined : await tunnel(proxy, `${host}:${String(port)}`);
    return await new Promise((resolve, reject) => {
      const tls = connectTls({
        ...(socket === undefined ? { host: "127.0.0.1", port } : { socket }),
        servername: host,
        ca,
      });
      tls.setNoDelay(true);
      tls.once("secureConnect", () => resolve(tls)).once("error", reject);
    });
  }
}

async function tunnel(port: number, target: string): Promise<Socket> {
  return await new Promise((resolve, reject) => {
    const socket = connectSocket({ port, host: "127.0.0.1", noDelay: true });
    socket.once("error", reject);
    socket.once("data", () => resolve(socket));
    socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\n`);
  });
}

/** Milliseconds until the first byte of the body and until its end. */
async function get(
  way: Way,
  agent: Agent,
  target: string,
): Promise<{ first: number; end: number }> {
  const begun = performance.now();
  return await new Promise((resolve, reject) => {
    const headers = { host: `${way.host}:${String(way.port)}` };
    requestHttp({ agent, path: target, headers }, (response) => {
      let first = 0;
      response.on("data", () => (first ||= performance.now() - begun));
      response.once("end", () => resolve({ first, end: performance.now() - begun }));
      response.once("error", reject);
    })
      .once("error", reject)
      .end();
  });
}

/** `count` requests over `connections`, as fast as they go. */
export async function load(
  way: Way,
  target: string,
  count: number,
  connections: number,
): Promise<{ times: number[]; first: number[]; perSecond: number }> {
  const agent = new WayAgent(way, connections);
  await Promise.all(Array.from({ length: connections }, async () => await get(way, agent, target)));
  const times: number[] = [];
  const first: number[] = [];
  let left = Math.max(connections, Math.round(count * share));
  const total = left;
  const begun = performance.now();
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (left-- > 0) {
        const took = await get(way, agent, target);
        times.push(took.end);
        first.push(took.first);
      }
    }),
  );
  const perSecond = (total / (performance.now() - begun)) * 1000;
  agent.destroy();
  return { times, first, perSecond };
}

/** `count` requests in all at a steady rate, spread over `connections`: what a call costs that does not queue behind
 * others. Milliseconds from sending to the end of the answer. */
export async function paced(
  way: Way,
  target: string,
  count: number,
  connections: number,
  perSecond: number,
): Promise<number[]> {
  const agent = new WayAgent(way, connections);
  await Promise.all(Array.from({ length: connections }, async () => await get(way, agent, target)));
  const times: number[] = [];
  const each = Math.ceil((count * share) / connections);
  const everyMs = (1000 * connections) / perSecond;
  const begun = performance.now();
  await Promise.all(
    Array.from({ length: connections }, async (_, connection) => {
      for (let turn = 0; turn < each; turn += 1) {
        const due = begun + (turn + connection / connections) * everyMs;
        await pause(Math.max(0, due - performance.now()));
        times.push((await get(way, agent, target)).end);
      }
    }),
  );
  agent.destroy();
  return times;
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
}

/** A gibibyte with a placeholder now and then, toward the path that the secret is bound to. */
export async function upload(way: Way, bytes: number): Promise<number> {
  const agent = new WayAgent(way, 1);
  const chunk = Buffer.alloc(256 * 1024, "c");
  chunk.write(`$HOLDFAST_SECRET_${secretInBench.name} `, 1000);
  const begun = performance.now();
  await new Promise<void>((resolve, reject) => {
    const headers = { host: `${way.host}:${String(way.port)}`, "content-type": "text/plain" };
    const request = requestHttp({ agent, method: "PUT", path: "/upload", headers }, (response) => {
      response.resume().once("end", resolve);
    }).once("error", reject);
    let sent = 0;
    const more = (): void => {
      while (sent < bytes) {
        sent += chunk.length;
        if (!request.write(chunk)) {
          request.once("drain", more);
          return;
        }
      }
      request.end();
    };
    more();
  });
  agent.destroy();
  return bytes / 1e6 / ((performance.now() - begun) / 1000);
}
