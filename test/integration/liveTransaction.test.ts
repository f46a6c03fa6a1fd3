import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { genesis } from "../../src/core/journal/chain.ts";
import { journalPath } from "../../src/node/journal/journalHead.ts";
import { findTransaction, makeTransaction, newTransactionId } from "../../src/node/state/home.ts";
import { liveSupervisor, takeSupervisorLock } from "../../src/node/state/supervisorLock.ts";
import { ReviewModel } from "../../src/vscode/changes/reviewModel.ts";
import { holdContext } from "../../src/vscode/holds/holdContext.ts";
import { LiveTransaction } from "../../src/vscode/liveTransaction.ts";
import { begun } from "../support/entries.ts";
import {
  builtCommand,
  commandWorlds,
  eventually,
  type CommandWorld,
} from "../support/holdfastCommand.ts";
import { ensureNothingLeaks } from "../support/leaks.ts";
import { temporaryFolders } from "../support/temporaryFolder.ts";

const files = { "a.txt": "one\ntwo\n", "src/b.ts": "export const b = 1;\n", "gone.txt": "bye\n" };
const work = "echo three >> a.txt; echo new > src/new.txt; rm gone.txt";

describe("a transaction as the editor's window follows it", () => {
  const newWorld = commandWorlds();
  const newFolder = temporaryFolders();
  const installation = { dist: path.dirname(builtCommand), node: process.execPath };
  const open: LiveTransaction[] = [];
  afterEach(() => {
    for (const one of open.splice(0)) one.dispose();
  });
  ensureNothingLeaks();

  const begin = async (world: CommandWorld, script: string): Promise<string> => {
    const { transaction } = await world.json<{ transaction: string }>([
      ...["run", "--detach", "--task", "Add a line", "--", "sh", "-c", script],
    ]);
    return transaction;
  };

  const follow = async (world: CommandWorld, transaction: string): Promise<LiveTransaction> => {
    const root = path.join(world.home, "transactions", transaction);
    const live = new LiveTransaction(transaction, root, installation);
    open.push(live);
    await live.follow();
    return live;
  };

  const reaches = (live: LiveTransaction, state: LiveTransaction["state"]): Promise<true> =>
    eventually(() => (live.state === state ? true : undefined), `state ${state}`, 60_000);

  const read = (world: CommandWorld, name: string): string =>
    readFileSync(path.join(world.workspace, name), "utf8");

  it("sees it run and end, commits a choice of it, and takes that back", async () => {
    const world = newWorld(files);
    const live = await follow(world, await begin(world, `${work}; sleep 1`));
    assert.equal(live.status.task, "Add a line");
    await reaches(live, "sealed");
    await eventually(() => (live.view.totals().all > 0 ? true : undefined), "rows");
    const model = new ReviewModel();
    model.load(await live.changes());
    assert.deepEqual(model.files.map(({ path: name, kind }) => `${kind} ${name}`).sort(), [
      "added src/new.txt",
      "deleted gone.txt",
      "modified a.txt",
    ]);
    model.tick("gone.txt", false);
    const result = await live.publishing(live.call("commit", model.selection()));
    assert.deepEqual(result.conflicts, []);
    assert.equal(read(world, "a.txt"), "one\ntwo\nthree\n");
    assert.equal(read(world, "src/new.txt"), "new\n");
    assert.equal(read(world, "gone.txt"), "bye\n");
    await live.publishing(live.call("undo", {}));
    assert.equal(read(world, "a.txt"), files["a.txt"]);
    assert.ok(!existsSync(path.join(world.workspace, "src/new.txt")));
  });

  it("sees one that somebody else is still beginning", async () => {
    const world = newWorld(files);
    const running = world.run(["run", "--task", "Begin slowly", "--", "sh", "-c", work]);
    const folder = path.join(world.home, "transactions");
    // As soon as its journal has begun: its supervisor takes nobody before the agent runs.
    const transaction = await eventually(() => {
      const [made] = existsSync(folder) ? readdirSync(folder) : [];
      if (made === undefined || !existsSync(path.join(folder, made, "journal.jsonl"))) return;
      return findTransaction(world.home, made).state?.begunAt === "" ? undefined : made;
    }, "the beginning");
    const live = await follow(world, transaction);
    await reaches(live, "sealed");
    assert.equal(live.status.task, "Begin slowly");
    assert.equal((await running).code, 0);
    await eventually(() => (live.view.totals().all > 0 ? true : undefined), "rows");
  });

  it("commits the reviewer's own version of a file", async () => {
    const world = newWorld(files);
    const live = await follow(world, await begin(world, work));
    await reaches(live, "sealed");
    const edits = { "a.txt": Buffer.from("one\ntwo\nmine\n").toString("base64") };
    const result = await live.call("commit", { paths: ["a.txt"], hunks: [], edits });
    assert.equal(result.published, 1);
    assert.equal(read(world, "a.txt"), "one\ntwo\nmine\n");
    assert.equal(read(world, "gone.txt"), "bye\n");
  });

  it("shows an interruption, and what is left of it after reopening", async () => {
    const world = newWorld(files);
    const live = await follow(world, await begin(world, `${work}; sleep 60`));
    await reaches(live, "running");
    await eventually(() => (live.view.totals().all > 0 ? true : undefined), "rows");
    process.kill(liveSupervisor(live.root) ?? 0, "SIGKILL");
    await reaches(live, "interrupted");
    await live.resume();
    await reaches(live, "sealed");
    assert.equal((await live.changes()).files.length, 3);
  });

  it("is there again in a window that opens later", async () => {
    const world = newWorld(files);
    const transaction = await begin(world, `${work}; sleep 1`);
    const first = await follow(world, transaction);
    await reaches(first, "sealed");
    const rows = first.view.totals().all;
    first.dispose();
    const second = await follow(world, transaction);
    await eventually(() => (second.view.totals().all === rows ? true : undefined), "all rows");
    assert.equal(second.state, "sealed");
  });

  it("knows the call that waits, when it tells of it", async () => {
    const world = newWorld(files);
    const post = "curl -s -d '{}' http://hooks.chat.example/services/T00/B00";
    const first = await follow(world, await begin(world, post));
    await reaches(first, "waiting");
    // In a window that opens later everything comes at once.
    const later = new LiveTransaction(first.id, first.root, installation);
    open.push(later);
    const told: string[] = [];
    const listening = later.onChange(({ type }) => {
      if (type !== "holds") return;
      for (const { hold } of later.holds) told.push(holdContext(later.view, hold, "").target);
    });
    await later.follow();
    listening.dispose();
    assert.deepEqual(told, ["hooks.chat.example:80/services/T00/B00"]);
    await later.call("stop", {});
    await reaches(later, "sealed");
  });

  it("tells the end of one whose beginning fails, and takes its directory along", async () => {
    const home = newFolder();
    mkdirSync(path.join(home, "transactions"));
    const id = newTransactionId(new Date());
    const { root } = makeTransaction(home, id);
    const line = { seq: 1, at: new Date().toISOString(), ...begun, transaction: id, prev: genesis };
    writeFileSync(journalPath(root), `${JSON.stringify(line)}\n`);
    // It lives, and takes nobody yet.
    assert.ok(takeSupervisorLock(root));
    const live = new LiveTransaction(id, root, installation);
    open.push(live);
    let ended = false;
    const listening = live.onChange(({ type }) => (ended ||= type === "ended"));
    await live.follow();
    rmSync(root, { recursive: true });
    await eventually(() => (ended ? true : undefined), "the end");
    listening.dispose();
    assert.equal(live.status.agent, "scripted");
  });

  it("knows what was discarded", async () => {
    const world = newWorld(files);
    const live = await follow(world, await begin(world, work));
    await reaches(live, "sealed");
    await live.call("discard", {});
    await reaches(live, "discarded");
    assert.equal(read(world, "a.txt"), files["a.txt"]);
  });
});
