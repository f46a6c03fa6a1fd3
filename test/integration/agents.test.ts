import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import http from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { agentProgram, type RealAgent } from "../../.config/setupAgents.mjs";
import type { Entry, EntryOf } from "../../src/core/journal/entry.ts";
import { agentSessions } from "../support/agentSessions.ts";
import { callLines } from "../support/callLines.ts";
import {
  builtCommand,
  commandWorlds,
  eventually,
  type CommandWorld,
} from "../support/holdfastCommand.ts";
import { startScriptedModel, type ModelScript } from "../support/scriptedModel.ts";

const realKey = "sk-a-real-key-that-must-never-be-inside";

/** A server that says yes to everything, and what it was asked. */
async function startOutside(): Promise<{
  readonly url: string;
  readonly port: number;
  readonly asked: string[];
  close(): void;
}> {
  const asked: string[] = [];
  const server = http.createServer((request, response) => {
    asked.push(`${request.method ?? ""} ${request.url ?? ""}`);
    response.end("yes\n");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const close = (): void => {
    server.close().closeAllConnections();
  };
  return { url: `http://127.0.0.1:${port}`, port, asked, close };
}

describe("real agents in a transaction", () => {
  const newWorld = commandWorlds();
  let outside: Awaited<ReturnType<typeof startOutside>> | undefined;
  afterEach(() => {
    outside?.close();
    outside = undefined;
  });

  async function withModel<T>(
    script: () => ModelScript,
    use: (model: Awaited<ReturnType<typeof startScriptedModel>>) => Promise<T>,
  ): Promise<T> {
    const model = await startScriptedModel(script);
    try {
      return await use(model);
    } finally {
      await model.close();
    }
  }

  function start(
    world: CommandWorld,
    agent: RealAgent,
    url: string,
    options: readonly string[] = [],
  ): ReturnType<CommandWorld["run"]> {
    const { args, env, variable } = agentSessions[agent];
    const run = ["run", "--agent", agent, "--prompt", "Do the work.", ...options, ...args];
    return world.run(run, { env: { [variable]: agentProgram(agent), ...env(url, realKey) } });
  }

  /** Approves the first call that waits. */
  async function approveHeld(world: CommandWorld): Promise<void> {
    const hold = await eventually(
      async () => {
        const holds = await world.json<{ hold: string }[]>(["holds"]);
        return holds[0]?.hold;
      },
      "a held call",
      90_000,
    );
    const { code, stderr } = await world.run(["approve", hold]);
    assert.equal(code, 0, stderr);
  }

  for (const agent of Object.keys(agentSessions) as RealAgent[]) {
    const session = agentSessions[agent];

    it(`${agent}: reads, edits, commands, a failure, a held, a denied call, a sub-agent`, async () => {
      const world = newWorld({
        "hello.txt": "hello world\n",
        "old.txt": "old\n",
        "gone.txt": "gone\n",
        ...session.files,
      });
      outside = await startOutside();
      const policy = path.join(world.home, "..", "policy.json");
      const when = { host: "127.0.0.1", port: outside.port };
      const rules = [
        { id: "ask", when, verdict: "hold" },
        { id: "never", when: { ...when, path: "/denied" }, verdict: "deny" },
      ];
      writeFileSync(policy, JSON.stringify({ version: 1, rules }), { mode: 0o600 });
      const places = { folder: world.workspace, outside: outside.url };
      await withModel(
        () => session.script(places),
        async (model) => {
          const running = start(world, agent, model.url, ["--policy", policy]);
          await approveHeld(world);
          const { code, stdout, stderr } = await running;
          assert.equal(code, 0, stderr);
          assert.match(stdout, /All done\./);
          const keys = model.requests.map(({ credential = "" }) => credential);
          assert.ok(
            keys.some((key) => key.includes(realKey)),
            "the model got the real key",
          );
        },
      );
      assert.deepEqual(outside.asked, ["POST /held"]);
      const entries = await world.entries();
      assert.deepEqual(callLines(entries), session.calls);
      checkJournal(entries);
      await checkChanges(world);
    }).timeout(150_000);

    it(`${agent}: stopped in the middle of a call`, async () => {
      const world = newWorld({ "hello.txt": "hello world\n" });
      const turns = [session.shell("echo begun > begun.txt; sleep 300"), { text: "All done." }];
      await withModel(
        () => ({ main: turns }),
        async (model) => {
          const running = start(world, agent, model.url);
          await eventually(
            async () => {
              const { stdout } = await world.run(["timeline", "latest", "--json"]);
              return stdout.includes('"argv":["sleep","300"]') ? true : undefined;
            },
            "the command",
            90_000,
          );
          assert.equal((await world.run(["stop", "latest"])).code, 0);
          assert.notEqual((await running).code, 0);
        },
      );
      const calls = callLines(await world.entries());
      assert.equal(calls.length, 1);
      assert.match(calls[0] ?? "", / cancelled$/);
      const { stdout } = await world.run(["diff", "latest"]);
      assert.match(stdout, /begun\.txt/, "what was written stays reviewable");
    }).timeout(120_000);

    it(`${agent}: Ctrl-C in the middle of a call`, async () => {
      const world = newWorld({ "hello.txt": "hello world\n" });
      const turns = [session.shell("echo begun > begun.txt; sleep 300"), { text: "All done." }];
      await withModel(
        () => ({ main: turns }),
        async (model) => {
          const { args, env, variable } = session;
          const words = ["run", "--agent", agent, "--prompt", "Do the work.", ...args];
          const child = spawn(process.execPath, [builtCommand, ...words], {
            cwd: world.workspace,
            // As in a shell: a terminal sends the signal to the whole group.
            detached: true,
            stdio: "ignore",
            env: {
              ...process.env,
              HOLDFAST_HOME: world.home,
              XDG_CONFIG_HOME: path.join(world.home, "config"),
              [variable]: agentProgram(agent),
              ...env(model.url, realKey),
            },
          });
          const ended = once(child, "exit");
          await eventually(
            async () => {
              const { stdout } = await world.run(["timeline", "latest", "--json"]);
              return stdout.includes('"argv":["sleep","300"]') ? true : undefined;
            },
            "the command",
            90_000,
          );
          process.kill(-(child.pid ?? 0), "SIGINT");
          assert.deepEqual(await ended, [1, null]);
        },
      );
      assert.match(callLines(await world.entries()).join(), /^\w+ cancelled$/);
      const { state } = await world.json<{ state: string }>(["status", "latest"]);
      assert.equal(state, "sealed");
      const { stdout } = await world.run(["diff", "latest"]);
      assert.match(stdout, /begun\.txt/);
    }).timeout(120_000);

    it(`${agent}: killed by what it runs`, async () => {
      const world = newWorld({ "hello.txt": "hello world\n" });
      const kill = "echo begun > begun.txt; kill -9 -1; sleep 300";
      await withModel(
        () => ({ main: [session.shell(kill), { text: "All done." }] }),
        async (model) => {
          const { code, stderr } = await start(world, agent, model.url);
          assert.equal(code, 1, stderr);
        },
      );
      const entries = await world.entries();
      assert.match(callLines(entries).join(), /^\w+ cancelled$/);
      const { state } = await world.json<{ state: string }>(["status", "latest"]);
      assert.equal(state, "sealed");
      const { stdout } = await world.run(["diff", "latest"]);
      assert.match(stdout, /begun\.txt/);
    }).timeout(120_000);
  }
});

/** What holds for every agent's session. */
function checkJournal(entries: readonly Entry[]): void {
  assert.doesNotMatch(
    JSON.stringify(entries),
    new RegExp(realKey),
    "the journal never has the key",
  );
  const started = entries.filter((entry) => entry.kind === "tool.started");
  const bySeq = (seq: number | undefined): EntryOf<"tool.started"> | undefined =>
    started.find((entry) => entry.seq === seq);
  const causeOf = (file: string): string => {
    const change = entries.find((entry) => entry.kind === "file.changed" && entry.path === file);
    return JSON.stringify(bySeq(change?.parent)?.input ?? null);
  };
  assert.match(causeOf("hello.txt"), /there/, "the edit is laid to the call that made it");
  assert.match(causeOf("moved.txt"), /mv old\.txt/);
  assert.match(causeOf("gone.txt"), /rm gone\.txt/);
  assert.match(causeOf("answer.txt"), /held/);

  const opened = entries.find((entry) => entry.kind === "hold.opened");
  const requests = entries.filter((entry) => entry.kind === "request.started");
  const held = requests.find(({ request }) => request === opened?.request);
  assert.match(JSON.stringify(bySeq(held?.parent)?.input), /held/, "the request has its call");
  const denied = requests.find((entry) => entry.path === "/denied");
  const verdict = entries.find(
    (entry) => entry.kind === "verdict" && entry.request === denied?.request,
  );
  assert.equal(verdict?.kind === "verdict" ? verdict.verdict : undefined, "deny");
  const begun = entries.find((entry) => entry.kind === "transaction.started");
  assert.match(begun?.program?.version ?? "", /^\d+\.\d+\.\d+/);
  assert.deepEqual(
    entries.filter((entry) => entry.kind === "alert").map(({ message }) => message),
    [],
  );
}

async function checkChanges(world: CommandWorld): Promise<void> {
  const { files } = await world.json<{ files: { path: string }[] }>(["changes", "latest"]);
  const paths = files.map((file) => file.path);
  for (const file of ["hello.txt", "new.txt", "moved.txt", "env.txt", "answer.txt"])
    assert.ok(paths.includes(file), `${file} in ${paths.join(", ")}`);
  const { stdout: patch } = await world.run(["diff", "latest", "--path", "env.txt"]);
  assert.doesNotMatch(patch, new RegExp(realKey));
  const kept = readFileSync(path.join(world.workspace, "hello.txt"), "utf8");
  assert.equal(kept, "hello world\n");
}
