import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createServer } from "node:net";
import path from "node:path";
import { promisify } from "node:util";
import { Failure } from "../../src/base/errors.ts";
import { findBwrap } from "../../src/node/sandbox/bwrap.ts";
import { launchPlan } from "../../src/node/sandbox/launchPlan.ts";
import { machineWith } from "../../src/node/sandbox/machine.ts";
import type { PlanRecord } from "../../src/node/sandbox/plan.ts";
import { planSandbox } from "../../src/node/sandbox/planSandbox.ts";
import { probeSandbox } from "../../src/node/sandbox/probeSandbox.ts";
import { makeSandboxFixture, nativePath, run } from "../support/sandboxFixture.ts";
import type { SandboxFixture } from "../support/sandboxFixture.ts";

describe("sandbox probe", function () {
  this.timeout(30_000);

  it("finds everything here", async () => {
    const rows = await probeSandbox({ nativePath });
    assert.deepEqual(
      rows.filter((row) => row.state !== "ok"),
      [],
    );
    assert.ok(rows.length >= 8);
  });

  it("names what is missing, with the fix", async () => {
    const rows = await probeSandbox({
      nativePath: "/nonesuch/native",
      bwrapPath: "/nonesuch/bwrap",
    });
    const missing = rows.filter((row) => row.state === "missing");
    assert.deepEqual(
      missing.map((row) => row.name),
      ["native program", "bubblewrap"],
    );
    for (const row of missing) assert.match(row.fix ?? "", /npm run build|install/);
  });
});

describe("hook and bridge", function () {
  this.timeout(30_000);
  let fixture: SandboxFixture;
  beforeEach(() => (fixture = makeSandboxFixture()));
  afterEach(() => fixture.remove());

  it("is refused where the bridge's port is taken, here by the transparent path's own", async () => {
    const { records } = planSandbox(fixture.spec(["true"]), machineWith(findBwrap()));
    const taken = records.map((record): PlanRecord =>
      record[0] === "bridge" ? ["bridge", "61081", record[2]] : record,
    );
    await assert.rejects(
      launchPlan(nativePath, taken, { terminal: false, notes: [] }),
      (error) =>
        error instanceof Failure &&
        error.kind === "refused" &&
        error.code === "bridge" &&
        error.message === "cannot listen on 127.0.0.1:61081 in the sandbox: Address already in use",
    );
  });

  /** Listens in the door directory; resolves with all that came when `count` connections have ended. */
  const listen = async (
    name: string,
    count: number,
    answer: (heard: string) => string | undefined,
  ): Promise<{ readonly heard: Promise<readonly string[]> }> => {
    const heard: string[] = [];
    let settle!: (all: readonly string[]) => void;
    const all = new Promise<readonly string[]>((resolve) => (settle = resolve));
    const server = createServer({ allowHalfOpen: true }, (socket) => {
      let text = "";
      socket.setEncoding("utf8");
      socket.on("data", (part: string) => (text += part));
      socket.on("error", () => socket.destroy());
      socket.on("end", () => {
        heard.push(text);
        socket.end(answer(text) ?? "");
        if (heard.length === count) {
          settle(heard);
          server.close();
        }
      });
    });
    await new Promise<void>((resolve) => server.listen(path.join(fixture.door, name), resolve));
    return { heard: all };
  };

  const hook = "/run/holdfast-hook";

  it("passes an event on as one line", async () => {
    const { heard } = await listen("agent.sock", 1, () => undefined);
    const payload = JSON.stringify(
      { hook_event_name: "PreToolUse", a: "x\ny", b: [1] },
      undefined,
      2,
    );
    const ran = await run(fixture.spec(["sh", "-c", hook]), { input: payload });
    assert.deepEqual([ran.exitCode, ran.stdout, ran.stderr], [0, "", ""]);
    const [line = ""] = await heard;
    assert.equal(line.indexOf("\n"), line.length - 1);
    const event = JSON.parse(line) as { at: number; event: string; data: unknown };
    assert.equal(event.event, "PreToolUse");
    assert.deepEqual(event.data, JSON.parse(payload));
    assert.ok(Math.abs(event.at - Date.now()) < 60_000);
  });

  it("passes megabytes on", async () => {
    const { heard } = await listen("agent.sock", 1, () => undefined);
    const data = { hook_event_name: "PostToolUse", big: "é\n".repeat(2_000_000) };
    await run(fixture.spec(["sh", "-c", hook]), { input: JSON.stringify(data) });
    assert.deepEqual((JSON.parse((await heard)[0] ?? "") as { data: unknown }).data, data);
  });

  it("lets the agent go on when nobody listens or the input is none", async () => {
    const commands = [
      hook,
      `${hook} < /dev/null`,
      `HOLDFAST_AGENT_SOCK=/nonesuch ${hook}`,
      `echo '{' | ${hook}`,
    ];
    const ran = await run(fixture.spec(["sh", "-c", commands.join(" && ")]), { input: "x" });
    assert.deepEqual([ran.exitCode, ran.stdout, ran.stderr], [0, "", ""]);
  });

  it("leads to the broker, half-closed and many at once", async () => {
    const many = 50;
    const { heard } = await listen("door.sock", many, (text) => `answer to ${text.length}`);
    const program = `
      const net = require("node:net");
      const one = (i) => new Promise((resolve, reject) => {
        const socket = net.connect({ port: 61080, host: "127.0.0.1", allowHalfOpen: true });
        let text = "";
        socket.on("data", (part) => (text += part)).on("end", () => resolve(text)).on("error", reject);
        socket.end("x".repeat(100000 + i));
      });
      Promise.all(Array.from({ length: ${many} }, (_, i) => one(i))).then((all) => console.log(all.join("\\n")));`;
    const ran = await run(fixture.spec(["node", "-e", program]));
    const expected = Array.from({ length: many }, (_, i) => `answer to ${100_000 + i}`);
    assert.deepEqual(ran.stdout.trim().split("\n"), expected, ran.stderr);
    assert.equal((await heard).length, many);
  });

  it("is told to programs by the proxy variables", async () => {
    const ran = await run(fixture.spec(["sh", "-c", "echo $HTTPS_PROXY $https_proxy $NO_PROXY"]));
    assert.equal(
      ran.stdout,
      "http://127.0.0.1:61080 http://127.0.0.1:61080 localhost,127.0.0.1,::1\n",
    );
    const none = await run(
      fixture.spec(["sh", "-c", "echo $HTTPS_PROXY; ls /run"], { door: false }),
    );
    assert.equal(none.stdout, "\nholdfast-native\n");
  });

  it("explains each subcommand's arguments", async () => {
    for (const args of [
      ["supervise"],
      ["init"],
      ["bridge", "x", "y"],
      ["bridge"],
      ["probe", "x"],
      ["none"],
      [],
    ]) {
      const failed: unknown = await promisify(execFile)(nativePath, args).catch(
        (error: unknown) => error,
      );
      assert.ok(failed instanceof Error && "code" in failed && failed.code === 2, args.join(" "));
    }
  });
});
