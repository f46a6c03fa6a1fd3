import assert from "node:assert/strict";
import { request } from "node:http";
import type { DeclaredTask } from "../../src/core/policy/taskScope.ts";
import { PolicyBook } from "../../src/core/policy/policyBook.ts";
import { brokerWorld, type BrokerWorld } from "../support/brokerWorld.ts";
import { policyOf } from "../support/judged.ts";

/** A broker that judges by the policy itself; `api.test` is open to everything. */
async function worldOf(task: DeclaredTask): Promise<BrokerWorld> {
  const rules = [{ id: "open", when: { host: "api.test" }, verdict: "allow" as const }];
  const book = new PolicyBook({ user: policyOf({ version: 1, rules }), task });
  return await brokerWorld({ judge: book.judge, onPassed: (facts) => book.passed(facts) });
}

async function call(
  world: BrokerWorld,
  method: string,
  url: string,
  body?: object,
): Promise<number> {
  const { hostname, port } = new URL(world.proxy);
  const headers = { host: new URL(url).host, "content-type": "application/json" };
  return await new Promise((resolve, reject) => {
    const sent = request({ hostname, port, agent: false, method, path: url, headers });
    sent.once("error", reject);
    sent.once("response", (answer) => {
      answer.resume().once("end", () => resolve(answer.statusCode ?? 0));
    });
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

const records = (count: number, first = 0) => ({
  inputs: Array.from({ length: count }, (_, at) => ({ id: first + at })),
});

describe("policy at the broker", () => {
  it("what a rule opens passes, what nothing is known of holds, and a denial reaches the client", async () => {
    await using world = await worldOf({});
    assert.equal(await call(world, "GET", "http://api.test/"), 200);
    assert.equal(await call(world, "POST", "http://api.test/things", records(3)), 200);
    const held = call(world, "GET", "http://other.test/");
    await world.host.until(() => world.host.holds.length === 1);
    const hold = world.host.holds[0]!;
    assert.equal(hold.request.rule, "default.unmatched");
    assert.equal(hold.request.summary, "Reads / from other.test");
    const rule = JSON.parse(hold.request.ruleToAdd ?? "{}") as { when?: object };
    assert.deepEqual(rule.when, {
      host: "other.test",
      port: 80,
      method: ["GET"],
      kind: "http",
      path: "/",
    });
    hold.decide({ decision: "deny", scope: "call" });
    assert.equal(await held, 403);
    assert.equal(await call(world, "GET", "http://127.0.0.1:1/"), 403);
  });

  it("a batch beyond the task's limit holds with both numbers", async () => {
    await using world = await worldOf({ text: "close the stale ones", limits: { records: "50" } });
    const held = call(world, "POST", "http://api.test/archive", records(214));
    await world.host.until(() => world.host.holds.length === 1);
    const hold = world.host.holds[0]!;
    const asked = hold.request;
    assert.deepEqual(asked.blastRadius, { count: 214, unit: "records", limit: 50 });
    assert.equal(asked.reason, "it is 214 records; the task allows 50");
    assert.equal(asked.ruleToAdd, undefined);
    hold.decide({ decision: "approve", scope: "call" });
    assert.equal(await held, 200);
  });

  it("a batch cut into parts that go at once is counted together", async () => {
    await using world = await worldOf({ limits: { records: "50" } });
    const calls = [0, 20, 40, 60].map((first) =>
      call(world, "POST", "http://api.test/archive", records(20, first)),
    );
    await world.host.until(() => world.host.holds.length === 2);
    for (const hold of world.host.holds) {
      assert.equal(
        hold.request.reason,
        "it is 20 records after 40 earlier in this transaction; the task allows 50",
      );
      hold.decide({ decision: "deny", scope: "call" });
    }
    const answers = await Promise.all(calls);
    assert.deepEqual(answers.sort(), [200, 200, 403, 403]);
  });

  it("an approval for the transaction covers like calls and no others", async () => {
    await using world = await worldOf({});
    const first = call(world, "GET", "http://docs.test/a");
    await world.host.until(() => world.host.holds.length === 1);
    world.host.holds[0]?.decide({ decision: "approve", scope: "transaction" });
    assert.equal(await first, 200);
    assert.equal(await call(world, "GET", "http://docs.test/b?c=d"), 200);
    assert.equal(world.host.holds.length, 1);
    const other = call(world, "POST", "http://docs.test/a", {});
    await world.host.until(() => world.host.holds.length === 2);
    world.host.holds[1]?.decide({ decision: "deny", scope: "call" });
    assert.equal(await other, 403);
  });
});
