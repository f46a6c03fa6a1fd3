import assert from "node:assert/strict";
import { AfterHearing } from "../../src/runtime/afterHearing.ts";
import { until } from "../support/waiting.ts";

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe("what the kernel told, after what the agent said", () => {
  it("comes later than what was said meanwhile, and in order", async () => {
    const heard: string[] = [];
    const kernel = new AfterHearing<string>((event) => heard.push(event), 20);
    kernel.push("exec make");
    kernel.push("exec cc");
    heard.push("call begins");
    assert.deepEqual(heard, ["call begins"]);
    await wait(5);
    kernel.push("exit cc");
    await wait(60);
    assert.deepEqual(heard, ["call begins", "exec make", "exec cc", "exit cc"]);
  });

  it("comes before a call ends during which it was seen", async () => {
    const heard: string[] = [];
    const kernel = new AfterHearing<string>((event) => heard.push(event), 10);
    kernel.push("exec touch");
    kernel.drain();
    heard.push("call ends");
    kernel.push("exec next");
    assert.deepEqual(heard, ["exec touch", "call ends"]);
    await wait(40);
    assert.deepEqual(heard, ["exec touch", "call ends", "exec next"]);
  });

  it("comes at once where an end waits for it, and soon after a late beginning", async () => {
    const heard: string[] = [];
    let isAwaited = false;
    const hour = 3_600_000;
    const kernel = new AfterHearing<string>(
      (event) => heard.push(event),
      hour,
      () => isAwaited,
    );
    kernel.push("exec make");
    heard.push("call begins");
    kernel.hasten();
    await until("the exec", () => heard.length === 2);
    kernel.push("exec cc");
    isAwaited = true;
    kernel.push("exit make");
    assert.deepEqual(heard, ["call begins", "exec make", "exec cc", "exit make"]);
  });

  it("comes at once at the end, once, and then without waiting", async () => {
    const heard: number[] = [];
    const kernel = new AfterHearing<number>((event) => heard.push(event), 10);
    for (let n = 0; n < 100; n++) kernel.push(n);
    kernel.flush();
    kernel.push(100);
    const all = Array.from({ length: 101 }, (_, n) => n);
    assert.deepEqual(heard, all);
    await wait(30);
    assert.deepEqual(heard, all);
  });
});
