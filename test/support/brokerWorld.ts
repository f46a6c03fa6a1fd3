import { mkdtemp, rm } from "node:fs/promises";
import { createServer as createHttp, type IncomingMessage, type ServerResponse } from "node:http";
import { createSecureServer } from "node:http2";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { createSecureContext, type SecureContext } from "node:tls";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CallFacts, Judge, Judgement } from "../../src/core/policy/judge.ts";
import { createCertificateAuthority } from "../../src/node/broker/certificates.ts";
import { startBroker, type BrokerOptions } from "../../src/node/broker/startBroker.ts";
import type { Secret } from "../../src/node/secrets/vault.ts";
import type { Broker } from "../../src/runtime/ports.ts";
import { MemoryHost } from "./brokerHost.ts";

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** A judge for tests: reads pass, everything else holds, `*.denied.test` is denied. */
export const readsPass: Judge = (facts: CallFacts): Judgement => {
  const reads =
    facts.kind === "git" ? facts.git?.action !== "push" : /^(GET|HEAD)$/.test(facts.method);
  const denied = facts.host.endsWith("denied.test");
  const passes = facts.kind !== "tcp" && (reads || facts.modelHost);
  return {
    verdict: denied ? "deny" : passes ? "allow" : "hold",
    reversibility: "irreversible",
    traffic: facts.modelHost ? "model" : reads ? "disclosure" : "change",
    rule: denied ? "test.denied" : passes ? "test.reads" : "test.holds",
    reason: denied ? "this host is denied" : "a test says so",
    summary: `${facts.method} ${facts.host}${facts.path}`,
  };
};

/** A broker with an origin of its own, reached under any `*.test` name, and a TCP door as the bridge makes it. */
export interface BrokerWorld extends AsyncDisposable {
  readonly host: MemoryHost;
  readonly broker: Broker;
  readonly directory: string;
  readonly doorSocket: string;
  /** `http://127.0.0.1:PORT` of the door. */
  readonly proxy: string;
  /** Environment for real clients outside a sandbox. */
  readonly env: Record<string, string>;
}

export interface WorldOptions {
  readonly handler?: Handler;
  readonly judge?: Judge;
  readonly secrets?: readonly Secret[];
  readonly modelHosts?: readonly string[];
  readonly resolve?: NonNullable<BrokerOptions["upstream"]>["resolve"];
  /** A proxy of the network, for what is not under `.test`. */
  readonly proxyFor?: NonNullable<BrokerOptions["upstream"]>["proxyFor"];
  readonly host?: MemoryHost;
  readonly onPassed?: NonNullable<BrokerOptions["onPassed"]>;
  /** The state of an earlier broker, to be taken up. */
  readonly stateDir?: string;
  readonly waiting?: NonNullable<BrokerOptions["waiting"]>;
  readonly limits?: NonNullable<BrokerOptions["limits"]>;
  /** Where a sandbox sees the certificates. */
  readonly sandboxCaDir?: string;
  /** Called with each plain and TLS origin before it listens. */
  readonly prepare?: (
    server: ReturnType<typeof createHttp> | ReturnType<typeof createSecureServer>,
  ) => void;
}

export async function brokerWorld(options: WorldOptions = {}): Promise<BrokerWorld> {
  const directory = await mkdtemp(join(tmpdir(), "holdfast-broker-"));
  const trust = await createCertificateAuthority("test origin");
  const handler: Handler = options.handler ?? ((_request, response) => response.end("hello\n"));
  const leaf = await trust.leafFor("origin.test");
  const secure = createSecureServer({
    ...leaf,
    allowHTTP1: true,
    SNICallback: (name, done) => {
      trust.leafFor(name).then(
        (one) => done(null, createContext(one)),
        (error: unknown) => done(error as Error),
      );
    },
  });
  secure.on("request", handler as never);
  const plain = createHttp(handler);
  options.prepare?.(secure);
  options.prepare?.(plain);
  const [securePort, plainPort] = [await listen(secure), await listen(plain)];
  const host = options.host ?? new MemoryHost();
  const doorSocket = join(directory, "door.sock");
  const broker = await startBroker({
    doorSocket,
    judge: options.judge ?? readsPass,
    host,
    modelHosts: options.modelHosts ?? [],
    stateDir: options.stateDir ?? join(directory, "state"),
    caFilesDir: join(directory, "ca"),
    sandboxCaDir: options.sandboxCaDir ?? join(directory, "ca"),
    secrets: options.secrets ?? [],
    ...(options.waiting === undefined ? {} : { waiting: options.waiting }),
    ...(options.limits === undefined ? {} : { limits: options.limits }),
    ...(options.onPassed === undefined ? {} : { onPassed: options.onPassed }),
    upstream: {
      trust: [trust.certificate],
      resolve:
        options.resolve ?? (() => Promise.resolve([{ address: "93.184.216.34", family: 4 }])),
      connectTo: (authority) =>
        authority.host.endsWith(".test")
          ? { host: "127.0.0.1", port: authority.port === 443 ? securePort : plainPort }
          : undefined,
      proxyFor: options.proxyFor ?? (() => undefined),
    },
  });
  const bridge = bridgeTo(doorSocket);
  const port = await listen(bridge);
  const proxy = `http://127.0.0.1:${String(port)}`;
  return {
    host,
    broker,
    directory,
    doorSocket,
    proxy,
    env: { ...broker.env, ...proxyVariables(proxy) },
    async [Symbol.asyncDispose]() {
      await broker.close();
      for (const server of [secure, plain, bridge]) server.close();
      secure.removeAllListeners("session");
      plain.closeAllConnections();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

function createContext(leaf: { key: string; cert: string }): SecureContext {
  return createSecureContext(leaf);
}

function proxyVariables(proxy: string): Record<string, string> {
  const names = [
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
  ];
  return Object.fromEntries(names.map((name) => [name, proxy]));
}

/** What the native bridge does: every TCP connection becomes one to the door's socket. */
function bridgeTo(doorSocket: string): Server {
  return createServer({ allowHalfOpen: true }, (client: Socket) => {
    const door = connect({ path: doorSocket, allowHalfOpen: true });
    client.on("error", () => door.destroy());
    door.on("error", () => client.destroy());
    client.pipe(door).pipe(client);
  });
}

export async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}
