import assert from "node:assert/strict";
import type { IncomingMessage, ServerResponse } from "node:http";
import { constants, type Http2ServerResponse } from "node:http2";
import { setTimeout as wait } from "node:timers/promises";
import { brokerWorld, readsPass, type BrokerWorld } from "../support/brokerWorld.ts";
import { http2Session, secureTunnel } from "../support/proxyClient.ts";

const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
const settings = frame(4, 0, Buffer.alloc(0), 0);

/** Half a message must not be taken for a whole one, on either side: a file would be cut, a list would be short. */
describe("broker: messages that break off", function () {
  this.timeout(30_000);
  let world: BrokerWorld;
  const taken: string[] = [];

  function origin(request: IncomingMessage, response: ServerResponse): void {
    let bytes = 0;
    let cutOff = false;
    request.on("aborted", () => (cutOff = true));
    request.on("error", () => undefined);
    request.on("data", (chunk: Buffer) => (bytes += chunk.length));
    request.on("end", () => {
      if (request.complete && !cutOff) taken.push(`${request.url ?? ""} ${bytes}`);
    });
    if (request.url?.startsWith("/answer") !== true) {
      request.on("end", () => response.end("taken\n"));
      return;
    }
    response.write("the beginning");
    setTimeout(() => {
      const code = Number(request.url?.split("/")[2]);
      if (request.httpVersionMajor === 2) {
        (response as unknown as Http2ServerResponse).stream.close(code);
      } else request.socket.destroy();
    }, 50);
  }

  before(async () => {
    world = await brokerWorld({
      handler: origin,
      judge: (facts) => ({ ...readsPass(facts), verdict: "allow" }),
    });
  });
  after(async () => await world[Symbol.asyncDispose]());
  beforeEach(() => void (taken.length = 0));

  const { NGHTTP2_NO_ERROR, NGHTTP2_CANCEL, NGHTTP2_INTERNAL_ERROR } = constants;
  const reset = (code: number): Buffer => frame(3, 0, Buffer.of(0, 0, 0, code));
  const endings: Record<string, { readonly last: Buffer; readonly length?: number }> = {
    "by closing the connection": { last: Buffer.alloc(0) },
    "as if nothing were wrong": { last: reset(NGHTTP2_NO_ERROR) },
    "by giving up": { last: reset(NGHTTP2_CANCEL) },
    "with an error": { last: reset(NGHTTP2_INTERNAL_ERROR) },
    "before the length that it had told": { last: frame(0, 1, Buffer.alloc(0)), length: 9_999_999 },
    "behind the length that it had told": { last: frame(0, 1, Buffer.alloc(9)), length: 10 },
  };
  const sizes = { "a small body": 10, "a body that is sent on as it comes": 1_500_000 };

  for (const [how, { last, length }] of Object.entries(endings)) {
    for (const [what, bytes] of Object.entries(sizes)) {
      it(`takes no request with ${what} for a whole one whose client ends it ${how}`, async () => {
        const finished = world.host.of("request.finished").length;
        const socket = await secureTunnel(world, "a.test:443", ["h2"]);
        socket.on("error", () => undefined).resume();
        const fields = {
          ":method": "PUT",
          ":scheme": "https",
          ":authority": "a.test",
          ":path": "/p",
        };
        const told = length === undefined ? {} : { "content-length": String(length) };
        const head = frame(1, 4, Buffer.concat(Object.entries({ ...fields, ...told }).map(field)));
        socket.write(Buffer.concat([preface, settings, head]));
        // As much as may be sent before the other side says more.
        for (let sent = 0; sent < Math.min(bytes, 60_000); sent += 10_000) {
          socket.write(frame(0, 0, Buffer.alloc(Math.min(bytes, 10_000))));
        }
        for (let sent = 60_000; sent < bytes; sent += 10_000) {
          await wait(1);
          socket.write(frame(0, 0, Buffer.alloc(10_000)));
        }
        await wait(100);
        socket.write(last);
        if (last.length === 0) socket.destroy();
        await world.host.until(() => world.host.of("request.finished").length > finished);
        await wait(50);
        assert.deepEqual(taken, []);
        assert.match(world.host.of("request.finished").at(-1)?.error ?? "", /broke off/);
        socket.destroy();
      });
    }
  }

  for (const [what, body] of Object.entries({
    "in the middle of a chunk": "9\r\nabc",
    "before the last chunk": "3\r\nabc\r\n",
  })) {
    it(`sends no request whose client broke off ${what}, over HTTP/1.1`, async () => {
      const finished = world.host.of("request.finished").length;
      const socket = await secureTunnel(world, "a.test:443", ["http/1.1"]);
      socket.on("error", () => undefined);
      socket.write(
        `PUT /put HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n${body}`,
      );
      await wait(50);
      socket.end();
      await world.host.until(() => world.host.of("request.finished").length > finished);
      assert.deepEqual(taken, []);
    });
  }

  for (const [how, code] of Object.entries({
    "by giving up": NGHTTP2_CANCEL,
    "with an error": NGHTTP2_INTERNAL_ERROR,
  })) {
    it(`shows that an answer broke off, over HTTP/2, ${how}`, async () => {
      const session = await http2Session(world, "a.test");
      session.on("error", () => undefined);
      const stream = session.request({ ":path": `/answer/${code}` });
      stream.on("error", () => undefined).resume();
      await new Promise((resolve) => stream.once("close", resolve));
      assert.notEqual(stream.rstCode, NGHTTP2_NO_ERROR);
      const { error } = world.host.of("request.finished").at(-1) ?? {};
      assert.match(error ?? "", /the origin broke the answer off|closed with error code/);
      session.destroy();
    });
  }
});

/** RFC 9113 §4.1. */
function frame(type: number, flags: number, payload: Buffer, stream = 1): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** RFC 7541 §6.2.2, a new name, no Huffman code. */
function field([name, value]: readonly [string, string]): Buffer {
  const text = (one: string): Buffer => Buffer.concat([Buffer.of(one.length), Buffer.from(one)]);
  return Buffer.concat([Buffer.of(0), text(name), text(value)]);
}
