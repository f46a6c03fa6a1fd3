import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerResponse } from "node:http2";
import type { Duplex } from "node:stream";
import { brokerWorld, readsPass, type BrokerWorld } from "../support/brokerWorld.ts";
import { http2Session, requestOver, secureTunnel, tunnel } from "../support/proxyClient.ts";

const allowAll: typeof readsPass = (facts) => ({ ...readsPass(facts), verdict: "allow" });

/** One origin for every case, by path. */
function origin(request: IncomingMessage, response: ServerResponse): void {
  const { pathname } = new URL(request.url ?? "/", "http://origin");
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  if (pathname === "/events") {
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const index of [1, 2, 3]) {
      setTimeout(() => response.write(`data: ${String(index)}\n\n`), index * 40);
    }
    setTimeout(() => response.end(), 160);
    return;
  }
  if (pathname === "/broken") {
    response.writeHead(200, { "content-length": "100" });
    response.write("half");
    setTimeout(() => response.destroy(), 20);
    return;
  }
  if (pathname === "/odd") {
    request.socket.end("HTTP/1.1 099 Odd\r\nContent-Length: 2\r\n\r\nok");
    return;
  }
  request.on("end", () => {
    const trailers = request.trailers;
    if (pathname === "/trailers") {
      const stream = response as unknown as Http2ServerResponse;
      if (request.httpVersionMajor === 2) {
        stream.addTrailers({ "grpc-status": "0", "seen-trailer": trailers["x-sent"] ?? "none" });
      } else {
        response.writeHead(200, { trailer: "grpc-status", "transfer-encoding": "chunked" });
        response.addTrailers({ "grpc-status": "0", "seen-trailer": trailers["x-sent"] ?? "none" });
      }
      response.end(Buffer.concat(chunks));
      return;
    }
    response.setHeader("x-raw", JSON.stringify(request.rawHeaders));
    response.setHeader("x-version", request.httpVersion);
    response.end(Buffer.concat(chunks));
  });
}

/** A WebSocket origin: agrees, and echoes every byte after the handshake. */
function echoSockets(server: { on(event: "upgrade", listener: never): unknown }): void {
  server.on("upgrade", ((request: IncomingMessage, socket: Duplex) => {
    const key = request.headers["sec-websocket-key"] ?? "";
    const accept = createHash("sha1")
      .update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
      .digest("base64");
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    );
    socket.on("data", (chunk: Buffer) => socket.write(serverFrame(unmasked(chunk))));
    socket.on("error", () => undefined);
  }) as never);
}

function unmasked(frame: Buffer): string {
  const size = (frame[1] ?? 0) & 0x7f;
  const mask = frame.subarray(2, 6);
  return Buffer.from(
    frame.subarray(6, 6 + size).map((byte, index) => byte ^ (mask[index & 3] ?? 0)),
  ).toString();
}

function serverFrame(text: string): Buffer {
  const payload = Buffer.from(text);
  return Buffer.concat([Buffer.from([0x81, payload.length]), payload]);
}

function clientFrame(text: string): Buffer {
  const payload = Buffer.from(text);
  const mask = Buffer.from([1, 2, 3, 4]);
  const hidden = payload.map((byte, index) => byte ^ (mask[index & 3] ?? 0));
  return Buffer.concat([Buffer.from([0x81, 0x80 | payload.length]), mask, hidden]);
}

async function openSocket(world: BrokerWorld, host: string, head: string[] = []): Promise<Duplex> {
  const socket = await secureTunnel(world, `${host}:443`, ["http/1.1"]);
  socket.write(
    [
      `GET /socket HTTP/1.1`,
      `Host: ${host}`,
      "Upgrade: websocket",
      "Connection: Upgrade",
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
      "Sec-WebSocket-Version: 13",
      ...head,
      "",
      "",
    ].join("\r\n"),
  );
  const [answer] = (await once(socket, "data")) as [Buffer];
  assert.match(answer.toString(), /^HTTP\/1\.1 101 /);
  return socket;
}

const secret = { name: "TOKEN", value: "token-value-0123456789" };

describe("broker: protocols", function () {
  this.timeout(30_000);
  let world: BrokerWorld;
  before(async () => {
    world = await brokerWorld({
      handler: origin,
      judge: allowAll,
      prepare: (server) => echoSockets(server),
      secrets: [{ ...secret, bindings: [{ host: "bound.test" }] }],
    });
  });
  after(async () => await world[Symbol.asyncDispose]());
  beforeEach(() => void (world.host.drafts.length = 0));

  it("keeps order and case of headers, and takes off what belongs to one connection", async () => {
    const socket = await secureTunnel(world, "tls.test:443", ["http/1.1"]);
    const headers = [
      ["Host", "tls.test"],
      ["X-ONE", "1"],
      ["x-two", "2"],
      ["X-One", "3"],
      ["Connection", "close, X-Hop"],
      ["X-Hop", "gone"],
      ["Proxy-Authorization", "gone"],
    ].flat();
    const { response } = await requestOver(
      socket,
      { path: "/h", headers: headers },
      (request) => void request.end(),
    );
    const seen = JSON.parse(String(response.headers["x-raw"])) as string[];
    assert.deepEqual(seen.slice(0, 8), [
      "Host",
      "tls.test",
      "X-ONE",
      "1",
      "x-two",
      "2",
      "X-One",
      "3",
    ]);
    assert.ok(!seen.includes("gone"));
  });

  it("passes server-sent events one by one, as they come", async () => {
    const socket = await secureTunnel(world, "tls.test:443", ["http/1.1"]);
    const { body } = await requestOver(
      socket,
      { path: "/events", headers: { host: "tls.test" } },
      (request) => request.end(),
    );
    assert.deepEqual(body.map(String), ["data: 1\n\n", "data: 2\n\n", "data: 3\n\n"]);
  });

  it("passes trailers both ways over HTTP/1.1", async () => {
    const socket = await secureTunnel(world, "tls.test:443", ["http/1.1"]);
    const { response, body } = await requestOver(
      socket,
      { method: "POST", path: "/trailers", headers: { host: "tls.test", trailer: "x-sent" } },
      (request) => {
        request.write("part one, ");
        request.addTrailers({ "x-sent": "yes" });
        // A pause longer than the broker waits for the rest: the body streams, its trailers follow.
        setTimeout(() => request.end("part two"), 2300);
      },
    );
    assert.equal(Buffer.concat(body).toString(), "part one, part two");
    assert.equal(response.trailers["grpc-status"], "0");
    assert.equal(response.trailers["seen-trailer"], "yes");
  });

  it("passes HTTP/2 with many streams on one session, bodies and trailers", async () => {
    const session = await http2Session(world, "h2.test");
    const answers = await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        const stream = session.request({
          ":method": "POST",
          ":path": "/trailers",
          te: "trailers",
          "content-type": "application/grpc",
        });
        const trailers = once(stream, "trailers");
        stream.end(`message ${String(index)}`);
        let text = "";
        for await (const chunk of stream) text += String(chunk);
        const [seen] = (await trailers) as [Record<string, string>];
        return [text, seen["grpc-status"]];
      }),
    );
    assert.deepEqual(
      answers,
      Array.from({ length: 20 }, (_, index) => [`message ${String(index)}`, "0"]),
    );
    session.close();
  });

  it("answers 100-continue, so that the client sends its body", async () => {
    const socket = await secureTunnel(world, "tls.test:443", ["http/1.1"]);
    let continued = false;
    const { body } = await requestOver(
      socket,
      {
        method: "PUT",
        path: "/c",
        headers: { host: "tls.test", expect: "100-continue", "content-length": "4" },
      },
      (request) => {
        request.once("continue", () => {
          continued = true;
          request.end("body");
        });
        request.flushHeaders();
      },
    );
    assert.equal(continued, true);
    assert.equal(Buffer.concat(body).toString(), "body");
  });

  it("lets the client see that an answer broke off", async () => {
    const socket = await secureTunnel(world, "tls.test:443", ["http/1.1"]);
    await assert.rejects(
      requestOver(socket, { path: "/broken", headers: { host: "tls.test" } }, (request) =>
        request.end(),
      ),
    );
    await world.host.until(() => world.host.of("request.finished").length === 1);
    assert.match(String(world.host.of("request.finished")[0]?.error), /abort|broke/);
  });

  it("fails a call whose answer has a head that nobody may send, and no other", async () => {
    for (const [path, status] of [
      ["/odd", 502],
      ["/fine", 200],
    ] as const) {
      const socket = await secureTunnel(world, "tls.test:443", ["http/1.1"]);
      const { response } = await requestOver(
        socket,
        { path, headers: { host: "tls.test" } },
        (request) => request.end(),
      );
      assert.equal(response.statusCode, status);
    }
  });

  it("judges a WebSocket by its handshake and passes its frames", async () => {
    const socket = await openSocket(world, "ws.test");
    socket.write(clientFrame("hello"));
    const [frame] = (await once(socket, "data")) as [Buffer];
    assert.equal(frame.subarray(2).toString(), "hello");
    socket.destroy();
    const [started] = world.host.of("request.started");
    assert.equal(started?.path, "/socket");
  });

  it("fills a placeholder in a WebSocket frame, and scrubs its echo", async () => {
    const socket = await openSocket(world, "bound.test", [
      "Authorization: Bearer $HOLDFAST_SECRET_TOKEN",
    ]);
    socket.write(clientFrame("k=$HOLDFAST_SECRET_TOKEN;"));
    const [frame] = (await once(socket, "data")) as [Buffer];
    assert.equal(frame.subarray(2).toString(), "k=$HOLDFAST_SECRET_TOKEN;");
    assert.ok(world.host.of("secret.used").some((entry) => entry.where === "websocket"));
    socket.destroy();
  });

  it("ends a WebSocket before a value leaves by it", async () => {
    const socket = await openSocket(world, "ws.test");
    socket.write(clientFrame(`x ${secret.value}`));
    await once(socket, "close");
    await world.host.until(() => world.host.of("alert").length === 1);
    assert.equal(world.host.of("alert")[0]?.code, "secret-leak");
  });

  it("refuses TLS for another name than the tunnel's", async () => {
    await assert.rejects(secureTunnel(world, "tls.test:443", ["http/1.1"], "evil.test"));
    assert.equal(world.host.of("alert")[0]?.code, "sni-mismatch");
  });

  it("passes TLS that comes without a proxy by its server name", async () => {
    const { hostname, port } = new URL(world.proxy);
    const { connect } = await import("node:net");
    const raw = connect(Number(port), hostname);
    await once(raw, "connect");
    const { connect: connectTls } = await import("node:tls");
    const tls = connectTls({ socket: raw, servername: "direct.test", rejectUnauthorized: false });
    await once(tls, "secureConnect");
    const { response } = await requestOver(
      tls,
      { path: "/d", headers: { host: "direct.test" } },
      (request) => request.end(),
    );
    assert.equal(response.statusCode, 200);
    assert.equal(world.host.of("request.started")[0]?.host, "direct.test");
  });
});

describe("broker: connections that are not inspected", function () {
  this.timeout(30_000);

  it("hold as a whole, in protocols where the server speaks first too", async () => {
    await using world = await brokerWorld();
    const socket = await tunnel(world, "ssh.test:22");
    await world.host.until(() => world.host.holds.length === 1);
    const [started] = world.host.of("request.started");
    assert.deepEqual([started?.traffic, started?.method], ["opaque", "CONNECT"]);
    world.host.holds[0]!.decide({ decision: "approve", scope: "call" });
    socket.write("\x00 not http\r\n\r\n");
    const [answer] = (await once(socket, "data")) as [Buffer];
    assert.match(answer.toString(), /400 Bad Request/);
    socket.destroy();
    await world.host.until(() => world.host.of("request.finished").length === 1);
  });

  it("end when a person denies them", async () => {
    await using world = await brokerWorld();
    const socket = await tunnel(world, "ssh.test:22");
    socket.on("error", () => undefined);
    await world.host.until(() => world.host.holds.length === 1);
    world.host.holds[0]!.decide({ decision: "deny", scope: "call" });
    await once(socket, "close");
  });

  it("pass TLS untouched where the policy says so by host", async () => {
    const judge: typeof readsPass = (facts) =>
      facts.kind === "tcp"
        ? { ...readsPass(facts), verdict: "allow", uninspected: true, traffic: "opaque" }
        : readsPass(facts);
    await using world = await brokerWorld({ judge });
    // The origin's own certificate comes through, which is not the transaction's.
    await assert.rejects(secureTunnel(world, "pinned.test:443", ["http/1.1"]), /certificate/);
    await world.host.until(() => world.host.of("request.finished").length === 1);
    assert.equal(world.host.of("request.started")[0]?.protocol, "not inspected");
  });
});
