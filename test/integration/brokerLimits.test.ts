import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { Duplex } from "node:stream";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { gzipSync } from "node:zlib";
import type { CallFacts, Judge } from "../../src/core/policy/judge.ts";
import {
  brokerWorld,
  readsPass,
  type BrokerWorld,
  type WorldOptions,
} from "../support/brokerWorld.ts";
import { http2Session, requestOver, secureTunnel, tunnel } from "../support/proxyClient.ts";

/** Each bound is gone over once: what is beyond it is told in one clear way, and the broker goes on serving. */
describe("broker: bounds", function () {
  this.timeout(60_000);
  let world: BrokerWorld;
  let seen: { readonly path: string; readonly bytes: number }[] = [];
  let judged: CallFacts[] = [];

  const judge: Judge = (facts) => {
    if (facts.kind !== "tcp") judged.push(facts);
    return readsPass(facts);
  };

  function origin(request: IncomingMessage, response: ServerResponse): void {
    let bytes = 0;
    request.on("data", (chunk: Buffer) => (bytes += chunk.length));
    request.on("error", () => undefined);
    request.on("end", () => {
      seen.push({ path: request.url ?? "", bytes });
      response.end("served\n");
    });
  }

  async function begin(options: WorldOptions): Promise<void> {
    [seen, judged] = [[], []];
    world = await brokerWorld({ handler: origin, judge, ...options });
  }
  afterEach(async () => await world[Symbol.asyncDispose]());

  /** One plain request of its own. */
  async function isServed(): Promise<void> {
    const socket = await tunnel(world, "a.test:80");
    const options = { path: "/after", headers: { host: "a.test" } };
    const { response } = await requestOver(socket, options, (request) => request.end());
    assert.equal(response.statusCode, 200);
    socket.destroy();
  }

  async function answerTo(socket: NodeJS.ReadWriteStream, text: string): Promise<string> {
    let answer = "";
    socket.on("error", () => undefined);
    socket.on("data", (chunk: Buffer) => (answer += chunk.toString()));
    socket.write(text);
    await once(socket, "close");
    return answer;
  }

  it("closes connections beyond the most there may be, says so, and takes new ones when some have gone", async () => {
    await begin({ limits: { connections: 3 } });
    const open = async (): Promise<Socket> => {
      const socket = connect(world.doorSocket);
      socket.on("error", () => undefined);
      await once(socket, "connect");
      return socket;
    };
    const idle = [await open(), await open(), await open()];
    const beyond = await open();
    beyond.resume();
    if (!beyond.closed) await once(beyond, "close");
    await world.host.until(() => world.host.of("alert").length === 1);
    assert.match(world.host.of("alert")[0]?.message ?? "", /more than 3 connections at once/);
    for (const socket of idle) socket.destroy();
    // The door hears of their end in its own time.
    for (let served = false; !served;)
      served = await isServed().then(
        () => true,
        () => false,
      );
    assert.equal(world.host.of("alert").length, 1);
  });

  it("judges no more calls of one HTTP/2 connection at once than it may, and the others after them", async () => {
    await begin({ limits: { streams: 2 } });
    const session = await http2Session(world, "a.test");
    // Before it knows, a client may open more; they are refused, and it tries again.
    await once(session, "remoteSettings");
    const answers = ["/1", "/2", "/3"].map(async (path) => {
      const stream = session.request({ ":method": "POST", ":path": path });
      stream.end("x");
      const [head] = (await once(stream, "response")) as [Record<string, unknown>];
      stream.resume();
      return head[":status"];
    });
    await world.host.until(() => world.host.holds.length === 2);
    // Another connection is not in the way, and by its answer the third call would be there.
    await isServed();
    assert.equal(world.host.holds.length, 2);
    const approve = { decision: "approve", scope: "call" } as const;
    for (const hold of world.host.holds) hold.decide(approve);
    await world.host.until(() => world.host.holds.length === 3);
    world.host.holds[2]?.decide(approve);
    assert.deepEqual(await Promise.all(answers), [200, 200, 200]);
    session.destroy();
  });

  for (const [over, open] of [
    ["plain HTTP", async () => await tunnel(world, "a.test:80")],
    ["TLS", async () => await secureTunnel(world, "a.test:443", ["http/1.1"])],
  ] as const) {
    it(`answers a head that is too long, over ${over}`, async () => {
      await begin({});
      const head = `GET / HTTP/1.1\r\nHost: a.test\r\nX-Long: ${"x".repeat(17 * 1024)}\r\n\r\n`;
      const answer = await answerTo(await open(), head);
      assert.match(
        answer,
        /^HTTP\/1\.1 431 [^]*Holdfast: the head of a request may have 16384 bytes/,
      );
      assert.deepEqual([judged.length, seen.length], [0, 0]);
      await isServed();
    });

    it(`answers what two readers could take for two requests, over ${over}`, async () => {
      await begin({});
      const lines = ["Content-Length: 5", "Transfer-Encoding: chunked"];
      const head = `POST / HTTP/1.1\r\nHost: a.test\r\n${lines.join("\r\n")}\r\n\r\n0\r\n\r\nGET /x`;
      const answer = await answerTo(await open(), head);
      assert.match(answer, /^HTTP\/1\.1 400 [^]*can be read in one way alone/);
      assert.deepEqual([judged.length, seen.length], [0, 0]);
      await isServed();
    });
  }

  it("says nothing into an answer that has begun", async () => {
    let more: (() => void) | undefined;
    await begin({
      handler: (_request, response) => {
        response.write("first\n");
        more = () => response.end("second\n");
      },
    });
    const socket = await tunnel(world, "a.test:80");
    let answer = "";
    socket.on("error", () => undefined);
    socket.on("data", (chunk: Buffer) => {
      answer += chunk.toString();
      if (answer.endsWith("first\n\r\n")) socket.write("\0\0 no request\r\n\r\n");
    });
    socket.write("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n");
    await once(socket, "close");
    more?.();
    assert.match(answer, /first\n\r\n$/);
  });

  it("judges a body that there is no memory for as one that it cannot read, and sends all of it when approved", async () => {
    await begin({ limits: { bodyBytes: 100_000 } });
    const post = async (path: string): Promise<number | undefined> => {
      const socket = await tunnel(world, "a.test:80");
      const body = Buffer.alloc(150_000, path);
      const headers = {
        host: "a.test",
        "content-type": "text/plain",
        "content-length": body.length,
      };
      const options = { method: "POST", path, headers };
      const { response } = await requestOver(socket, options, (request) => request.end(body));
      socket.destroy();
      return response.statusCode;
    };
    const held = async (path: string, count: number) => {
      const answer = post(path);
      await world.host.until(() => world.host.holds.length === count);
      return { answer, facts: judged.at(-1) };
    };
    const first = await held("/1", 1);
    const second = await held("/2", 2);
    assert.deepEqual([first.facts?.bodyType, first.facts?.path], ["opaque", "/1"]);
    assert.deepEqual([second.facts?.bodyType, second.facts?.path], ["opaque", "/2"]);
    for (const hold of world.host.holds) hold.decide({ decision: "approve", scope: "call" });
    assert.deepEqual(await Promise.all([first.answer, second.answer]), [200, 200]);
    assert.deepEqual(
      seen.map(({ bytes }) => bytes),
      [150_000, 150_000],
    );
    // What they took is free again once the last of them is over, which nobody is told.
    const zipped = gzipSync("small");
    const headers = { host: "a.test", "content-type": "text/plain", "content-encoding": "gzip" };
    for (let count = 3; judged.at(-1)?.bodyType !== "text"; count += 1) {
      const socket = await tunnel(world, "a.test:80");
      const options = { method: "POST", path: `/${count}`, headers };
      const answer = requestOver(socket, options, (request) => request.end(zipped));
      await world.host.until(() => world.host.holds.length === count);
      world.host.holds[count - 1]?.decide({ decision: "deny", scope: "call" });
      assert.equal((await answer).response.statusCode, 403);
      socket.destroy();
    }
  });

  for (const [what, limits, words] of [
    ["one held body may have", { heldBytes: 200_000 }, /too large to be held/],
    ["all held bodies may have", { allHeldBytes: 200_000 }, /too much waits for a person/],
  ] as const) {
    it(`refuses what is larger than ${what}, keeps nothing of it, and holds what is smaller`, async () => {
      await begin({ limits });
      const post = async (
        bytes: number,
      ): Promise<{ status?: number | undefined; text: string }> => {
        const socket = await secureTunnel(world, "a.test:443", ["http/1.1"]);
        const options = { method: "POST", path: `/${bytes}`, headers: { host: "a.test" } };
        const { response, body } = await requestOver(socket, options, (request) =>
          request.end(Buffer.alloc(bytes, "x")),
        );
        socket.destroy();
        return { status: response.statusCode, text: Buffer.concat(body).toString() };
      };
      const spooled = (): string[] =>
        readdirSync(path.join(world.directory, "state", "held")).filter((one) =>
          one.endsWith(".body"),
        );
      const beyond = await post(300_000);
      assert.equal(beyond.status, 413);
      assert.match(beyond.text, words);
      assert.deepEqual([spooled(), world.host.holds.length, seen.length], [[], 0, 0]);
      // What one took is there again for the next, when it went out and when it was refused.
      for (const decision of ["approve", "deny", "approve"] as const) {
        const count = world.host.holds.length;
        const smaller = post(150_000 + count);
        await world.host.until(() => world.host.holds.length > count);
        assert.equal(spooled().length, 1);
        world.host.holds[count]?.decide({ decision, scope: "call" });
        assert.equal((await smaller).status, decision === "approve" ? 200 : 403);
        while (spooled().length > 0) await new Promise((resolve) => setTimeout(resolve, 5));
      }
      assert.equal(seen.length, 2);
    });
  }

  it("removes at the start the bodies that an earlier process left without a hold", async () => {
    const stateDir = mkdtempSync(path.join(tmpdir(), "holdfast-state-"));
    mkdirSync(path.join(stateDir, "held"));
    writeFileSync(path.join(stateDir, "held", "r1.body"), "begun");
    await begin({ stateDir });
    assert.deepEqual(readdirSync(path.join(stateDir, "held")), []);
    rmSync(stateDir, { recursive: true });
  });

  for (const [what, bytes] of [
    ["a destination", `\x01tcp ${"a".repeat(500)}`],
    ["a notice", `\x01notices\nname ${"a".repeat(500)}`],
  ] as const) {
    it(`closes a connection of the transparent path whose line is too long: ${what}`, async () => {
      await begin({});
      const socket = connect(world.doorSocket);
      socket.on("error", () => undefined).resume();
      socket.write(bytes);
      await once(socket, "close");
      await isServed();
    });
  }

  /** The beginning of a ClientHello that is said to be much longer. */
  function helloRecord(bytes: number): Buffer {
    const record = Buffer.alloc(5 + bytes);
    record.set([22, 3, 1, bytes >> 8, bytes & 255, 1, 255, 255, 255]);
    return record;
  }

  it("closes a connection whose ClientHello does not end", async () => {
    await begin({});
    const socket = await tunnel(world, "a.test:443");
    socket.on("error", () => undefined).resume();
    const closed = once(socket, "close");
    for (let sent = 0; sent < 5; sent += 1) socket.write(helloRecord(16_000));
    await closed;
    await isServed();
  });

  it("closes a connection whose ClientHello does not go on", async () => {
    await begin({});
    // Not one of the web's own ports, where a slow client is waited for twenty times as long.
    const socket = await tunnel(world, "a.test:4433");
    socket.on("error", () => undefined).resume();
    socket.write(helloRecord(100).subarray(0, 20));
    await once(socket, "close");
    await isServed();
  });

  it("reads a ClientHello in whatever pieces and records it comes", async () => {
    await begin({});
    const { port } = new URL(world.proxy);
    const outer = connect(Number(port), "127.0.0.1");
    outer.write("CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n");
    await once(outer, "data");
    let first = true;
    const inner = new Duplex({
      read: () => undefined,
      write(chunk: Buffer, _encoding, done) {
        const pieces = first ? inRecords(chunk, 100) : [chunk];
        first = false;
        void (async () => {
          for (const piece of pieces) {
            for (const byte of piece.length < 2000 ? piece : []) {
              outer.write(Buffer.of(byte));
              await new Promise((resolve) => setImmediate(resolve));
            }
            if (piece.length >= 2000) outer.write(piece);
          }
          done();
        })();
      },
    });
    outer.on("data", (chunk: Buffer) => inner.push(chunk));
    const ca = readFileSync(path.join(world.directory, "ca", "ca.pem"));
    const socket = connectTls({ socket: inner, servername: "a.test", ca });
    await once(socket, "secureConnect");
    const options = { path: "/pieces", headers: { host: "a.test" } };
    const { response } = await requestOver(socket, options, (request) => request.end());
    assert.equal(response.statusCode, 200);
    outer.destroy();
  });

  /** A TLS record of a handshake, cut into several (RFC 8446 §5.1). */
  function inRecords(record: Buffer, bytes: number): Buffer[] {
    const records: Buffer[] = [];
    for (let at = 5; at < record.length; at += bytes) {
      const part = record.subarray(at, at + bytes);
      records.push(Buffer.concat([record.subarray(0, 3), Buffer.of(0, part.length), part]));
    }
    return records;
  }

  it("goes on with a host's open connections when it has made ways for 256 other hosts", async () => {
    await begin({});
    const get = async (socket: TLSSocket, host: string): Promise<number | undefined> => {
      const options = { path: "/", headers: { host } };
      const { response } = await requestOver(socket, options, (one) => one.end());
      return response.statusCode;
    };
    const first = await secureTunnel(world, "first.test:443", ["h2"]);
    const session = connectHttp2("https://first.test", { createConnection: () => first });
    const ask = async (): Promise<unknown> => {
      const stream = session.request({ ":path": "/again" });
      const [head] = (await once(stream, "response")) as [Record<string, unknown>];
      stream.resume();
      return head[":status"];
    };
    assert.equal(await ask(), 200);
    for (let count = 0; count <= 256; count += 1) {
      const socket = await secureTunnel(world, `h${count}.test:443`, ["http/1.1"]);
      assert.equal(await get(socket, `h${count}.test`), 200);
      socket.destroy();
    }
    assert.equal(await ask(), 200);
    session.destroy();
    const anew = await secureTunnel(world, "first.test:443", ["http/1.1"]);
    assert.equal(await get(anew, "first.test"), 200);
    anew.destroy();
  });

  /** An origin that agrees to a WebSocket and counts what comes by it. */
  const agreeing: WorldOptions["prepare"] = (server) =>
    (server as NodeJS.EventEmitter).on("upgrade", (request: IncomingMessage, socket: Socket) => {
      if (request.url === "/bye") setTimeout(() => socket.destroy(), 100);
      socket.on("error", () => undefined);
      socket.on("data", (bytes: Buffer) => seen.push({ path: "frame", bytes: bytes.length }));
      socket.write(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
      );
    });
  const watched: WorldOptions = {
    secrets: [{ name: "TOKEN", value: "token-value-0123456789", bindings: [] }],
    prepare: agreeing,
  };

  async function webSocket(path = "/s"): Promise<Duplex> {
    const socket = await tunnel(world, "a.test:80");
    socket.on("error", () => undefined);
    socket.write(
      `GET ${path} HTTP/1.1\r\nHost: a.test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n`,
    );
    await once(socket, "data");
    return socket;
  }

  function frameHead(bytes: number): Buffer {
    const frame = Buffer.alloc(14);
    frame.set([0x82, 0xff]);
    frame.writeBigUInt64BE(BigInt(bytes), 2);
    return frame;
  }

  it("breaks a WebSocket off for whose frames there is no memory, and has it again after", async () => {
    await begin({ ...watched, limits: { bodyBytes: 300_000 } });
    // One that ends in the middle of a frame gives back what it took.
    const leaving = await webSocket("/bye");
    leaving.write(Buffer.concat([frameHead(400_000), Buffer.alloc(290_000)]));
    await world.host.until(() => world.host.of("request.finished").length === 1);
    for (const bytes of [500_000, 100_000, 500_000]) {
      const [before, finished] = [seen.length, world.host.of("request.finished").length];
      const socket = await webSocket();
      socket.write(Buffer.concat([frameHead(bytes), Buffer.alloc(bytes - 1)]));
      if (bytes < 300_000) {
        socket.write(Buffer.alloc(1));
        while (seen.length === before) await new Promise((resolve) => setTimeout(resolve, 5));
        socket.destroy();
        continue;
      }
      await once(socket, "close");
      await world.host.until(() => world.host.of("request.finished").length > finished);
      const { error } = world.host.of("request.finished").at(-1) ?? {};
      assert.match(error ?? "", /no memory for the frames/);
      assert.equal(seen.length, before);
    }
    await isServed();
  });

  it("breaks a WebSocket off whose frame is larger than what is looked into, and tells why", async () => {
    await begin(watched);
    const socket = await webSocket();
    socket.write(frameHead(65 * 1024 * 1024));
    await once(socket, "close");
    await world.host.until(() => world.host.of("request.finished").length === 1);
    assert.match(world.host.of("request.finished")[0]?.error ?? "", /too large to be looked into/);
    assert.deepEqual(seen, []);
    await isServed();
  });
});
