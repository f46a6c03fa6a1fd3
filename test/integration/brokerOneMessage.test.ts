import assert from "node:assert/strict";
import { once } from "node:events";
import type { createServer, IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest } from "node:http2";
import { connect } from "node:net";
import { readdirSync } from "node:fs";
import path from "node:path";
import type { Duplex } from "node:stream";
import { gzipSync } from "node:zlib";
import type { CallFacts } from "../../src/core/policy/judge.ts";
import { brokerWorld, readsPass, type BrokerWorld } from "../support/brokerWorld.ts";
import { http2Session, secureTunnel, tunnel } from "../support/proxyClient.ts";

/** What is judged, searched and shown must be what the origin gets, and an answer must hold no value in any part of it. */
const secret = { name: "TOKEN", value: "token-value-0123456789" };

interface Seen {
  readonly headers: readonly string[];
  readonly trailers: readonly string[];
  readonly body: string;
}

describe("broker: one message for all who read it", function () {
  this.timeout(60_000);
  let world: BrokerWorld;
  let seen: Seen[] = [];
  let judged: CallFacts[] = [];
  let holds = false;

  function origin(request: IncomingMessage, response: ServerResponse): void {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("error", () => undefined);
    request.on("end", () => {
      const body = Buffer.concat(chunks).toString();
      seen.push({ headers: request.rawHeaders, trailers: request.rawTrailers, body });
      response.end("ok\n");
    });
  }

  beforeEach(async () => {
    [seen, judged, holds] = [[], [], false];
    world = await brokerWorld({
      handler: origin,
      judge: (facts) => {
        judged.push(facts);
        return { ...readsPass(facts), verdict: holds ? "hold" : "allow" };
      },
      secrets: [{ ...secret, bindings: [{ host: "bound.test" }] }],
    });
  });
  afterEach(async () => await world[Symbol.asyncDispose]());

  /** Sends text as it is over a plain tunnel, each newline as a line of the protocol ends, and gives the
   * answer. */
  async function raw(
    host: string,
    text: string,
    body: Uint8Array = Buffer.alloc(0),
  ): Promise<string> {
    const socket = await tunnel(world, `${host}:80`);
    let answer = "";
    const ended = once(socket, "close");
    socket.on("error", () => undefined);
    socket.on("data", (chunk: Buffer) => (answer += chunk.toString("latin1")));
    socket.write(text.replaceAll("\n", "\r\n"), "latin1");
    socket.write(body);
    await ended;
    return answer;
  }

  const head = (host: string, ...lines: readonly string[]): string =>
    [`POST /x HTTP/1.1`, `Host: ${host}`, "Connection: close", ...lines, "", ""].join("\n");

  const names = (pairs: readonly string[]): string[] =>
    pairs.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());

  it("judges no header that is taken off on the way", async () => {
    const lines = [
      "Connection: X-Dry-Run, Content-Type, Keep-Alive",
      "X-Dry-Run: true",
      "Content-Type: application/json",
      "Proxy-Authorization: Basic eA==",
      "Keep-Alive: timeout=5",
      "X-Kept: yes",
      "Content-Length: 2",
    ];
    await raw("a.test", `${head("a.test", ...lines)}{}`);
    const sent = names(seen[0]?.headers ?? []).filter((name) => name !== "connection");
    assert.deepEqual(sent.toSorted(), ["content-length", "host", "x-kept"]);
    const facts = judged[0]?.headers.map(([name]) => name) ?? [];
    assert.deepEqual(facts.toSorted(), sent.toSorted());
  });

  for (const name of ["Content-Type", "Authorization"])
    it(`refuses ${name} that is there twice and differs, and takes it when it is the same`, async () => {
      const twice = (second: string): string =>
        `${head("a.test", `${name}: one/a`, `${name}: ${second}`, "Content-Length: 2")}{}`;
      assert.match(await raw("a.test", twice("two/b")), /^HTTP\/1\.1 400 [^]*there twice/);
      assert.deepEqual([seen.length, judged.length], [0, 0]);
      assert.match(await raw("a.test", twice("one/a")), /^HTTP\/1\.1 200 /);
    });

  it("refuses a switch of protocols for another host as it refuses any call, and tells of it", async () => {
    const upgrade = "Upgrade: websocket\nConnection: Upgrade\n\n";
    const answer = await raw("a.test", `GET / HTTP/1.1\nHost: b.test\n${upgrade}`);
    assert.match(answer, /^HTTP\/1\.1 421 [^]*not the host that the connection leads to/);
    assert.deepEqual(
      world.host.of("alert").map(({ code }) => code),
      ["host-mismatch"],
    );
    assert.deepEqual(judged, []);
  });

  it("takes all encodings of a body together, however they are spread", async () => {
    const body = gzipSync(Buffer.from(`x=${secret.value}`));
    const spread = ["Content-Encoding: identity", "Content-Encoding: gzip"];
    const text = head("a.test", ...spread, `Content-Length: ${body.length}`);
    const answer = await raw("a.test", text, body);
    assert.match(answer, /^HTTP\/1\.1 403 [^]*floor\.secret-leak/);
    assert.equal(seen.length, 0);
  });

  const everyByte = [...Buffer.from(secret.value)].map((byte) => `%${byte.toString(16)}`).join("");
  const twice = encodeURIComponent(everyByte);
  const wide = Buffer.from(secret.value, "utf16le");
  const form = "Content-Type: application/x-www-form-urlencoded";
  const json = "Content-Type: application/json";
  const hidden: Readonly<Record<string, [target: string, type?: string, body?: Buffer]>> = {
    "percent-encoded twice in the query": [`/x?q=${twice}`],
    "percent-encoded twice in the path": [`/x/${twice}`],
    "percent-encoded in a parameter's name": [`/x?${everyByte}`],
    "percent-encoded twice in a form": ["/x", form, Buffer.from(`a=${twice}`)],
    "percent-encoded in JSON": ["/x", json, Buffer.from(JSON.stringify({ a: twice }))],
    "as UTF-16": ["/x", "Content-Type: text/plain; charset=utf-16", wide],
    "as UTF-16, the high byte first": ["/x", "X-A: b", Buffer.from(wide).swap16()],
  };
  for (const [how, [target, type = "X-A: b", body = Buffer.alloc(0)]] of Object.entries(hidden))
    it(`finds a value ${how}`, async () => {
      const lines = ["Host: a.test", "Connection: close", type, `Content-Length: ${body.length}`];
      const answer = await raw("a.test", `POST ${target} HTTP/1.1\n${lines.join("\n")}\n\n`, body);
      assert.match(answer, /^HTTP\/1\.1 403 [^]*floor\.secret-leak/);
      assert.equal(seen.length, 0);
    });

  it("opens no WebSocket by the approval of a read of the same address", async () => {
    holds = true;
    const first = raw("a.test", "GET /x HTTP/1.1\nHost: a.test\nConnection: close\n\n");
    await world.host.until(() => world.host.holds.length === 1);
    const upgrade = "Connection: Upgrade\nUpgrade: websocket\nSec-WebSocket-Version: 13";
    const second = raw("a.test", `GET /x HTTP/1.1\nHost: a.test\n${upgrade}\n\n`);
    await world.host.until(() => world.host.holds.length === 2);
    const shown = world.host.holds.map(
      ({ request }) => (request.payload as string).split("\r\n")[0],
    );
    assert.deepEqual(shown, ["GET http://a.test/x", "GET ws://a.test/x"]);
    world.host.holds[1]?.decide({ decision: "deny", scope: "call" });
    world.host.holds[0]?.decide({ decision: "approve", scope: "call" });
    assert.match(await second, /^HTTP\/1\.1 403 /);
    assert.match(await first, /^HTTP\/1\.1 200 /);
  });

  it("finds a value whose characters are sent one byte each", async () => {
    await using other = await brokerWorld({
      handler: origin,
      secrets: [{ name: "WIDE", value: "gëhéim-wört-0815", bindings: [] }],
    });
    const socket = await tunnel(other, "a.test:80");
    const bytes = Buffer.from("gëhéim-wört-0815").toString("latin1");
    socket.write(`GET / HTTP/1.1\r\nHost: a.test\r\nX-A: ${bytes}\r\n\r\n`, "latin1");
    const [answer] = (await once(socket, "data")) as [Buffer];
    assert.match(answer.toString(), /^HTTP\/1\.1 403 /);
    socket.destroy();
  });

  /** A body that is judged before all of it is there, and then the trailers. */
  const withTrailers = (host: string, ...trailers: readonly string[]): string => {
    const size = 0x120000;
    const begin = head(host, "Transfer-Encoding: chunked", "Trailer: x-sum");
    const chunk = `${size.toString(16)}\n${"x".repeat(size)}\n`;
    return [`${begin}${chunk}0`, ...trailers, "", ""].join("\n");
  };

  it("passes trailers that say something of the content, and none that would change what it means", async () => {
    const trailers = [
      "X-Sum: 1",
      "Content-Type: application/json",
      "Content-Encoding: gzip",
      "Host: evil.test",
      "Authorization: Bearer x",
      "Cookie: a=b",
      "X-HTTP-Method-Override: DELETE",
    ];
    await raw("a.test", withTrailers("a.test", "X-Sum: 1"));
    assert.deepEqual(seen[0]?.trailers, ["X-Sum", "1"]);
    await raw("a.test", withTrailers("a.test", ...trailers));
    assert.deepEqual(names(seen[1]?.trailers ?? []), ["x-sum"]);
  });

  for (const [where, host] of [
    ["another host", "a.test"],
    ["its own host", "bound.test"],
  ] as const)
    it(`lets no value leave in a trailer, to ${where}`, async () => {
      await raw(host, withTrailers(host, `X-Sum: ${secret.value}`));
      assert.deepEqual(seen, []);
      assert.deepEqual(
        world.host.of("alert").map(({ code }) => code),
        ["secret-leak"],
      );
    });

  it("sends what a person approved without the trailers that nobody saw", async () => {
    holds = true;
    const session = await http2Session(world, "a.test");
    const stream = session.request({ ":method": "POST", ":path": "/x" }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "x-unseen": "1" }));
    stream.on("error", () => undefined);
    stream.end(Buffer.alloc(200_000, "x"));
    await world.host.until(() => world.host.holds.length === 1);
    world.host.holds[0]?.decide({ decision: "approve", scope: "call" });
    await once(stream, "response");
    const [sent] = seen;
    assert.equal(sent?.body.length, 200_000);
    assert.deepEqual(sent.trailers, []);
    session.destroy();
  });

  it("keeps nothing on the disk of a held call whose client broke off in its body", async () => {
    holds = true;
    const socket = await tunnel(world, "a.test:80");
    const length = "Content-Length: 3000000";
    socket.write(head("a.test", length).replaceAll("\n", "\r\n"));
    socket.write(Buffer.alloc(1_500_000, "x"));
    const held = path.join(world.directory, "state/held");
    const more = setInterval(() => socket.write("x"), 50);
    const spooling = (): boolean => readdirSync(held).some((name) => name.endsWith(".body"));
    while (!spooling()) await new Promise((resolve) => setTimeout(resolve, 20));
    clearInterval(more);
    socket.destroy();
    await world.host.until(() => world.host.of("request.finished").length === 1);
    assert.deepEqual(readdirSync(held), []);
    assert.deepEqual(world.host.holds, []);
  });

  it("lets no value come back in any part of an answer", async () => {
    const { value } = secret;
    const lines = [
      `HTTP/1.1 200 said ${value}`,
      `X-Echo: ${value}`,
      `X-${value}: name`,
      "Transfer-Encoding: chunked",
      "Trailer: X-End",
      "",
      (4 + value.length).toString(16),
      `say ${value}`,
      "0",
      `X-End: ${value}`,
      `Set-Cookie: a=b`,
      "",
      "",
    ];
    await using other = await brokerWorld({
      handler: (request) => request.socket.end(lines.join("\r\n")),
      judge: (facts) => ({ ...readsPass(facts), verdict: "allow" }),
      secrets: [{ ...secret, bindings: [{ host: "bound.test" }] }],
    });
    const socket = await tunnel(other, "bound.test:80");
    let answer = "";
    socket.on("data", (chunk: Buffer) => (answer += chunk.toString()));
    socket.write(
      "GET / HTTP/1.1\r\nHost: bound.test\r\nAuthorization: Bearer $HOLDFAST_SECRET_TOKEN\r\nConnection: close\r\n\r\n",
    );
    await once(socket, "close");
    assert.match(answer, /^HTTP\/1\.1 200 said \$HOLDFAST_SECRET_TOKEN\r\n/);
    assert.equal(answer.split("$HOLDFAST_SECRET_TOKEN").length - 1, 5, answer);
    assert.ok(!answer.includes(value));
    assert.ok(!answer.includes("Set-Cookie"));
  });
});

/** A frame of a client, masked; at most 125 bytes. */
function clientFrame(opcode: number, text: string): Buffer {
  const mask = Buffer.from([1, 2, 3, 4]);
  const hidden = Buffer.from(text).map((byte, index) => byte ^ (mask[index & 3] ?? 0));
  return Buffer.concat([Buffer.from([0x80 | opcode, 0x80 | hidden.length]), mask, hidden]);
}

describe("broker: every frame of a WebSocket", function () {
  this.timeout(60_000);
  const text = 1;
  const controls = { close: 8, ping: 9, pong: 10 };
  let world: BrokerWorld;
  /** What the origin got after its handshake, and how many uses were journaled when it did. */
  let got: { readonly bytes: Buffer; readonly used: number }[] = [];
  let answer: Buffer | undefined;
  let delay = false;

  beforeEach(async () => {
    [got, answer, delay] = [[], undefined, false];
    world = await brokerWorld({
      judge: (facts) => ({ ...readsPass(facts), verdict: "allow" }),
      secrets: [{ ...secret, bindings: [{ host: "bound.test" }] }],
      prepare: (server) =>
        (server as ReturnType<typeof createServer>).on(
          "upgrade",
          (_request: IncomingMessage | Http2ServerRequest, socket: Duplex) => {
            socket.write(
              "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
            );
            socket.on("error", () => undefined);
            socket.on("data", (bytes: Buffer) => {
              got.push({ bytes, used: world.host.of("secret.used").length });
              if (answer !== undefined) socket.write(answer);
            });
          },
        ),
    });
    const { host } = world;
    const record = host.record.bind(host);
    host.record = async (draft) => {
      if (delay && draft.kind === "secret.used")
        await new Promise((resolve) => setTimeout(resolve, 300));
      return await record(draft);
    };
  });
  afterEach(async () => await world[Symbol.asyncDispose]());

  async function open(): Promise<Duplex> {
    const socket = await secureTunnel(world, "bound.test:443", ["http/1.1"]);
    socket.on("error", () => undefined);
    socket.write(
      "GET /s HTTP/1.1\r\nHost: bound.test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    );
    const [head] = (await once(socket, "data")) as [Buffer];
    assert.match(head.toString(), /^HTTP\/1\.1 101 /);
    return socket;
  }

  for (const [name, opcode] of Object.entries(controls)) {
    it(`lets no value leave in a ${name}`, async () => {
      const socket = await open();
      socket.write(clientFrame(opcode, `..${secret.value}`));
      await once(socket, "close");
      assert.deepEqual(got, []);
      await world.host.until(() => world.host.of("alert").length === 1);
    });

    it(`lets none come back in a ${name}`, async () => {
      const socket = await open();
      const payload = Buffer.from(`..${secret.value}`);
      answer = Buffer.concat([Buffer.from([0x80 | opcode, payload.length]), payload]);
      socket.write(clientFrame(text, "hello"));
      const [frame] = (await once(socket, "data")) as [Buffer];
      assert.deepEqual([...frame], [0x80 | opcode, 0]);
      socket.destroy();
    });
  }

  it("journals the use of a secret before the frame that carries it", async () => {
    const socket = await open();
    delay = true;
    socket.write(clientFrame(text, "k=$HOLDFAST_SECRET_TOKEN;"));
    while (got.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    assert.equal(got[0]?.used, 1);
    socket.destroy();
  });

  it("fills a message in whatever pieces it comes, frames and bytes", async () => {
    const socket = await open();
    const message = "k=$HOLDFAST_SECRET_TOKEN; and more";
    const pieces = [message.slice(0, 7), message.slice(7, 20), message.slice(20)];
    const frames = pieces.map((piece, index) => {
      const frame = clientFrame(index === 0 ? text : 0, piece);
      if (index < pieces.length - 1) frame[0] = (frame[0] ?? 0) & 0x7f;
      return frame;
    });
    frames.splice(1, 0, clientFrame(controls.ping, "between"));
    for (const byte of Buffer.concat(frames)) {
      socket.write(Buffer.from([byte]));
      await new Promise((resolve) => setImmediate(resolve));
    }
    const unmasked = (): string => {
      let bytes = Buffer.concat(got.map((one) => one.bytes));
      let data = "";
      while (bytes.length >= 6) {
        const size = (bytes[1] ?? 0) & 0x7f;
        const mask = bytes.subarray(2, 6);
        const payload = bytes.subarray(6, 6 + size).map((byte, at) => byte ^ (mask[at & 3] ?? 0));
        if (((bytes[0] ?? 0) & 8) === 0) data += Buffer.from(payload).toString();
        bytes = bytes.subarray(6 + size);
      }
      return data;
    };
    const wanted = `k=${secret.value}; and more`;
    while (unmasked().length < wanted.length)
      await new Promise((resolve) => setTimeout(resolve, 10));
    assert.equal(unmasked(), wanted);
    socket.destroy();
  });
});

describe("broker: how many may be there at once", function () {
  this.timeout(60_000);

  it("bounds the connections that wait uninspected for a person, also of clients that sent their end", async () => {
    await using world = await brokerWorld();
    const clients = Array.from({ length: 257 }, () => {
      const { hostname, port } = new URL(world.proxy);
      const client = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
      client.on("error", () => undefined);
      client.resume();
      client.end("CONNECT db.test:5432 HTTP/1.1\r\nHost: db.test:5432\r\n\r\n\0opaque");
      return client;
    });
    await world.host.until(() =>
      world.host.of("request.finished").some(({ error }) => /too many/.test(error ?? "")),
    );
    assert.equal(world.host.holds.length, 1);
    world.host.holds[0]?.decide({ decision: "deny", scope: "call" });
    await Promise.all(
      clients.map(async (client) => {
        if (!client.closed) await once(client, "close");
      }),
    );
    assert.equal(world.host.of("request.finished").length, clients.length);
  });
});
