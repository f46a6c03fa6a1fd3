import assert from "node:assert/strict";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { request, type IncomingMessage, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MemoryHost } from "../support/brokerHost.ts";
import { brokerWorld, type BrokerWorld } from "../support/brokerWorld.ts";

interface Seen {
  readonly body: string;
  readonly attempt: string;
}

/** What reached the origin, in order. */
const seen: Seen[] = [];

function origin(incoming: IncomingMessage, response: ServerResponse): void {
  let body = "";
  incoming.on("data", (chunk: Buffer) => (body += chunk.toString()));
  incoming.on("end", () => {
    seen.push({ body, attempt: String(incoming.headers["x-attempt"]) });
    response.end("done");
  });
}

/** One attempt of an agent at the same call. */
class Attempt {
  readonly answer: Promise<{ status: number; text: string }>;
  readonly #request: ReturnType<typeof request>;

  constructor(world: BrokerWorld, attempt: number, body = "pay 100") {
    const { hostname, port } = new URL(world.proxy);
    this.#request = request({
      hostname,
      port,
      agent: false,
      method: "POST",
      path: "http://pay.test/charge",
      headers: { host: "pay.test", "x-attempt": String(attempt), "content-type": "text/plain" },
    });
    this.answer = new Promise((resolve, reject) => {
      this.#request.on("error", reject);
      this.#request.on("response", (response) => {
        let text = "";
        response.on("data", (chunk: Buffer) => (text += chunk.toString()));
        response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
      });
    });
    this.answer.catch(() => undefined);
    this.#request.end(body);
  }

  giveUp(): void {
    this.#request.destroy();
  }
}

const approve = { decision: "approve", scope: "call" } as const;

describe("broker: holds outlive those who wait", function () {
  this.timeout(30_000);
  let stateDir: string;
  beforeEach(async () => {
    stateDir = await mkdtemp(join(tmpdir(), "holdfast-holds-"));
    seen.length = 0;
  });
  afterEach(async () => await rm(stateDir, { recursive: true }));

  const open = async (host = new MemoryHost()): Promise<BrokerWorld> =>
    await brokerWorld({ handler: origin, host, stateDir });
  const heldFiles = async (): Promise<string[]> => await readdir(join(stateDir, "held"));

  /** What an approved call left on disk goes once its answer is through. */
  const emptied = async (): Promise<void> => {
    while ((await heldFiles()).length > 0) await new Promise((resolve) => setTimeout(resolve, 10));
  };

  it("keeps a hold open whose client is gone, and lets the retry join it", async () => {
    await using world = await open();
    const first = new Attempt(world, 1);
    await world.host.until(() => world.host.holds.length === 1);
    first.giveUp();
    await world.host.until(() => world.host.of("request.finished").length === 1);
    const second = new Attempt(world, 2);
    await world.host.until(() => world.host.of("request.started").length === 2);
    world.host.holds[0]!.decide(approve);
    assert.equal((await second.answer).status, 200);
    assert.equal(world.host.holds.length, 1);
    assert.deepEqual(
      seen,
      [{ body: "pay 100", attempt: "1" }],
      "what was approved is what was sent",
    );
    await emptied();
  });

  it("offers an approval to the retry, once", async () => {
    await using world = await open();
    const first = new Attempt(world, 1);
    await world.host.until(() => world.host.holds.length === 1);
    first.giveUp();
    await world.host.until(() => world.host.of("request.finished").length === 1);
    world.host.holds[0]!.decide(approve);
    assert.equal((await new Attempt(world, 2).answer).status, 200);
    const third = new Attempt(world, 3);
    await world.host.until(() => world.host.holds.length === 2);
    assert.equal(seen.length, 1);
    world.host.holds[1]!.decide({ decision: "deny", scope: "call" });
    assert.equal((await third.answer).status, 403);
  });

  it("sends once where two wait for the same call", async () => {
    await using world = await open();
    const both = [new Attempt(world, 1), new Attempt(world, 2)];
    await world.host.until(() => world.host.of("request.started").length === 2);
    await world.host.until(() => world.host.holds.length === 1);
    // The second one joins as soon as its verdict is durable; give it a turn.
    await new Promise((resolve) => setTimeout(resolve, 100));
    world.host.holds[0]!.decide(approve);
    const statuses = (await Promise.all(both.map((one) => one.answer))).map(({ status }) => status);
    assert.deepEqual(statuses.sort(), [200, 409]);
    assert.equal(seen.length, 1);
  });

  it("does not take another body for the same call", async () => {
    await using world = await open();
    const first = new Attempt(world, 1);
    await world.host.until(() => world.host.holds.length === 1);
    const other = new Attempt(world, 2, "pay 999");
    await world.host.until(() => world.host.holds.length === 2);
    world.host.holds[0]!.decide(approve);
    world.host.holds[1]!.decide({ decision: "deny", scope: "call" });
    assert.deepEqual(
      [(await first.answer).status, (await other.answer).status, seen.length],
      [200, 403, 1],
    );
  });

  /** Opens a hold and stops its broker before anything is decided. */
  async function interrupted(large = false): Promise<{ host: MemoryHost; body: string }> {
    const host = new MemoryHost();
    const world = await open(host);
    const body = large ? "pay ".repeat(600_000) : "pay 100";
    const attempt = new Attempt(world, 1, body);
    await host.until(() => host.holds.length === 1);
    await world[Symbol.asyncDispose]();
    await assert.rejects(attempt.answer);
    return { host, body };
  }

  for (const large of [false, true]) {
    it(`finds an approved ${large ? "spooled" : "small"} call again after a restart`, async () => {
      const { host, body } = await interrupted(large);
      host.holds[0]!.decide(approve);
      await using world = await open(new MemoryHost(host.drafts));
      assert.equal((await new Attempt(world, 2, body).answer).status, 200);
      assert.deepEqual(seen, [{ body, attempt: "1" }]);
      assert.equal(world.host.holds.length, 0);
      await emptied();
    });
  }

  it("finds an open hold again after a restart", async () => {
    const { host, body } = await interrupted();
    await using world = await open(new MemoryHost(host.drafts));
    const retry = new Attempt(world, 2, body);
    await world.host.until(() => world.host.of("request.started").length === 1);
    world.host.decideEarlier(host.holds[0]!.hold, approve);
    assert.equal((await retry.answer).status, 200);
    assert.equal(world.host.holds.length, 0);
  });

  it("does not send again what was spent before the restart", async () => {
    const { host, body } = await interrupted();
    host.holds[0]!.decide(approve);
    const { request: held } = host.holds[0]!.request;
    const spent = { kind: "hold.spent", source: "broker", request: held, by: held } as const;
    await using world = await open(new MemoryHost([...host.drafts, spent]));
    const retry = new Attempt(world, 2, body);
    await world.host.until(() => world.host.holds.length === 1);
    assert.equal(seen.length, 0);
    retry.giveUp();
  });

  it("does not send a payload that is not what was approved", async () => {
    await using world = await open();
    const attempt = new Attempt(world, 1, "x".repeat(2_000_000));
    await world.host.until(() => world.host.holds.length === 1);
    const [spooled] = (await heldFiles()).filter((name) => name.endsWith(".body"));
    await writeFile(join(stateDir, "held", spooled!), "pay 1000000");
    world.host.holds[0]!.decide(approve);
    const { status, text } = await attempt.answer;
    assert.equal(status, 502);
    assert.match(text, /not what was approved/);
    assert.equal(seen.length, 0);
  });

  it("stays quick with a thousand open holds", async function () {
    // A thousand files and syncs: seconds on a disk of one's own, longer on a shared one.
    this.timeout(150_000);
    await using world = await open();
    const attempts: Attempt[] = [];
    for (let index = 0; index < 1000; index += 1) {
      attempts.push(new Attempt(world, index, `call ${String(index)}`));
      if (index % 50 === 49) await world.host.until(() => world.host.holds.length === index + 1);
    }
    const last = world.host.holds.find((hold) =>
      (hold.request.payload as string).endsWith("call 999"),
    );
    last!.decide(approve);
    assert.equal((await attempts[999]!.answer).status, 200);
    assert.equal(seen.length, 1);
    for (const attempt of attempts) attempt.giveUp();
  });
});
