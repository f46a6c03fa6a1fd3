import assert from "node:assert/strict";
import { z } from "zod";
import { Failure } from "../../src/base/errors.ts";
import { Caller, Responder } from "../../src/protocol/endpoint.ts";

const methods = {
  double: { params: z.object({ value: z.number() }), result: z.object({ value: z.number() }) },
  refuse: { params: z.object({}), result: z.null() },
  lie: { params: z.object({}), result: z.object({ value: z.number() }) },
} as const;
const notifications = { told: z.object({ text: z.string() }) } as const;

/** Both ends, joined in memory through JSON as a socket would. */
function ends(): {
  caller: Caller<typeof methods, typeof notifications>;
  responder: Responder<typeof methods, typeof notifications>;
} {
  const responder: Responder<typeof methods, typeof notifications> = new Responder(
    methods,
    {
      double: ({ value }) => ({ value: value * 2 }),
      refuse: () => {
        throw new Failure("refused", "no", "not here", "go elsewhere");
      },
      lie: () => ({ value: "seven" }) as never,
    },
    { send: (message) => caller.receive(JSON.parse(JSON.stringify(message))) },
  );
  const caller: Caller<typeof methods, typeof notifications> = new Caller(methods, notifications, {
    send: (message) => void responder.receive(JSON.parse(JSON.stringify(message))),
  });
  return { caller, responder };
}

describe("endpoint", () => {
  it("calls and answers", async () => {
    assert.deepEqual(await ends().caller.call("double", { value: 21 }), { value: 42 });
  });

  it("carries a failure whole", async () => {
    const failed = ends().caller.call("refuse", {});
    await assert.rejects(failed, (error: unknown) => {
      assert.ok(error instanceof Failure);
      const { kind, code, message, fix } = error;
      assert.deepEqual(
        { kind, code, message, fix },
        { kind: "refused", code: "no", message: "not here", fix: "go elsewhere" },
      );
      return true;
    });
  });

  it("refuses parameters and answers of the wrong shape", async () => {
    const { caller } = ends();
    await assert.rejects(caller.call("double", { value: "x" } as never), /double: /);
    await assert.rejects(caller.call("lie", {}), /wrong shape/);
  });

  it("refuses methods that are not declared, inherited names too", async () => {
    const sent: unknown[] = [];
    const responder = new Responder(methods, {} as never, {
      send: (message) => sent.push(message),
    });
    for (const method of ["toString", "constructor", "nothing"])
      await responder.receive({ id: 1, method, params: {} });
    for (const message of sent) assert.match(JSON.stringify(message), /unknown-method/);
    assert.equal(sent.length, 3);
  });

  it("gives notifications to listeners until they are disposed, valid ones only", () => {
    const { caller, responder } = ends();
    const heard: string[] = [];
    const listening = caller.on("told", ({ text }) => heard.push(text));
    responder.notify("told", { text: "one" });
    responder.notify("told", { text: 2 } as never);
    listening[Symbol.dispose]();
    responder.notify("told", { text: "three" });
    assert.deepEqual(heard, ["one"]);
  });

  it("fails open calls when the transport ends", async () => {
    const caller = new Caller(methods, notifications, { send: () => undefined });
    const open = caller.call("double", { value: 1 });
    caller.end(new Error("gone"));
    await assert.rejects(open, /gone/);
    await assert.rejects(caller.call("double", { value: 1 }), /gone/);
  });
});
