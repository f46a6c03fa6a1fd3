import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
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

  it("breaks a WebSocket off whose frame is larger than what is looked into, and tells why", async () => {
    await begin({
      secrets: [{ name: "TOKEN", value: "token-value-0123456789", bindings: [] }],
      prepare: (server) =>
        (server as NodeJS.EventEmitter).on("upgrade", (_request: unknown, socket: Socket) => {
          socket.on("error", () => undefined);
          socket.on("data", (bytes: Buffer) => seen.push({ path: "frame", bytes: bytes.length }));
          socket.write(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
          );
        }),
    });
    const socket = await tunnel(world, "a.test:80");
    socket.on("error", () => undefined);
    socket.write(
      "GET /s HTTP/1.1\r\nHost: a.test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    );
    await once(socket, "data");
    const frame = Buffer.alloc(14);
    frame.set([0x82, 0xff]);
    frame.writeBigUInt64BE(65n * 1024n * 1024n, 2);
    socket.write(frame);
    await once(socket, "close");
    await world.host.until(() => world.host.of("request.finished").length === 1);
    assert.match(world.host.of("request.finished")[0]?.error ?? "", /too large to be looked into/);
    assert.deepEqual(seen, []);
    await isServed();
  });
});
