import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import type { AddressInfo } from "node:net";
import path from "node:path";
import type { Entry } from "../../src/core/journal/entry.ts";
import { readJournal } from "../../src/node/journal/journalFile.ts";
import { liveSupervisor } from "../../src/node/state/supervisorLock.ts";
import { commandWorlds, eventually, type CommandWorld } from "../support/holdfastCommand.ts";

interface Stopped {
  readonly stopped: readonly { readonly transaction: string; readonly outcome: string }[];
  readonly evidence: string;
  readonly report: string;
}

/** A server that takes what comes slowly and never answers; it tells how many bytes came and who is connected. */
interface SilentServer {
  readonly port: number;
  readonly received: number;
  readonly connected: number;
  close(): void;
}

async function silentServer(): Promise<SilentServer> {
  const sockets = new Set<Socket>();
  let received = 0;
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => sockets.delete(socket));
    socket.on("data", (bytes) => {
      received += bytes.length;
      socket.pause();
      setTimeout(() => socket.resume(), 20);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    get received() {
      return received;
    },
    get connected() {
      return sockets.size;
    },
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

describe("the emergency stop", function () {
  const newWorld = commandWorlds();
  const servers: SilentServer[] = [];
  afterEach(() => {
    for (const server of servers.splice(0)) server.close();
  });
  const serve = async (): Promise<SilentServer> => {
    const server = await silentServer();
    servers.push(server);
    return server;
  };

  const rootOf = (world: CommandWorld, transaction: string): string =>
    path.join(world.home, "transactions", transaction);
  const entriesOf = (world: CommandWorld, transaction: string): readonly Entry[] =>
    readJournal(rootOf(world, transaction)).entries;
  const has = (world: CommandWorld, transaction: string, kind: Entry["kind"]): Promise<Entry> =>
    eventually(
      () => entriesOf(world, transaction).find((entry) => entry.kind === kind),
      `${kind} in ${transaction}`,
    );
  const begin = async (
    world: CommandWorld,
    script: string,
    more: readonly string[] = [],
  ): Promise<string> => {
    const { transaction } = await world.json<{ transaction: string }>([
      ...["run", "--detach", ...more, "--", "sh", "-c", script],
    ]);
    return transaction;
  };
  /** A policy that opens the server, so that a request is really on its way. */
  const openTo = (world: CommandWorld, server: SilentServer): string => {
    const file = path.join(world.home, "policy.json");
    mkdirSync(world.home, { recursive: true, mode: 0o700 });
    const when = { host: "127.0.0.1", port: server.port };
    const rules = [{ id: "open", when, verdict: "allow" }];
    writeFileSync(file, JSON.stringify({ version: 1, rules }), { mode: 0o600 });
    return file;
  };
  const stop = async (world: CommandWorld, code = 0): Promise<Stopped> => {
    const outcome = await world.run(["stop", "--all", "--json"]);
    assert.equal(outcome.code, code, outcome.stderr);
    return JSON.parse(outcome.stdout) as Stopped;
  };
  /** There and no zombie: who should reap it may be slow. */
  const alive = (pid: number): boolean =>
    existsSync(`/proc/${pid}/stat`) && !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));

  it("ends every agent, cuts off what is on its way, and leaves holds undecided", async () => {
    const world = newWorld({ "a.txt": "one\n" });
    const server = await serve();
    const policy = openTo(world, server);
    // More than the server takes in minutes: it is on its way when the stop comes.
    const whole = 400_000_000;
    const upload = `echo two >> a.txt; head -c ${whole} /dev/zero | curl -sS --noproxy "" -T - http://127.0.0.1:${server.port}/upload`;
    const sending = await begin(world, upload, ["--policy", policy, "--task", "upload"]);
    const holding = await begin(world, "curl -sS -d x=1 https://api.example.com/things", [
      ...["--on-exit", "commit", "--task", "hold"],
    ]);
    const working = await begin(world, "echo work > work.txt; sleep 300", ["--on-exit", "commit"]);
    await eventually(() => (server.received > 0 ? true : undefined), "the upload");
    const opened = await has(world, holding, "hold.opened");
    await has(world, working, "process.exec");
    const begun = performance.now();
    const { stopped, evidence, report } = await stop(world);
    assert.ok(performance.now() - begun < 60_000);
    assert.deepEqual(stopped.map((one) => [one.transaction, one.outcome]).sort(), [
      ...[sending, holding, working].sort().map((one) => [one, "sealed"]),
    ]);

    // What was in the kernel's buffers had left; then it ends.
    await eventually(() => (server.connected === 0 ? true : undefined), "the end of the upload");
    assert.ok(server.received < whole / 2, String(server.received));
    for (const transaction of [sending, holding, working]) {
      const entries = entriesOf(world, transaction);
      assert.ok(entries.some((entry) => entry.kind === "alert" && entry.code === "emergency-stop"));
      assert.ok(entries.some((entry) => entry.kind === "transaction.sealed"));
      // Begun with `--on-exit commit`, two of them: a stop must not publish half the work.
      assert.ok(!entries.some((entry) => entry.kind === "commit.intended"));
    }
    assert.equal(readFileSync(path.join(world.workspace, "a.txt"), "utf8"), "one\n");
    assert.equal(existsSync(path.join(world.workspace, "work.txt")), false);
    assert.ok(!entriesOf(world, holding).some((entry) => entry.kind === "hold.decided"));

    const text = readFileSync(report, "utf8");
    assert.match(text, new RegExp(`PUT 127\\.0\\.0\\.1/upload.*no answer: it may have arrived`));
    const { hold } = opened as Extract<Entry, { kind: "hold.opened" }>;
    assert.match(text, new RegExp(`\`${hold}\` .*\\*\\*not sent\\*\\*`));
    assert.doesNotMatch(text, /POST api\.example\.com/);
    assert.equal(path.dirname(report), evidence);
    assert.equal(statSync(evidence).mode & 0o777, 0o700);
    for (const transaction of [sending, holding, working]) {
      const journal = path.join(evidence, transaction, "journal.jsonl");
      assert.equal((await world.run(["journal", "verify", journal])).code, 0);
      const proof = JSON.parse(
        readFileSync(path.join(evidence, transaction, "verify.json"), "utf8"),
      ) as { ok: boolean };
      assert.equal(proof.ok, true);
    }

    // An approval afterwards releases nothing: it is not even looked up.
    await world.run(["approve", hold]);
    await new Promise((resolve) => setTimeout(resolve, 300));
    const after = entriesOf(world, holding).slice(-3);
    assert.ok(!after.some(({ kind }) => kind === "hold.spent"));
    assert.ok(after.some(({ kind }) => kind === "hold.decided"));
  });

  it("kills a supervisor that hangs, and its agent dies with it", async () => {
    const world = newWorld({ "a.txt": "one\n" });
    const hanging = await begin(world, "sleep 300");
    const other = await begin(world, "sleep 300");
    const started = (await has(world, hanging, "process.exec")) as Extract<
      Entry,
      { kind: "process.exec" }
    >;
    await has(world, other, "process.exec");
    const pid = liveSupervisor(rootOf(world, hanging)) ?? 0;
    process.kill(pid, "SIGSTOP");
    const { stopped, evidence } = await stop(world);
    assert.deepEqual(
      new Map(stopped.map((one) => [one.transaction, one.outcome])),
      new Map([
        [hanging, "killed"],
        [other, "sealed"],
      ]),
    );
    assert.equal(alive(pid), false);
    await eventually(() => (alive(started.pid) ? undefined : true), "the end of the agent", 5000);
    assert.ok(existsSync(path.join(evidence, hanging, "journal.jsonl")));
    const list = await world.json<{ transaction: string; state: string }[]>(["list"]);
    assert.equal(list.find((one) => one.transaction === hanging)?.state, "interrupted");
    assert.equal((await world.run(["resume", hanging])).code, 0);
  });

  it("kills one that is about to begin", async () => {
    const world = newWorld({ "a.txt": "one\n" });
    const run = world.run(["run", "--detach", "--", "sh", "-c", "sleep 300"]);
    const folder = path.join(world.home, "transactions");
    const early = await eventually(
      () => (existsSync(folder) ? readdirSync(folder)[0] : undefined),
      "its directory",
    );
    await eventually(() => liveSupervisor(path.join(folder, early)), "its supervisor");
    await stop(world);
    await run;
    const list = await world.json<{ state: string }[]>(["list"]);
    assert.ok(!list.some(({ state }) => state === "open"), JSON.stringify(list));
  });

  it("links where the secrets that were used are revoked", async () => {
    const world = newWorld({ "a.txt": "one\n" });
    const server = await serve();
    const policy = openTo(world, server);
    const set = ["secret", "set", "UPLOAD_KEY", "--host", `127.0.0.1:${server.port}`];
    assert.equal((await world.run(set, { input: "value-4711" })).code, 0);
    const script = `curl -sS --noproxy "" -H "authorization: $UPLOAD_KEY" http://127.0.0.1:${server.port}/`;
    const transaction = await begin(world, script, ["--policy", policy, "--secret", "UPLOAD_KEY"]);
    await has(world, transaction, "secret.used");
    const { report, evidence } = await stop(world);
    const text = readFileSync(report, "utf8");
    assert.match(text, /\*\*UPLOAD\\_KEY\*\*, sent to 127\.0\.0\.1 — revoke it where it was made/);
    assert.match(text, /\| 127\.0\.0\.1 \|/);
    const journal = readFileSync(path.join(evidence, transaction, "journal.jsonl"), "utf8");
    assert.ok(!`${text}${journal}`.includes("value-4711"));
  });

  it("says so when nothing runs, and takes no transaction besides", async () => {
    const world = newWorld({ "a.txt": "one\n" });
    const { stopped, report } = await stop(world);
    assert.deepEqual(stopped, []);
    assert.match(readFileSync(report, "utf8"), /No agent was running/);
    assert.equal((await world.run(["stop", "--all", "latest"])).code, 2);
  });

  it("tells of what ended today, too, and of a journal that was tampered with", async () => {
    const world = newWorld({ "a.txt": "one\n" });
    const { transaction } = await world.json<{ transaction: string }>(["run", "--", "true"]);
    await world.run(["discard", transaction]);
    const root = rootOf(world, transaction);
    await eventually(() => (liveSupervisor(root) === undefined ? true : undefined), "its end");
    const file = path.join(rootOf(world, transaction), "journal.jsonl");
    writeFileSync(file, readFileSync(file, "utf8").replace('"exitCode":0', '"exitCode":1'));
    const { stopped, report } = await stop(world);
    assert.deepEqual(stopped, []);
    const text = readFileSync(report, "utf8");
    assert.match(text, new RegExp(`\`${transaction}\`.*was over already.*does not verify`));
  });
});
