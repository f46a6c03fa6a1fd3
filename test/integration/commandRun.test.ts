import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import {
  builtCommand,
  commandWorlds,
  eventually,
  type CommandWorld,
} from "../support/holdfastCommand.ts";
import { liveSupervisor } from "../../src/node/state/supervisorLock.ts";

interface Summary {
  readonly transaction: string;
  readonly state: string;
  readonly exitCode: number | null;
  readonly backend: string;
  readonly forkMs: number;
  readonly files: number;
  readonly changes: { readonly added: number; readonly modified: number; readonly deleted: number };
  readonly holds: { readonly open: number; readonly decided: number };
}

const files = { "a.txt": "one\ntwo\n", "src/b.ts": "export const b = 1;\n", "gone.txt": "bye\n" };

const edit = ["--", "sh", "-c", "echo three >> a.txt; echo new > src/new.txt; rm gone.txt"];

function transactionRoot(world: CommandWorld, transaction: string): string {
  return path.join(world.home, "transactions", transaction);
}

function snapshot(folder: string): string {
  return execFileSync("find", [folder, "-printf", "%P %y %m %s %T@ %i\n"], { encoding: "utf8" });
}

describe("holdfast run", () => {
  const newWorld = commandWorlds();

  it("answers with the document of the contract and leaves the workspace alone", async () => {
    const world = newWorld(files);
    const before = snapshot(world.workspace);
    const summary = await world.json<Summary>(["run", ...edit]);
    assert.equal(summary.state, "sealed");
    assert.equal(summary.exitCode, 0);
    assert.equal(typeof summary.backend, "string");
    assert.equal(typeof summary.forkMs, "number");
    assert.ok(summary.files >= 3);
    assert.deepEqual(summary.changes, { added: 1, modified: 1, deleted: 1 });
    assert.deepEqual(summary.holds, { open: 0, decided: 0 });
    assert.equal(snapshot(world.workspace), before);
  });

  it("passes input, output, errors and the working directory through", async () => {
    const world = newWorld(files);
    const { code, stdout, stderr } = await world.run(
      ["run", "--", "sh", "-c", "cat; pwd; echo oops >&2"],
      {
        input: "line one\nline two",
      },
    );
    assert.equal(code, 0, stderr);
    assert.equal(stdout, `line one\nline two${world.workspace}\n`);
    assert.match(stderr, /^oops$/m);
  });

  it("carries large output whole", async () => {
    const world = newWorld(files);
    const { stdout } = await world.run(["run", "--", "sh", "-c", "seq 1 300000"]);
    assert.equal(stdout.length, 1_988_895);
    assert.ok(stdout.endsWith("\n300000\n"));
  });

  it("says with exit code 1 that the agent failed, and keeps its changes", async () => {
    const world = newWorld(files);
    const { code, stderr } = await world.run(["run", "--", "sh", "-c", "echo x > x; exit 7"]);
    assert.equal(code, 1);
    assert.match(stderr, /exited with code 7/);
    const { files: changed } = await world.json<{ files: { path: string }[] }>([
      "changes",
      "latest",
    ]);
    assert.deepEqual(
      changed.map((file) => file.path),
      ["x"],
    );
  });

  it("commits what was changed, byte for byte, and undoes it", async () => {
    const world = newWorld(files);
    await world.run(["run", ...edit]);
    const commit = await world.json<object>(["commit", "latest"]);
    assert.deepEqual(commit, { state: "committed", published: 3, merged: 0, conflicts: [] });
    assert.equal(readFileSync(path.join(world.workspace, "a.txt"), "utf8"), "one\ntwo\nthree\n");
    assert.equal(readFileSync(path.join(world.workspace, "src/new.txt"), "utf8"), "new\n");
    assert.equal(existsSync(path.join(world.workspace, "gone.txt")), false);
    assert.equal((await world.run(["undo", "latest"])).code, 0);
    assert.equal(readFileSync(path.join(world.workspace, "a.txt"), "utf8"), "one\ntwo\n");
    assert.equal(readFileSync(path.join(world.workspace, "gone.txt"), "utf8"), "bye\n");
    assert.equal(existsSync(path.join(world.workspace, "src/new.txt")), false);
  });

  it("discard leaves no trace: not in the workspace, no shadow", async () => {
    const world = newWorld(files);
    const before = snapshot(world.workspace);
    const { transaction } = await world.json<Summary>(["run", ...edit]);
    assert.equal((await world.run(["discard", "latest"])).code, 0);
    assert.equal(snapshot(world.workspace), before);
    const root = transactionRoot(world, transaction);
    const rest = execFileSync("find", [root, "-name", "a.txt"], { encoding: "utf8" });
    assert.equal(rest, "");
    assert.equal(existsSync(path.join(root, "state")), false);
    const [row] = await world.json<{ state: string }[]>(["list"]);
    assert.equal(row?.state, "discarded");
    const again = await world.run(["commit", "latest"]);
    assert.equal(again.code, 1);
  });

  it("--on-exit commit and discard conclude by themselves", async () => {
    const world = newWorld(files);
    const committed = await world.json<Summary>(["run", "--on-exit", "commit", ...edit]);
    assert.equal(committed.state, "committed");
    assert.equal(readFileSync(path.join(world.workspace, "src/new.txt"), "utf8"), "new\n");
    const discarded = await world.json<Summary>([
      "run",
      "--on-exit",
      "discard",
      "--",
      "sh",
      "-c",
      "echo more > more.txt",
    ]);
    assert.equal(discarded.state, "discarded");
    assert.equal(existsSync(path.join(world.workspace, "more.txt")), false);
  });

  const neverPublished =
    /nothing is left that can be published; there is still "[^"]+" \(.*characters\)/;
  const unasked = /nothing is left that is published unasked; .*, then add --include-runs-later —/;
  for (const [name, reason] of [
    ["name\r", neverPublished],
    ["a\nb", neverPublished],
    [".envrc", unasked],
  ] as const) {
    it(`--on-exit commit of ${JSON.stringify(name)} alone ends with the reason, and nothing is written`, async () => {
      const world = newWorld(files);
      const agent = ["--", "sh", "-c", 'echo evil > "$1"', "sh", name];
      const { code, stderr } = await world.run(["run", "--on-exit", "commit", ...agent]);
      assert.equal(code, 1, stderr);
      assert.match(stderr, /not committed by itself: nothing is left/);
      assert.match(stderr, reason);
      assert.equal(existsSync(path.join(world.workspace, name)), false);
      const [{ state } = { state: "" }] = await world.json<{ state: string }[]>(["list"]);
      assert.equal(state, "sealed");
    });
  }

  it("--on-exit commit into a conflict ends with exit code 4", async () => {
    const world = newWorld(files);
    const script = "echo agent > a.txt; sleep 1000";
    const timeline = ["timeline", "latest", "--json"];
    const run = world.run(["run", "--on-exit", "commit", "--", "sh", "-c", script]);
    await eventually(
      async () => /transaction.started/.test((await world.run(timeline)).stdout) || undefined,
      "the agent",
    );
    writeFileSync(path.join(world.workspace, "a.txt"), "person\n");
    await world.run(["stop", "latest"]);
    const { code, stderr } = await run;
    assert.equal(code, 4, stderr);
    assert.match(stderr, /there are conflicts/);
    assert.equal(readFileSync(path.join(world.workspace, "a.txt"), "utf8"), "person\n");
  });

  it("a conflict is exit code 4 and writes nothing", async () => {
    const world = newWorld(files);
    await world.run(["run", "--", "sh", "-c", "echo agent > a.txt; echo new > other.txt"]);
    writeFileSync(path.join(world.workspace, "a.txt"), "person\n");
    const { code, stdout } = await world.run(["commit", "latest", "--json"]);
    assert.equal(code, 4);
    const { conflicts } = JSON.parse(stdout) as { conflicts: { path: string; reason: string }[] };
    assert.deepEqual(
      conflicts.map((conflict) => conflict.path),
      ["a.txt"],
    );
    assert.equal(readFileSync(path.join(world.workspace, "a.txt"), "utf8"), "person\n");
    assert.equal(existsSync(path.join(world.workspace, "other.txt")), false);
    assert.equal((await world.run(["commit", "latest", "--mine", "a.txt"])).code, 0);
    assert.equal(readFileSync(path.join(world.workspace, "a.txt"), "utf8"), "person\n");
    assert.equal(existsSync(path.join(world.workspace, "other.txt")), true);
  });

  it("goes on without the command that started it; another attaches, and stops it", async () => {
    const world = newWorld(files);
    const { transaction } = await world.json<Summary>([
      "run",
      "--detach",
      "--",
      "sh",
      "-c",
      "echo begun; while [ ! -e stop-now ]; do sleep 0.1; done; echo over; sleep 600",
    ]);
    const status = await world.json<{ running: boolean; state: string }>(["status", transaction]);
    assert.deepEqual([status.running, status.state], [true, "open"]);
    const attached = spawn(process.execPath, [builtCommand, "attach", transaction], {
      cwd: world.workspace,
      env: { ...process.env, HOLDFAST_HOME: world.home },
      stdio: ["pipe", "pipe", "inherit"],
    });
    let seen = "";
    attached.stdout.on("data", (bytes: Buffer) => (seen += bytes.toString()));
    await eventually(() => (seen.includes("begun") ? true : undefined), "the output so far");
    const stopped = await world.json<{ state: string }>(["stop", transaction]);
    assert.equal(stopped.state, "sealed");
    attached.kill();
  });

  it("a supervisor that is killed takes the agent with it; resume brings the work back", async () => {
    const world = newWorld(files);
    const { transaction } = await world.json<Summary>([
      "run",
      "--detach",
      "--",
      "sh",
      "-c",
      "echo work > work.txt; exec sleep 600",
    ]);
    const root = transactionRoot(world, transaction);
    await eventually(async () => {
      const entries = await world.entries();
      return entries.some((entry) => entry.kind === "process.exec" && entry.argv.includes("600"))
        ? true
        : undefined;
    }, "the agent's last command");
    const pid = liveSupervisor(root);
    assert.ok(pid !== undefined);
    process.kill(pid, "SIGKILL");
    await eventually(() => (liveSupervisor(root) === undefined ? true : undefined), "its end");
    const [row] = await world.json<{ state: string }[]>(["list"]);
    assert.equal(row?.state, "interrupted");
    const refused = await world.run(["commit", transaction]);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /holdfast resume/);
    assert.equal((await world.run(["resume", transaction])).code, 0);
    const { files: changed } = await world.json<{ files: { path: string }[] }>([
      "changes",
      transaction,
    ]);
    assert.deepEqual(
      changed.map((file) => file.path),
      ["work.txt"],
    );
    assert.equal((await world.run(["journal", "verify", transaction])).code, 0);
    assert.equal((await world.run(["commit", transaction])).code, 0);
    assert.equal(readFileSync(path.join(world.workspace, "work.txt"), "utf8"), "work\n");
  });

  it("the journal verifies, exports, and an altered one is told with its place", async () => {
    const world = newWorld(files);
    const { transaction } = await world.json<Summary>(["run", ...edit]);
    const { stdout } = await world.run(["journal", "export", transaction, "--format", "jsonl"]);
    const copy = path.join(world.home, "copy.jsonl");
    writeFileSync(copy, stdout);
    assert.equal((await world.run(["journal", "verify", copy])).code, 0);
    writeFileSync(copy, stdout.replace("gone.txt", "gome.txt"));
    const altered = await world.run(["journal", "verify", copy]);
    assert.equal(altered.code, 1);
    assert.match(altered.stderr, /line \d+/);
  });

  it("the patch is what git apply takes", async () => {
    const world = newWorld(files);
    await world.run(["run", ...edit]);
    const { stdout } = await world.run(["diff", "latest"]);
    const target = path.join(world.home, "target");
    mkdirSync(target);
    for (const [name, content] of Object.entries(files)) {
      mkdirSync(path.dirname(path.join(target, name)), { recursive: true });
      writeFileSync(path.join(target, name), content);
    }
    execFileSync("git", ["apply", "-"], { cwd: target, input: stdout });
    assert.equal(readFileSync(path.join(target, "a.txt"), "utf8"), "one\ntwo\nthree\n");
    assert.equal(existsSync(path.join(target, "gone.txt")), false);
  });
});

describe("holdfast about itself", () => {
  const newWorld = commandWorlds();

  it("tells its version and its verbs, also as a link on the PATH", () => {
    const { home, workspace } = newWorld();
    const env = { PATH: `${workspace}:${process.env["PATH"] ?? ""}`, HOLDFAST_HOME: home };
    symlinkSync(builtCommand, path.join(workspace, "holdfast"));
    const said = (word: string): string =>
      execFileSync("holdfast", [word], { encoding: "utf8", env, cwd: workspace });
    const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };
    assert.equal(said("--version"), `${version}\n`);
    assert.match(said("--help"), /^ {2}holdfast commit TXN/m);
    assert.equal(existsSync(home), false, "nothing is made by that");
  });
});

describe("holdfast with bad input", () => {
  const newWorld = commandWorlds();

  function check(
    name: string,
    args: (world: CommandWorld) => readonly string[],
    code: number,
    message: RegExp,
    env: (world: CommandWorld) => NodeJS.ProcessEnv = () => ({}),
  ): void {
    it(name, async () => {
      const world = newWorld(files);
      const outcome = await world.run(args(world), { env: env(world) });
      assert.equal(outcome.code, code, outcome.stderr);
      assert.match(outcome.stderr, message);
      assert.equal(outcome.stderr.trimEnd().split("\n").length, 1, `one line: ${outcome.stderr}`);
      const transactions = path.join(world.home, "transactions");
      if (existsSync(transactions))
        assert.deepEqual(readdirSync(transactions), [], "nothing is left behind");
    });
  }

  check("an unknown verb", () => ["frobnicate"], 2, /unknown verb/);
  check("an unknown option", () => ["run", "--frob", "--", "true"], 2, /frob.*usage:/);
  check("nothing to run", () => ["run"], 2, /nothing to run/);
  check("an unknown agent", () => ["run", "--agent", "nobody"], 2, /unknown agent.*claude-code/);
  check(
    "an unknown backend",
    () => ["run", "--backend", "magic", "--", "true"],
    2,
    /magic.*snapshot/,
  );
  check("a limit that is none", () => ["run", "--limit", "records", "--", "true"], 2, /KEY=VALUE/);
  check(
    "a workspace that is a file",
    (world) => ["run", "--workspace", `${world.workspace}/a.txt`, "--", "true"],
    1,
    /not a folder/,
  );
  check(
    "a workspace that does not exist",
    () => ["run", "--workspace", "/no/such/folder", "--", "true"],
    1,
    /no\/such\/folder/,
  );
  check(
    "the root of the filesystem",
    () => ["run", "--workspace", "/", "--", "true"],
    1,
    /root of the filesystem/,
  );
  check(
    "a command that does not exist",
    () => ["run", "--", "no-such-program"],
    1,
    /no-such-program.*not found/,
  );
  check(
    "an agent that is not installed",
    () => ["run", "--agent", "claude-code", "--prompt", "x"],
    1,
    /npm install/,
    () => ({ HOLDFAST_CLAUDE_CODE: "/no/claude" }),
  );
  check(
    "a policy that does not exist",
    () => ["run", "--policy", "nowhere.json", "--", "true"],
    1,
    /nowhere\.json/,
  );
  check(
    "a secret that does not exist",
    () => ["run", "--secret", "NO_SUCH", "--", "true"],
    2,
    /no secret NO_SUCH/,
  );
  check(
    "a transaction that does not exist",
    () => ["changes", "t20200101-000000-000000"],
    1,
    /no transaction/,
  );
  check("latest where there is none", () => ["changes", "latest"], 1, /no transaction/);
  check("a hold that does not exist", () => ["approve", "h-00000000"], 1, /no open hold/);
  it("no bubblewrap: refused with the fix, nothing left behind", () => {
    const world = newWorld(files);
    const hidden = 'mount --bind /dev/null "$(command -v bwrap)" && exec "$@"';
    const argv = [
      "--map-root-user",
      "--mount",
      "sh",
      "-c",
      hidden,
      "sh",
      process.execPath,
      builtCommand,
    ];
    const outcome = spawnSync("unshare", [...argv, "run", "--", "true"], {
      cwd: world.workspace,
      env: { ...process.env, HOLDFAST_HOME: world.home },
      encoding: "utf8",
    });
    assert.equal(outcome.status, 3, outcome.stderr);
    assert.match(outcome.stderr, /bubblewrap/);
    assert.deepEqual(readdirSync(path.join(world.home, "transactions")), []);
  });

  it("a workspace inside HOLDFAST_HOME, and the reverse", async () => {
    const world = newWorld(files);
    const inside = path.join(world.home, "inside");
    mkdirSync(inside, { recursive: true, mode: 0o700 });
    const one = await world.run(["run", "--workspace", inside, "--", "true"]);
    assert.equal(one.code, 1);
    assert.match(one.stderr, /inside HOLDFAST_HOME/);
    const other = await world.run(["run", "--", "true"], {
      env: { HOLDFAST_HOME: path.join(world.workspace, "state") },
    });
    assert.equal(other.code, 1);
    assert.match(other.stderr, /inside the workspace/);
    rmSync(path.join(world.workspace, "state"), { recursive: true });
  });

  it("a HOLDFAST_HOME that others can write is refused", async () => {
    const world = newWorld(files);
    mkdirSync(world.home, { recursive: true });
    chmodSync(world.home, 0o777);
    const { code, stderr } = await world.run(["run", "--", "true"]);
    assert.equal(code, 3);
    assert.match(stderr, /chmod 700/);
    chmodSync(world.home, 0o700);
  });
});
