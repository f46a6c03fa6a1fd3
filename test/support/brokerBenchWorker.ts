/**
 * One process of the broker bench, started by `brokerBenchProcess.ts`: `origin`, `connect` (a plain CONNECT proxy),
 * `bare` (a proxy that ends TLS and does nothing else), `holdfast`, `holdfast-journal` or `mockttp`. Tells its parent the port (and the CA to trust) it stands on, and its memory
 * whenever it is asked.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer as createHttp, type IncomingMessage, type ServerResponse } from "node:http";
import { Agent, createServer as createHttps, request as requestHttps } from "node:https";
import { createRequire } from "node:module";
import { connect, type AddressInfo, type Server } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { parsePolicy } from "../../src/core/policy/parsePolicy.ts";
import { PolicyBook } from "../../src/core/policy/policyBook.ts";
import { createCertificateAuthority } from "../../src/node/broker/certificates.ts";
import { startBroker } from "../../src/node/broker/startBroker.ts";
import { JournalFile } from "../../src/node/journal/journalFile.ts";
import type { BrokerHost } from "../../src/runtime/ports.ts";
import { secretInBench, type Ready, type WorkerInput } from "./brokerBenchInput.ts";

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

const small = Buffer.alloc(1024, "a");
const large = Buffer.alloc(1024 * 1024, "b");

function answer(request: IncomingMessage, response: ServerResponse): void {
  if (request.url === "/sse") {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.flushHeaders();
    setTimeout(() => response.end("data: 1\n\n"), 10);
  } else if (request.method === "PUT") {
    let bytes = 0;
    request.on("data", (chunk: Buffer) => (bytes += chunk.length));
    request.on("end", () => response.end(String(bytes)));
  } else {
    const body = request.url === "/1m" ? large : small;
    response.writeHead(200, { "content-length": body.length }).end(body);
  }
}

async function origin(): Promise<Ready> {
  const authority = await createCertificateAuthority("bench origin");
  // One certificate a name would hide nothing here; both names are the same machine.
  const leaf = await authority.leafFor("localhost");
  const other = await authority.leafFor("origin.test");
  const server = createHttps({ ...leaf, keepAliveTimeout: 120_000 }, answer);
  server.addContext("origin.test", other);
  return { port: await listen(server), ca: authority.certificate };
}

async function connectProxy(originPort: number): Promise<Ready> {
  const server = createHttp();
  server.on("connect", (_request, client) => {
    const upstream = connect(originPort, "127.0.0.1", () => {
      client.write("HTTP/1.1 200 OK\r\n\r\n");
      upstream.pipe(client).pipe(upstream);
    });
    upstream.setNoDelay(true);
    upstream.on("error", () => client.destroy());
    client.on("error", () => upstream.destroy());
  });
  return { port: await listen(server) };
}

/** The least that Node can do between two ends of TLS: no policy, no journal, no secrets, no bridge. What this costs is the
 * runtime's; what ours costs beyond it is ours. */
async function bareProxy(originPort: number, originCa: string): Promise<Ready> {
  const authority = await createCertificateAuthority("bench bare");
  const agent = new Agent({ keepAlive: true, maxFreeSockets: 64, ca: originCa });
  const inner = createHttps(await authority.leafFor("localhost"), (request, response) => {
    const { method, url: target, rawHeaders } = request;
    const outgoing = requestHttps(
      { agent, port: originPort, host: "localhost", method, path: target, headers: rawHeaders },
      (answered) => {
        response.writeHead(answered.statusCode ?? 502, answered.rawHeaders);
        answered.pipe(response);
      },
    );
    outgoing.on("error", () => response.destroy());
    request.pipe(outgoing);
  });
  const server = createHttp();
  server.on("connect", (_request, client) => {
    client.write("HTTP/1.1 200 OK\r\n\r\n");
    inner.emit("connection", client);
  });
  return { port: await listen(server), ca: authority.certificate };
}

/** The real policy, with the one rule that opens the origin. */
function policy(): PolicyBook {
  const rules = [{ id: "bench", when: { host: "origin.test" }, verdict: "allow" }];
  const user = parsePolicy(JSON.stringify({ version: 1, rules }), "bench", "user");
  return new PolicyBook({ user, task: { limits: {} } });
}

function host(directory: string, journaled: boolean): BrokerHost {
  const journal = journaled ? JournalFile.open(directory) : undefined;
  return {
    async record(draft) {
      if (journal === undefined) return 0;
      const { entry, durable } = journal.append(draft);
      await durable;
      return entry.seq;
    },
    keep: (value) => value as never,
    hold: () => Promise.reject(new Error("nothing holds here")),
    currentToolCall: () => undefined,
  };
}

async function holdfast(input: WorkerInput, journaled: boolean): Promise<Ready> {
  const directory = mkdtempSync(path.join(tmpdir(), "holdfast-bench-"));
  process.once("exit", () => rmSync(directory, { recursive: true, force: true }));
  const doorSocket = path.join(directory, "door.sock");
  const book = policy();
  await startBroker({
    doorSocket,
    judge: book.judge,
    onPassed: (facts) => book.passed(facts),
    host: host(directory, journaled),
    modelHosts: [],
    stateDir: path.join(directory, "state"),
    caFilesDir: directory,
    secrets: [{ ...secretInBench, bindings: [{ host: "origin.test", path: "/upload" }] }],
    upstream: {
      trust: [input.originCa ?? ""],
      resolve: () => Promise.resolve([{ address: "93.184.216.34", family: 4 }]),
      connectTo: () => ({ host: "127.0.0.1", port: input.originPort ?? 0 }),
      proxyFor: () => undefined,
    },
  });
  const ca = readFileSync(path.join(directory, "ca.pem"), "utf8");
  const port = input.bridgePort ?? 0;
  const bridge = spawn(input.native ?? "", ["bridge", String(port), doorSocket], {
    stdio: "inherit",
  });
  process.once("exit", () => bridge.kill());
  await new Promise((resolve) => setTimeout(resolve, 200));
  return { port, ca };
}

interface Mockttp {
  generateCACertificate(): Promise<{ cert: string; key: string }>;
  getLocal(options: object): {
    start(): Promise<void>;
    readonly port: number;
    forAnyRequest(): { thenPassThrough(options: object): Promise<unknown> };
  };
}

async function mockttp(input: WorkerInput): Promise<Ready> {
  const entry = input.mockttp ?? "";
  const library = createRequire(entry)(entry) as Mockttp;
  const https = await library.generateCACertificate();
  const server = library.getLocal({ https, http2: true });
  await server.start();
  await server.forAnyRequest().thenPassThrough({
    ignoreHostHttpsErrors: true,
    forwarding: { targetHost: `localhost:${String(input.originPort)}` },
  });
  return { port: server.port, ca: https.cert };
}

async function ready(input: WorkerInput): Promise<Ready> {
  switch (input.role) {
    case "origin":
      return await origin();
    case "connect":
      return await connectProxy(input.originPort ?? 0);
    case "bare":
      return await bareProxy(input.originPort ?? 0, input.originCa ?? "");
    case "holdfast":
    case "holdfast-journal":
      return await holdfast(input, input.role === "holdfast-journal");
    case "mockttp":
      return await mockttp(input);
  }
}

async function main(input: WorkerInput): Promise<void> {
  process.on("message", () => {
    globalThis.gc?.();
    process.send?.(process.memoryUsage().rss);
  });
  process.on("disconnect", () => process.exit(0));
  process.on("SIGTERM", () => process.exit(0));
  process.send?.(await ready(input));
}

void main(JSON.parse(process.argv[2] ?? "{}") as WorkerInput);
