import { request as requestHttp, type IncomingMessage, type RequestOptions } from "node:http";
import { connect as connectHttp2, type ClientHttp2Session } from "node:http2";
import { readFileSync } from "node:fs";
import type { Duplex } from "node:stream";
import { join } from "node:path";
import { connect as connectTls, type TLSSocket } from "node:tls";
import type { BrokerWorld } from "./brokerWorld.ts";

/** Opens a CONNECT tunnel through the door. */
export async function tunnel(world: BrokerWorld, authority: string): Promise<Duplex> {
  const { hostname, port } = new URL(world.proxy);
  return await new Promise((resolve, reject) => {
    requestHttp({ hostname, port, method: "CONNECT", path: authority, agent: false })
      .once("connect", (_response, socket) => resolve(socket))
      .once("error", reject)
      .end();
  });
}

/** TLS through a tunnel, trusting the transaction's CA only. */
export async function secureTunnel(
  world: BrokerWorld,
  authority: string,
  protocols: string[],
  servername = authority.split(":")[0] ?? "",
): Promise<TLSSocket> {
  const socket = await tunnel(world, authority);
  const ca = readFileSync(join(world.directory, "ca", "ca.pem"));
  return await new Promise((resolve, reject) => {
    const tls = connectTls({ socket, servername, ca, ALPNProtocols: protocols });
    tls.once("secureConnect", () => resolve(tls)).once("error", reject);
    tls.once("close", () => reject(new Error("closed")));
  });
}

/** An HTTP/2 session through the door. */
export async function http2Session(world: BrokerWorld, host: string): Promise<ClientHttp2Session> {
  const socket = await secureTunnel(world, `${host}:443`, ["h2"]);
  return connectHttp2(`https://${host}`, { createConnection: () => socket });
}

/** One HTTP/1.1 request over a connection that already stands. */
export async function requestOver(
  socket: Duplex,
  options: RequestOptions,
  write: (request: ReturnType<typeof requestHttp>) => void,
): Promise<{ response: IncomingMessage; body: Buffer[]; at: number[] }> {
  return await new Promise((resolve, reject) => {
    const request = requestHttp({ ...options, createConnection: () => socket });
    request.once("error", reject);
    request.once("response", (response) => {
      const body: Buffer[] = [];
      const at: number[] = [];
      response.on("data", (chunk: Buffer) => {
        body.push(chunk);
        at.push(performance.now());
      });
      response.once("end", () => resolve({ response, body, at }));
      response.once("error", reject);
    });
    write(request);
  });
}
