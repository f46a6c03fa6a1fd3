import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import {
  brotliCompressSync,
  constants,
  createGzip,
  deflateSync,
  gunzipSync,
  gzipSync,
} from "node:zlib";
import { brokerWorld, readsPass, type BrokerWorld } from "../support/brokerWorld.ts";
import { requestOver, secureTunnel } from "../support/proxyClient.ts";

const value = "correct-horse-battery-staple-4711";
/** More than is read before a call is judged, and nothing that compression makes smaller. */
const large = randomBytes(1200 * 1024);
const zeros = Buffer.alloc(512);

describe("broker: encoded bodies that pass without being read", function () {
  this.timeout(60_000);
  let world: BrokerWorld;
  let received: Buffer[] = [];
  let complete = false;

  function origin(request: IncomingMessage, response: ServerResponse): void {
    [received, complete] = [[], false];
    request.on("data", (chunk: Buffer) => received.push(chunk));
    request.on("error", () => undefined);
    request.on("end", () => {
      complete = true;
      response.end("taken\n");
    });
  }

  before(async () => {
    world = await brokerWorld({
      handler: origin,
      judge: (facts) => ({ ...readsPass(facts), verdict: "allow" }),
      secrets: [{ name: "TOKEN", value, bindings: [{ host: "elsewhere.test" }] }],
    });
  });
  after(async () => await world[Symbol.asyncDispose]());
  beforeEach(() => ([received, complete] = [[], false]));

  /** Sends a body in pieces and without a length; the status, or 0 when the connection broke off. */
  async function put(encoding: string, ...pieces: readonly Buffer[]): Promise<number> {
    const socket = await secureTunnel(world, "open.test:443", ["http/1.1"]);
    socket.on("error", () => undefined);
    const headers = { host: "open.test", "content-encoding": encoding };
    const options = { method: "PUT", path: "/upload", headers };
    const sent = requestOver(socket, options, (request) => {
      void (async () => {
        for (const piece of pieces) {
          request.write(piece);
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
        request.end();
      })();
    });
    const status = await sent.then(
      ({ response }) => response.statusCode ?? 0,
      () => 0,
    );
    socket.destroy();
    return status;
  }

  const codings = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync };
  for (const [encoding, encode] of Object.entries(codings)) {
    it(`pass unchanged: ${encoding}`, async () => {
      const body = encode(Buffer.concat([large, Buffer.from("correct-horse")]));
      assert.equal(await put(encoding, body.subarray(0, 9), body.subarray(9)), 200);
      assert.ok(complete);
      assert.deepEqual(Buffer.concat(received), body);
    });

    it(`give no value away: ${encoding}`, async () => {
      const alerts = world.host.of("alert").length;
      const body = encode(Buffer.concat([large, Buffer.from(`token=${value}`)]));
      assert.notEqual(await put(encoding, body), 200);
      assert.equal(complete, false);
      await world.host.until(() => world.host.of("alert").length > alerts);
      assert.equal(world.host.of("alert").at(-1)?.code, "secret-leak");
    });
  }

  it("give not even the beginning of a value away", async () => {
    const made: Buffer[] = [];
    const gzip = createGzip().on("data", (chunk: Buffer) => made.push(chunk));
    const pieceOf = async (bytes: Buffer): Promise<Buffer> => {
      gzip.write(bytes);
      await new Promise<void>((resolve) => gzip.flush(constants.Z_SYNC_FLUSH, resolve));
      return Buffer.concat(made.splice(0));
    };
    const begin = await pieceOf(Buffer.concat([large, Buffer.from("token=correct-horse")]));
    const end = await pieceOf(Buffer.from("-battery-staple-4711"));
    assert.notEqual(await put("gzip", begin, end), 200);
    const options = { finishFlush: constants.Z_SYNC_FLUSH };
    const seen = received.length === 0 ? "" : gunzipSync(Buffer.concat(received), options);
    assert.ok(!seen.includes("correct-horse"));
  });

  const hidden = gzipSync(`token=${value}`);
  it("hide nothing behind their end", async () => {
    const first = gzipSync(large);
    assert.notEqual(await put("gzip", Buffer.concat([first, zeros]), hidden), 200);
    assert.notEqual(await put("gzip", first, Buffer.concat([zeros, hidden])), 200);
    assert.equal(complete, false);
    assert.ok(!Buffer.concat(received).includes(hidden.subarray(10)));
  });

  it("break off where they are not what they say", async () => {
    assert.notEqual(await put("gzip", large), 200);
    assert.notEqual(await put("gzip", gzipSync(large).subarray(0, -4)), 200);
    assert.equal(complete, false);
  });

  it("are held where nobody here can undo the encoding", async () => {
    const before = world.host.holds.length;
    const sent = put("gzip, br", large);
    await world.host.until(() => world.host.holds.length > before);
    const hold = world.host.holds.at(-1);
    assert.equal(hold?.request.rule, "floor.unsearchable");
    hold.decide({ decision: "deny", scope: "call" });
    assert.equal(await sent, 403);
    assert.equal(received.length, 0);
  });
});
