import assert from "node:assert/strict";
import type { IncomingMessage, ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import type { EntryDraft } from "../../src/core/journal/entry.ts";
import { MemoryHost } from "../support/brokerHost.ts";
import { brokerWorld, type BrokerWorld } from "../support/brokerWorld.ts";

const secret = { name: "KEY", value: "value-of-nobody-0123456789", bindings: [{ host: "m.test" }] };

/** A host whose journal reaches the disk when the test says so. */
class SlowDisk extends MemoryHost {
  readonly #waiting: (() => void)[] = [];
  #written = false;

  override async record(draft: EntryDraft): Promise<number> {
    const seq = await super.record(draft);
    if (!this.#written) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return seq;
  }

  write(): void {
    this.#written = true;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  get kinds(): readonly string[] {
    return this.drafts.map(({ kind }) => kind);
  }
}

describe("a question to the model on its way to the disk", function () {
  this.timeout(30_000);
  let host: SlowDisk;
  let world: BrokerWorld;
  let client: Socket;
  let asked: string[];
  /** What begins a question: more of its body follows. */
  const head = [
    "POST http://m.test/v1/messages HTTP/1.1",
    "Host: m.test",
    `X-Api-Key: $HOLDFAST_SECRET_${secret.name}`,
    "Content-Length: 6",
    "",
    "abc",
  ].join("\r\n");

  beforeEach(async () => {
    host = new SlowDisk();
    asked = [];
    world = await brokerWorld({
      host,
      secrets: [secret],
      modelHosts: ["m.test:80"],
      handler: (request: IncomingMessage, response: ServerResponse) => {
        asked.push(String(request.headers["x-api-key"]));
        request.resume();
        request.on("end", () => response.end("an answer"));
      },
    });
    client = connect(world.doorSocket);
    client.on("error", () => undefined);
    client.write(head);
    await host.until(() => host.of("secret.used").length > 0);
  });
  afterEach(async () => {
    client.destroy();
    await world[Symbol.asyncDispose]();
  });

  it("shares one write with its verdict and the use of its secret, and goes out after", async () => {
    // None of them is on the disk yet.
    assert.deepEqual(host.kinds, ["request.started", "verdict", "secret.used"]);
    assert.deepEqual(asked, []);
    client.write("def");
    host.write();
    await host.until(() => host.of("request.finished").length > 0);
    assert.deepEqual(asked, [secret.value]);
    assert.equal(host.of("request.finished")[0]?.status, 200);
    assert.equal(host.of("request.finished")[0]?.bytesSent, 6);
  });

  it("never goes out when the agent breaks off meanwhile", async () => {
    const gone = new Promise((resolve) => client.once("close", resolve));
    client.destroy();
    await gone;
    // The broker has read the end once a later connection has been answered.
    const after = connect(world.doorSocket);
    after.write("GET / HTTP/1.1\r\n\r\n");
    await new Promise((resolve) => after.once("data", resolve));
    after.destroy();
    host.write();
    await host.until(() => host.of("request.finished").length > 0);
    assert.match(host.of("request.finished")[0]?.error ?? "", /broke off|aborted|gone/);
    assert.deepEqual(asked, []);
  });
});
