import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import http from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { agentProgram } from "../../.config/setupAgents.mjs";
import type { Entry, EntryOf } from "../../src/core/journal/entry.ts";
import { agentSessions } from "../support/agentSessions.ts";
import { commandWorlds, eventually, type CommandWorld } from "../support/holdfastCommand.ts";
import { startScriptedModel, type ModelScript } from "../support/scriptedModel.ts";
import type { ModelTurn } from "../support/scriptedModelWire.ts";

const realKey = "sk-a-real-key-that-must-never-be-inside";

/** How a real agent is led through a session over ACP. */
interface AcpCase {
  readonly agent: "gemini" | "opencode";
  /** What makes it speak ACP. */
  readonly args: readonly string[];
  /** The calls of the journal: kind, status, title; `FOLDER` is the workspace. */
  readonly calls: readonly string[];
}

const curl = "curl --silent --show-error --fail --max-time 60";

const cases: readonly AcpCase[] = [
  {
    agent: "opencode",
    args: ["acp"],
    calls: ["read ok: read FOLDER/hello.txt", "edit ok: edit FOLDER/hello.txt"],
  },
  {
    agent: "gemini",
    args: ["--acp"],
    calls: ["read ok: hello.txt", "edit ok: hello.txt: world => there"],
  },
];

describe("real agents that speak ACP", () => {
  const newWorld = commandWorlds();
  let outside: http.Server | undefined;
  afterEach(() => outside?.close().closeAllConnections());

  /** A server outside that says yes. */
  async function startOutside(): Promise<number> {
    outside = http.createServer((_request, response) => response.end("yes\n"));
    await new Promise<void>((resolve) => outside?.listen(0, "127.0.0.1", resolve));
    return (outside.address() as AddressInfo).port;
  }

  /** A policy that holds every call to that port. */
  function holding(world: CommandWorld, port: number): string {
    const file = path.join(world.home, "..", "policy.json");
    const when = { host: "127.0.0.1", port };
    const rules = [{ id: "ask", when, verdict: "hold" }];
    writeFileSync(file, JSON.stringify({ version: 1, rules }), { mode: 0o600 });
    return file;
  }

  async function approveHeld(world: CommandWorld): Promise<void> {
    const held = async (): Promise<string | undefined> =>
      (await world.json<{ hold: string }[]>(["holds"]))[0]?.hold;
    const hold = await eventually(held, "a held call", 90_000);
    const { code, stderr } = await world.run(["approve", hold]);
    assert.equal(code, 0, stderr);
  }

  for (const { agent, args, calls } of cases) {
    it(`${agent}: works, waits for a hold, takes further prompts, is cancelled, and goes on`, async () => {
      const world = newWorld({ "hello.txt": "hello world\n" });
      const { shell, script, env, variable } = agentSessions[agent];
      const port = await startOutside();
      const place = `http://127.0.0.1:${port}`;
      const [read, edit] = script({ folder: world.workspace, outside: place }).main;
      assert.ok(read !== undefined && edit !== undefined);
      const first = [
        read,
        edit,
        shell("cp hello.txt copy.txt"),
        shell("cat no-such-file"),
        shell(`${curl} --data word ${place}/held > answer.txt`),
      ];
      let turns: readonly ModelTurn[] = [...first, { text: "First done." }];
      const play = (): ModelScript => ({ main: turns });
      const model = await startScriptedModel(play);
      try {
        const given = { ...env(model.url, realKey), [variable]: agentProgram(agent) };
        const prompt = ["--prompt", "Do the work.", "--policy", holding(world, port)];
        const begun = await world.run(
          ["run", "--agent", "acp", "--detach", ...prompt, "--", agentProgram(agent), ...args],
          { env: given },
        );
        assert.equal(begun.code, 0, begun.stderr);
        await approveHeld(world);
        await eventually(async () => turnsOf(await world.entries())[0], "the first turn", 90_000);

        turns = [...first, shell("echo again > again.txt"), { text: "Second done." }];
        const second = await world.run(["prompt", "latest", "And now again."]);
        assert.equal(second.code, 0, second.stderr);
        assert.match(second.stdout, /Second done\./);

        turns = [...first, read, shell("echo begun > begun.txt; sleep 300")];
        const third = world.run(["prompt", "latest", "Wait."]);
        await eventually(
          async () => {
            const execs = (await world.entries()).filter((entry) => entry.kind === "process.exec");
            return execs.find(({ argv }) => argv.join(" ") === "sleep 300");
          },
          "the command",
          90_000,
        );
        assert.equal((await world.run(["cancel", "latest"])).code, 0);
        await third;

        turns = [{ text: "Still here." }];
        const fourth = await world.run(["prompt", "latest", "Are you there?"]);
        assert.match(fourth.stdout, /Still here\./);
        assert.equal((await world.run(["stop", "latest"])).code, 0);
        const keys = model.requests.map(({ credential = "" }) => credential);
        assert.ok(keys.some((key) => key.includes(realKey)));
      } finally {
        await model.close();
      }
      check(await world.entries(), world.workspace, [
        ...calls,
        "execute ok: cp hello.txt copy.txt",
        "execute failed: cat no-such-file",
        `execute ok: ${curl} --data word ${place}/held > answer.txt`,
        "execute ok: echo again > again.txt",
        "execute cancelled: echo begun > begun.txt; sleep 300",
      ]);
    }).timeout(180_000);

    it(`${agent}: ends by itself when its session is over`, async () => {
      const world = newWorld({ "hello.txt": "hello world\n" });
      const { env, variable } = agentSessions[agent];
      const model = await startScriptedModel({ main: [{ text: "All done." }] });
      try {
        const { code, stdout, stderr } = await world.run(
          ["run", "--agent", "acp", "--prompt", "Go.", "--", agentProgram(agent), ...args],
          { env: { ...env(model.url, realKey), [variable]: agentProgram(agent) } },
        );
        assert.equal(code, 0, stderr);
        assert.match(stdout, /All done\./);
      } finally {
        await model.close();
      }
      const entries = await world.entries();
      const itself = entries.find((entry) => entry.kind === "process.exec");
      const exit = entries.find(
        (entry) => entry.kind === "process.exit" && entry.pid === itself?.pid,
      );
      assert.ok(exit?.kind === "process.exit");
      assert.deepEqual([exit.exitCode, exit.signal], [0, undefined], "nobody had to end it");
    }).timeout(120_000);
  }
});

const turnsOf = (entries: readonly Entry[]): unknown[] =>
  entries.flatMap((entry) =>
    entry.kind === "agent.event" && entry.event === "turn.ended" ? [entry.data] : [],
  );

/** What the journal must have, whichever agent it was. */
function check(entries: readonly Entry[], folder: string, calls: readonly string[]): void {
  const started = entries.filter((entry) => entry.kind === "tool.started");
  const finished = entries.filter((entry) => entry.kind === "tool.finished");
  const told = started.map(({ call, toolKind, title }) => {
    const ends = finished.filter((entry) => entry.call === call).map(({ status }) => status);
    return `${toolKind} ${ends.join()}: ${title.replaceAll(folder, "FOLDER")}`;
  });
  assert.deepEqual(told, calls);
  assert.doesNotMatch(JSON.stringify(entries), new RegExp(realKey));

  const titleOf = (seq: number | undefined): string =>
    started.find((entry) => entry.seq === seq)?.title ?? "nobody's";
  const changed = entries.filter((entry) => entry.kind === "file.changed");
  const causeOf = (file: string): string =>
    titleOf(changed.find((entry) => entry.path === file)?.parent);
  assert.match(causeOf("hello.txt"), /hello\.txt/);
  assert.match(causeOf("copy.txt"), /^cp /);
  assert.match(causeOf("answer.txt"), /held/);
  assert.match(causeOf("again.txt"), /^echo again/);
  assert.match(causeOf("begun.txt"), /^echo begun/);
  const sleep = entries.find(
    (entry) => entry.kind === "process.exec" && entry.argv.join(" ") === "sleep 300",
  );
  assert.match(titleOf(sleep?.parent), /sleep 300/);

  const opened = entries.find((entry) => entry.kind === "hold.opened");
  const held = entries.find(
    (entry): entry is EntryOf<"request.started"> =>
      entry.kind === "request.started" && entry.request === opened?.request,
  );
  assert.match(titleOf(held?.parent), /held/);
  assert.deepEqual(turnsOf(entries), [
    { stopReason: "end_turn" },
    { stopReason: "end_turn" },
    { stopReason: "cancelled" },
    { stopReason: "end_turn" },
  ]);
  const said = entries.flatMap((entry) =>
    entry.kind === "agent.event" && entry.event === "text"
      ? [(entry.data as { text: string }).text]
      : [],
  );
  for (const words of ["First I read.", "First done.", "Second done.", "Still here."])
    assert.ok(said.join("").includes(words), `${words} in ${said.join("|")}`);
  const alerts = entries.filter((entry) => entry.kind === "alert");
  assert.deepEqual(
    alerts.map(({ message }) => message),
    [],
  );
}
