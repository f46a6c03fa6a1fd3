import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { build } from "esbuild";
import type { Entry, EntryOf } from "../../src/core/journal/entry.ts";
import { commandWorlds, eventually, type CommandWorld } from "../support/holdfastCommand.ts";

const source = path.join(import.meta.dirname, "../support/acpAgent.mjs");

const events = (entries: readonly Entry[], event: string): EntryOf<"agent.event">[] =>
  entries.filter((entry) => entry.kind === "agent.event" && entry.event === event) as never;

const saidIn = (entries: readonly Entry[]): string =>
  events(entries, "text")
    .map(({ data }) => (data as { text: string }).text)
    .join("");

describe("an agent that speaks ACP", () => {
  const newWorld = commandWorlds();
  const built = mkdtempSync(path.join(tmpdir(), "holdfast-acp-"));
  const program = path.join(built, "agent.mjs");
  before(async () => {
    // In one file: nothing of this repository is in the sandbox.
    const shared = { bundle: true, platform: "node", format: "esm" } as const;
    await build({ ...shared, entryPoints: [source], outfile: program, logLevel: "error" });
  });
  after(() => rmSync(built, { recursive: true, force: true }));

  const run = (
    world: CommandWorld,
    prompt: string,
    ...more: string[]
  ): ReturnType<CommandWorld["run"]> =>
    world.run(["run", "--agent", "acp", "--prompt", prompt, ...more, "--", "node", program]);

  const begin = async (world: CommandWorld, prompt: string): Promise<void> => {
    const { code, stderr } = await run(world, prompt, "--detach");
    assert.equal(code, 0, stderr);
  };

  it("is prompted, shown, journaled with its ids, and asked nothing", async () => {
    const world = newWorld({ "hello.txt": "hello\n" });
    const { code, stdout, stderr } = await run(world, "say think plan write run fail count files");
    assert.equal(code, 0, stderr);
    assert.match(stdout, /Hello from the agent\./);
    assert.match(stdout, /• Write written-1\.txt/);
    assert.match(stdout, /This is prompt 1\./);
    const entries = await world.entries();
    assert.deepEqual(
      events(entries, "prompt").map(({ source }) => source),
      ["person"],
    );
    assert.match(saidIn(entries), /^Hello from the agent\./);
    assert.match(saidIn(entries), /refused -32601/, "files are not offered");
    assert.deepEqual(events(entries, "thought")[0]?.data, { text: "Hm." });
    assert.match(JSON.stringify(events(entries, "plan")[0]?.data), /"content":"Write"/);
    assert.deepEqual(events(entries, "permission")[0]?.data, {
      call: "call-1",
      answer: "allow_once",
    });
    const started = entries.filter((entry) => entry.kind === "tool.started");
    assert.deepEqual(
      started.map(({ source, call, toolKind, input }) => [source, call, toolKind, input]),
      [
        ["acp", "call-1", "edit", { file: path.join(world.workspace, "written-1.txt") }],
        ["acp", "call-2", "execute", { command: "touch ran.txt" }],
        ["acp", "call-3", "fetch", {}],
      ],
    );
    const finished = entries.filter((entry) => entry.kind === "tool.finished");
    // The end of a command waits for its exit to be seen, and may come after that of the call behind it.
    assert.deepEqual(finished.map(({ call, status }) => `${call} ${status}`).sort(), [
      "call-1 ok",
      "call-2 ok",
      "call-3 failed",
    ]);
    const written = finished.find(({ call }) => call === "call-1");
    assert.deepEqual(written?.output, { bytes: 8 });
    const exec = entries.find(
      (entry) => entry.kind === "process.exec" && entry.argv[0] === "touch",
    );
    assert.equal(exec?.parent, started[1]?.seq, "what it runs hangs under its call");
    const changed = entries.filter((entry) => entry.kind === "file.changed");
    assert.deepEqual(changed.map((entry) => entry.path).sort(), ["ran.txt", "written-1.txt"]);
    assert.ok(!existsSync(path.join(world.workspace, "ran.txt")), "the workspace is as it was");
    const status = await world.json<{ state: string; exitCode: number; coverage: string }>([
      "status",
      "latest",
    ]);
    assert.deepEqual([status.state, status.exitCode, status.coverage], ["sealed", 0, "partial"]);
  }).timeout(120_000);

  it("takes further prompts in the same transaction, and is told of the MCP servers", async () => {
    const world = newWorld();
    await begin(world, "write");
    await eventually(async () => {
      const { session } = await world.json<{ session?: string }>(["status", "latest"]);
      return session === "idle" ? true : undefined;
    }, "the first turn to end");
    const second = await world.run(["prompt", "latest", "count write"]);
    assert.equal(second.code, 0, second.stderr);
    assert.match(second.stdout, /^This is prompt 2\.\n/);
    assert.deepEqual(await world.json(["prompt", "latest", "servers"]), { stopReason: "end_turn" });
    const empty = await world.run(["prompt", "latest", " "]);
    assert.equal(empty.code, 2);
    const stopped = await world.run(["stop", "latest"]);
    assert.equal(stopped.code, 0, stopped.stderr);
    const entries = await world.entries();
    const servers = [
      {
        name: "holdfast",
        command: "/run/holdfast-native",
        args: ["connect", "/run/holdfast/mcp.sock", "holdfast"],
        env: [],
      },
    ];
    assert.equal(saidIn(entries), `This is prompt 2.${JSON.stringify(servers)}`);
    assert.equal(events(entries, "turn.ended").length, 3);
    const late = await world.run(["prompt", "latest", "say"]);
    assert.equal(late.code, 1);
    assert.match(late.stderr, /there is no session to prompt — prompts go to agents/);
  }).timeout(120_000);

  it("is cancelled in the middle, refuses a second prompt meanwhile, and goes on afterwards", async () => {
    const world = newWorld();
    await begin(world, "wait");
    await eventually(async () => {
      const entries = await world.entries();
      return events(entries, "prompt").length === 1 ? true : undefined;
    }, "the prompt");
    const busy = await world.run(["prompt", "latest", "say"]);
    assert.equal(busy.code, 1);
    assert.match(busy.stderr, /still works on the prompt before/);
    const cancelled = await world.run(["cancel", "latest"]);
    assert.equal(cancelled.code, 0, cancelled.stderr);
    const ended = await eventually(async () => {
      return events(await world.entries(), "turn.ended")[0];
    }, "the end of the turn");
    assert.deepEqual(ended.data, { stopReason: "cancelled" });
    const next = await world.run(["prompt", "latest", "say"]);
    assert.match(next.stdout, /Hello from the agent\./);
  }).timeout(120_000);

  it("a request that comes before its call is told of hangs under that call", async () => {
    const world = newWorld();
    const held = run(world, "ask=http://held.example/late", "--on-exit", "review");
    const hold = await eventually(async () => {
      const [open] = await world.json<{ hold: string }[]>(["holds"]);
      return open?.hold;
    }, "the held call");
    assert.equal((await world.run(["deny", hold])).code, 0);
    assert.equal((await held).code, 0);
    const denied = await run(world, "ask=http://169.254.169.254/denied");
    assert.equal(denied.code, 0, denied.stderr);
    for (const transaction of await world.json<{ transaction: string }[]>(["list"])) {
      const { stdout } = await world.run(["timeline", transaction.transaction, "--json"]);
      const entries = stdout
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line) as Entry);
      const call = entries.find((entry) => entry.kind === "tool.started");
      const about = entries.filter((entry) =>
        /^(request\.started|verdict|hold\.opened)$/.test(entry.kind),
      );
      assert.ok(about.length >= 2);
      for (const entry of about) {
        assert.equal(entry.parent, call?.seq, entry.kind);
        assert.ok(entry.seq > (call?.seq ?? Infinity));
      }
    }
  }).timeout(120_000);

  it("may say what nobody knows, and may die", async () => {
    const world = newWorld();
    const odd = await run(world, "odd say");
    assert.equal(odd.code, 0, odd.stderr);
    const entries = await world.entries();
    assert.deepEqual((events(entries, "dance")[0]?.data as { steps: number }).steps, 3);
    assert.equal(events(entries, "malformed-update").length, 1);
    assert.match(saidIn(entries), /Hello from the agent/);

    const dead = await run(world, "write die");
    assert.equal(dead.code, 1);
    const after = await world.entries();
    assert.match(JSON.stringify(events(after, "turn.ended")[0]?.data), /"stopReason":"error"/);
    assert.equal(after.filter((entry) => entry.kind === "transaction.sealed").length, 1);
  }).timeout(120_000);

  it("may say more than a frame holds, and nest without end", async () => {
    const world = newWorld();
    const { code, stdout, stderr } = await run(world, "large deep say");
    assert.equal(code, 0, stderr);
    assert.match(stdout, /x whole\.\n• Deep\n[^]*Hello from the agent\./);
    const entries = await world.entries();
    const started = entries.find((entry) => entry.kind === "tool.started");
    assert.equal(started?.call, "d");
    assert.equal(events(entries, "turn.ended").length, 1);
    const { stdout: verified } = await world.run(["journal", "verify", "latest"]);
    assert.match(verified, /chain holds/);
  }).timeout(120_000);

  it("may offer what nobody knows, and no way to steer the terminal", async () => {
    const world = newWorld();
    const odd = await run(world, "oddAsk");
    assert.equal(odd.code, 0, odd.stderr);
    assert.match(odd.stdout, /once[^]*new[^]*cancelled/);
    assert.doesNotMatch(odd.stdout, /[\u001b\u0007]/);
    const entries = await world.entries();
    assert.match(saidIn(entries), /\u001b\]52;c/, "the journal has it as it was said");
    const answers = events(entries, "permission").map(({ data }) => data);
    assert.deepEqual(
      answers.map((data) => (data as { answer: string }).answer),
      ["allow_once", "allow_session", "cancelled"],
    );
    await run(world, "odd end");
    assert.deepEqual(events(await world.entries(), "turn.ended")[0]?.data, {
      stopReason: "unknown",
    });
  }).timeout(120_000);

  it("is granted nothing more after a cancel", async () => {
    const world = newWorld();
    await begin(world, "lateAsk");
    await eventually(async () => {
      const entries = await world.entries();
      return events(entries, "prompt").length === 1 ? true : undefined;
    }, "the prompt");
    assert.equal((await world.run(["cancel", "latest"])).code, 0);
    const entries = await eventually(async () => {
      const all = await world.entries();
      return events(all, "turn.ended").length === 1 ? all : undefined;
    }, "the end of the turn");
    assert.equal(saidIn(entries), "cancelled");
    const finished = entries.find((entry) => entry.kind === "tool.finished");
    assert.equal(finished?.status, "cancelled");
  }).timeout(120_000);

  it("is refused when it speaks no version of the protocol that is spoken here", async () => {
    const world = newWorld();
    const begun = /the agent's session did not begin: /;
    for (const [met, said] of [
      ['{"protocolVersion":2}', /it speaks version 2 of the protocol, Holdfast speaks version 1/],
      ['{"protocolVersion":"one"}', /it speaks version "one" of the protocol/],
      ['{"protocolVersion":-1}', /it speaks version -1 of the protocol/],
      ['{"protocolVersion":1.5}', /it speaks version 1\.5 of the protocol/],
      ['{"protocolVersion":null}', /it speaks version null of the protocol/],
      ["{}", /its answer to initialize has no protocolVersion, Holdfast speaks version 1/],
      ["7", /its answer to initialize is no object/],
      ["null", /its answer to initialize is no object/],
    ] as const) {
      const command = ["--prompt", "say", "--", "node", program, `--met=${met}`];
      const { code, stdout } = await world.run(["run", "--agent", "acp", ...command]);
      assert.equal(code, 1, met);
      assert.match(stdout, begun);
      assert.match(stdout, said);
      assert.doesNotMatch(stdout, /Hello from/);
    }
  }).timeout(240_000);

  it("need not say how one authenticates, in whatever form", async () => {
    const world = newWorld();
    const met = '{"protocolVersion":1,"agentInfo":7,"authMethods":[null,{"id":7}]}';
    const command = ["--prompt", "say", "--", "node", program, `--met=${met}`];
    const { code, stdout } = await world.run(["run", "--agent", "acp", ...command]);
    assert.equal(code, 0, stdout);
    assert.match(stdout, /Hello from the agent\./);
  }).timeout(120_000);

  const unanswered = (world: CommandWorld, asked: string): Promise<string> =>
    eventually(
      async () => {
        const alerts = (await world.entries()).filter((entry) => entry.kind === "alert");
        return alerts.find(({ message }) => message.includes(`not answered ${asked} for`))?.message;
      },
      `word that ${asked} is not answered`,
      90_000,
    );

  it("that does not answer is told of, with how to end it; when it answers at last, all goes on", async () => {
    const world = newWorld();
    const running = world.run([
      ...["run", "--agent", "acp", "--prompt", "say", "--on-exit", "review"],
      ...["--", "node", program, "--first=http://held.example"],
    ]);
    for (const asked of ["initialize", "session/new"]) {
      const hold = await eventually(async () => {
        const [open] = await world.json<{ hold: string }[]>(["holds"]);
        return open?.hold;
      }, "what it does before it answers");
      const message = await unanswered(world, asked);
      const [latest] = await world.json<{ transaction: string }[]>(["list"]);
      assert.ok(message.endsWith(`\`holdfast stop ${latest?.transaction}\``), message);
      assert.equal((await world.run(["deny", hold])).code, 0);
    }
    const { code, stdout } = await running;
    assert.equal(code, 0, stdout);
    assert.match(stdout, /not answered initialize[^]*not answered session\/new[^]*Hello from/);
  }).timeout(240_000);

  it("that never answers is ended by `stop`, and a prompt that waits for it is cancelled", async () => {
    const world = newWorld();
    const command = ["node", program, "--silent=initialize"];
    const begun = await world.run([
      ...["run", "--agent", "acp", "--detach", "--prompt", "say", "--", ...command],
    ]);
    assert.equal(begun.code, 0, begun.stderr);
    await unanswered(world, "initialize");
    assert.equal((await world.run(["cancel", "latest"])).code, 0);
    await eventually(async () => events(await world.entries(), "turn.ended")[0], "the turn's end");
    const { stdout } = await world.run(["timeline", "latest"]);
    assert.match(stdout, /has not answered initialize/);
    const stopped = await world.run(["stop", "latest"]);
    assert.equal(stopped.code, 0, stopped.stderr);
    const status = await world.json<{ state: string; notes: string[] }>(["status", "latest"]);
    assert.equal(status.state, "sealed");
    assert.match(status.notes.join("\n"), /has not answered initialize/);
  }).timeout(240_000);

  it("that does not end its turn when it is told to is told of", async () => {
    const world = newWorld();
    await begin(world, "deaf");
    await eventually(async () => events(await world.entries(), "prompt")[0], "the prompt");
    assert.equal((await world.run(["cancel", "latest"])).code, 0);
    await unanswered(world, "session/cancel");
    const stopped = await world.run(["stop", "latest"]);
    assert.equal(stopped.code, 0, stopped.stderr);
  }).timeout(120_000);

  it("says clearly what is wrong with a command that does not speak it", async () => {
    const world = newWorld();
    const nothing = await world.run(["run", "--agent", "acp", "--", "node", program]);
    assert.equal(nothing.code, 2);
    assert.match(nothing.stderr, /does nothing without a prompt/);
    const silent = await world.run(["run", "--agent", "acp", "--prompt", "x", "--", "true"]);
    assert.equal(silent.code, 1);
    const { notes } = await world.json<{ notes: string[] }>(["status", "latest"]);
    assert.match(notes.join("\n"), /the agent's session did not begin/);
  }).timeout(120_000);
});
