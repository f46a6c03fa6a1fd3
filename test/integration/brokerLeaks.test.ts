import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { connect, createServer, Socket, type AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { setTimeout as wait } from "node:timers/promises";
import { connect as connectTls, TLSSocket } from "node:tls";
import { brokerWorld, readsPass, type BrokerWorld } from "../support/brokerWorld.ts";
import { nativeBuild } from "../support/nativeBuild.ts";
import { http2Session, requestOver, secureTunnel, tunnel } from "../support/proxyClient.ts";

/** Reads pass, `held.test` holds, `denied.test` is denied, other protocols pass. */
const judge: typeof readsPass = (facts) => {
  const verdict = facts.host.startsWith("held")
    ? "hold"
    : facts.host.startsWith("denied")
      ? "deny"
      : "allow";
  return { ...readsPass(facts), verdict };
};

/** Answers at once, agrees to a WebSocket, or (`/slow`) sends a beginning and no end. */
function origin(request: IncomingMessage, response: ServerResponse): void {
  request.resume();
  if (request.url === "/slow") {
    response.writeHead(200);
    response.write("the beginning");
  } else {
    response.setHeader("x-port", String(request.socket.remotePort));
    if (request.url === "/brief") response.setHeader("keep-alive", "timeout=1");
    response.end("true\n");
    if (request.url !== "/forged") return;
    const forged = "HTTP/1.1 200 OK\r\nX-Port: 0\r\nContent-Length: 7\r\n\r\nforged\n";
    setTimeout(() => request.socket.write(forged), 50);
  }
}

function agreeing(server: { on(event: "upgrade", listener: never): unknown }): void {
  server.on("upgrade", ((request: IncomingMessage, socket: Duplex) => {
    const key = `${request.headers["sec-websocket-key"] ?? ""}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
    const accept = createHash("sha1").update(key).digest("base64");
    const head = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade";
    socket.write(`${head}\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`);
    socket.on("error", () => undefined).on("end", () => socket.end());
    if (request.url === "/bye") socket.end();
    socket.resume();
  }) as never);
}

const handshake = (host: string, path: string): string =>
  [
    `GET ${path} HTTP/1.1`,
    `Host: ${host}`,
    "Upgrade: websocket",
    "Connection: Upgrade",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Version: 13\r\n\r\n",
  ].join("\r\n");

/** Connections of the broker's door that this process has open: nothing else here is a pipe with two ends. */
const doorSockets = (): number =>
  process.getActiveResourcesInfo().filter((one) => one === "PipeWrap").length;

describe("broker: connections that are over", function () {
  this.timeout(120_000);
  let world: BrokerWorld;
  let bridge: ChildProcess;

  before(async () => {
    const started = await brokerWorld({
      handler: origin,
      judge,
      prepare: (server) => agreeing(server),
    });
    const port = await freePort();
    bridge = spawn(nativeBuild("plain"), ["bridge", String(port), started.doorSocket]);
    world = { ...started, proxy: `http://127.0.0.1:${String(port)}` };
    for (;;) {
      const probe = connect(port, "127.0.0.1");
      const up = await Promise.race([
        once(probe, "connect").then(() => true),
        once(probe, "error").then(() => false),
      ]).catch(() => false);
      probe.destroy();
      if (up) break;
      await wait(20);
    }
  });
  after(async () => {
    bridge.kill();
    await world[Symbol.asyncDispose]();
  });

  async function raw(...bytes: readonly (string | Buffer)[]): Promise<Socket> {
    const socket = connect(Number(new URL(world.proxy).port), "127.0.0.1");
    socket.on("error", () => undefined);
    await once(socket, "connect");
    for (const one of bytes) socket.write(one);
    return socket;
  }
  const heard = async (socket: Duplex): Promise<string> => {
    const [first] = (await once(socket, "data")) as [Buffer];
    return first.toString("latin1");
  };
  const quiet = <T extends Duplex>(socket: T): T => socket.on("error", () => undefined);
  const secure = async (host: string, protocol = "http/1.1"): Promise<TLSSocket> =>
    quiet(await secureTunnel(world, `${host}:443`, [protocol]));
  const socks = async (host: string, port: number): Promise<Socket> => {
    const name = Buffer.from(host);
    const socket = await raw(Buffer.from([5, 1, 0]));
    await heard(socket);
    const wanted = Buffer.from([5, 1, 0, 3, name.length, ...name, port >> 8, port & 255]);
    socket.write(wanted);
    await heard(socket);
    return socket;
  };
  /** By hand: Node's own client would have a part in how the connection ends. */
  const get = async (socket: Duplex, host: string): Promise<void> => {
    socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    assert.match(await heard(socket), / 200 /);
  };
  const absolute = async (path: string, host = "plain.test"): Promise<Socket> =>
    await raw(`GET http://${host}${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);

  /** Each gives a connection in some state of its life. */
  const kinds: Readonly<Record<string, () => Promise<Duplex>>> = {
    "nothing said": async () => await raw(),
    "absolute-form, answered": async () => {
      const socket = await absolute("/");
      await heard(socket);
      return socket;
    },
    "absolute-form, half a head": async () => await raw("GET http://plain.test/ HTTP/1.1\r\nHo"),
    "absolute-form, no valid host": async () => await raw("GET http://a%00b/ HTTP/1.1\r\n\r\n"),
    "absolute-form, in the middle of the answer": async () => {
      const socket = await absolute("/slow");
      await heard(socket);
      return socket;
    },
    "absolute-form, in the middle of the body": async () => {
      const head = "POST http://plain.test/ HTTP/1.1\r\nHost: plain.test\r\nContent-Length: 100";
      return await raw(`${head}\r\n\r\nhalf`);
    },
    "absolute-form, held": async () => {
      const before = world.host.holds.length;
      const socket = await absolute(`/${String(before)}`, "held.test");
      await world.host.until(() => world.host.holds.length > before);
      return socket;
    },
    "absolute-form, denied": async () => {
      const socket = await absolute("/", "denied.test");
      await heard(socket);
      return socket;
    },
    "HTTP/2 without TLS": async () => {
      const socket = await raw("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
      await heard(socket);
      return socket;
    },
    "CONNECT to no host": async () => {
      const socket = await raw("CONNECT a%00b:443 HTTP/1.1\r\nHost: a\r\n\r\n");
      await heard(socket);
      return socket;
    },
    "CONNECT, nothing said": async () => quiet(await tunnel(world, "tls.test:443")),
    "CONNECT, half a ClientHello": async () => {
      const socket = quiet(await tunnel(world, "tls.test:443"));
      socket.write(Buffer.from([22, 3, 1, 2, 0, 1, 0]));
      return socket;
    },
    "CONNECT, another server name": async () => {
      const socket = quiet(await tunnel(world, "tls.test:443"));
      quiet(connectTls({ socket, servername: "other.test" }));
      return socket;
    },
    "CONNECT, TLS that is not trusted": async () => {
      const socket = quiet(await tunnel(world, "tls.test:443"));
      return quiet(connectTls({ socket, servername: "tls.test", ca: [] }));
    },
    "CONNECT, TLS and nothing said": async () => await secure("tls.test"),
    "CONNECT, TLS and HTTP/1.1": async () => {
      const socket = await secure("tls.test");
      await get(socket, "tls.test");
      return socket;
    },
    "CONNECT, plain HTTP": async () => {
      const socket = quiet(await tunnel(world, "plain.test:80"));
      await get(socket, "plain.test");
      return socket;
    },
    "CONNECT, another protocol": async () => {
      const socket = quiet(await tunnel(world, "opaque.test:5432"));
      socket.write(Buffer.from([0, 0, 0, 8]));
      await world.host.until(() =>
        world.host.of("request.started").some((one) => one.host === "opaque.test"),
      );
      return socket;
    },
    "CONNECT, another protocol, denied": async () => {
      const socket = quiet(await tunnel(world, "denied.test:5432"));
      socket.write(Buffer.from([0, 0, 0, 8]));
      return socket;
    },
    "SOCKS5, half a greeting": async () => await raw(Buffer.from([5, 3, 0])),
    "SOCKS5, no method": async () => {
      const socket = await raw(Buffer.from([5, 1, 2]));
      await heard(socket);
      return socket;
    },
    "SOCKS5, nothing said": async () => await socks("plain.test", 80),
    "SOCKS5, HTTP": async () => {
      const socket = await socks("plain.test", 80);
      await get(socket, "plain.test");
      return socket;
    },
    "WebSocket, open": async () => {
      const socket = await secure("tls.test");
      socket.write(handshake("tls.test", "/"));
      assert.match(await heard(socket), / 101 /);
      return socket;
    },
    "WebSocket, ended by its origin": async () => {
      const socket = await secure("tls.test");
      socket.write(handshake("tls.test", "/bye"));
      assert.match(await heard(socket), / 101 /);
      return socket;
    },
    "WebSocket, denied": async () => {
      const socket = await secure("denied.test");
      socket.write(handshake("denied.test", "/"));
      assert.match(await heard(socket), / 403 /);
      return socket;
    },
    "WebSocket without TLS, denied": async () => {
      const socket = await raw(
        handshake("denied.test", "/").replace("GET /", "GET http://denied.test/"),
      );
      assert.match(await heard(socket), / 403 /);
      return socket;
    },
    "HTTP/2, answered": async () => {
      const session = await http2Session(world, "tls.test");
      const stream = session.request({ ":path": "/" }).resume();
      await once(stream, "end");
      return quiet(session.socket as Duplex);
    },
  };

  /** How a client goes. */
  const endings: Readonly<Record<string, (socket: Duplex) => void>> = {
    "breaks off": (socket) => void socket.destroy(),
    ends: (socket) => void socket.resume().end(),
    resets: (socket) => {
      if (socket instanceof Socket && !(socket instanceof TLSSocket)) socket.resetAndDestroy();
      else socket.destroy();
    },
  };

  for (const [kind, open] of Object.entries(kinds)) {
    it(`leaves none behind: ${kind}`, async () => {
      const before = doorSockets();
      for (const [ending, end] of Object.entries(endings)) {
        const sockets = [await open(), await open(), await open()];
        sockets.forEach(end);
        let left = Number.POSITIVE_INFINITY;
        for (let turn = 0; turn < 3000 && left > before; turn += 1) {
          await wait(10);
          left = doorSockets();
        }
        for (const socket of sockets) socket.destroy();
        assert.ok(left <= before, `${String(left - before)} stay when the client ${ending}`);
      }
    });
  }

  it("keeps no connection that its origin gives up within a second", async () => {
    for (const [path, connections] of [
      ["/kept", 1],
      ["/brief", 3],
    ] as const) {
      const seen = new Set<string>();
      for (let turn = 0; turn < 3; turn += 1) {
        const socket = await secure(`${path.slice(1)}.test`);
        const { response } = await requestOver(
          socket,
          { path, headers: { host: `${path.slice(1)}.test` } },
          (request) => void request.end(),
        );
        seen.add(String(response.headers["x-port"]));
        socket.destroy();
      }
      assert.equal(seen.size, connections, path);
    }
  });

  it("takes nothing that comes unasked for an answer", async () => {
    const answers: string[] = [];
    const ports = new Set<string>();
    for (let turn = 0; turn < 2; turn += 1) {
      const socket = await secure("forged.test");
      const options = { path: "/forged", headers: { host: "forged.test" } };
      const { response, body } = await requestOver(socket, options, (one) => void one.end());
      answers.push(Buffer.concat(body).toString());
      ports.add(String(response.headers["x-port"]));
      socket.destroy();
      // The second answer is on its way to a connection that nobody uses.
      await wait(200);
    }
    assert.deepEqual(answers, ["true\n", "true\n"]);
    assert.equal(ports.size, 2);
  });

  it("leaves none behind: HTTP/2, in the middle of an answer", async () => {
    const before = doorSockets();
    for (const end of ["destroy", "close"] as const) {
      const session = await http2Session(world, "tls.test");
      session.on("error", () => undefined);
      const stream = session.request({ ":path": "/slow" });
      stream.on("error", () => undefined).resume();
      await once(stream, "data");
      if (end === "close") stream.close();
      session[end]();
      for (let turn = 0; turn < 3000 && doorSockets() > before; turn += 1) await wait(10);
      assert.ok(doorSockets() <= before, `${end}: ${String(doorSockets() - before)} stay`);
    }
  });
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
