import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { programDirectories, scriptPlace } from "../../src/node/agents/findProgram.ts";
import { commandWorlds } from "../support/holdfastCommand.ts";

describe("holdfast run --limit and --allow", function () {
  this.timeout(60_000);
  const newWorld = commandWorlds();
  const shell = (script: string): readonly string[] => ["--", "bash", "-c", script];

  const passed: readonly [limit: string, script: string, said: RegExp][] = [
    ["time=1", "sleep 100", /ended by a limit: time: \d+ s, the limit is 1 s/],
    ["disk=5M", "sleep 1; head -c 40000000 /dev/zero > big; sleep 100", /disk growth: \d+ MiB/],
    ["journal=20000", "while :; do /bin/true; done", /journal growth: 1 MiB, the limit is 1 MiB/],
  ];
  for (const [limit, script, said] of passed) {
    it(`${limit} ends the agent, and what it did is kept`, async () => {
      const world = newWorld({ "a.txt": "a\n" });
      const run = await world.run([
        "run",
        "--limit",
        limit,
        ...shell(`echo kept > kept.txt; ${script}`),
      ]);
      assert.equal(run.code, 1, run.stderr);
      assert.match(run.stderr, said);
      const status = await world.json<{ state: string; limit?: string }>(["status", "latest"]);
      assert.equal(status.state, "sealed");
      assert.match(status.limit ?? "", /the limit is/);
      const { files } = await world.json<{ files: { path: string }[] }>(["changes", "latest"]);
      assert.ok(files.some((file) => file.path === "kept.txt"));
      const exited = (await world.entries()).find((entry) => entry.kind === "transaction.exited");
      assert.match(exited?.limit ?? "", /the limit is/);
    });
  }

  it("open-files and file-size fail the program that goes beyond, and the agent goes on", async () => {
    const world = newWorld({ "a.txt": "a\n" });
    const script =
      "ulimit -n; (trap '' XFSZ; head -c 60000 /dev/zero > big) 2>/dev/null; stat -c %s big";
    const limits = ["--limit", "open-files=100", "--limit", "file-size=50k"];
    const run = await world.run(["run", ...limits, ...shell(script)]);
    assert.equal(run.code, 0, run.stderr);
    assert.equal(run.stdout, `100\n${String(50 * 1024)}\n`);
  });

  const refused: readonly [argument: string, value: string, said: RegExp][] = [
    ["--limit", "memory=lots", /--limit memory=lots is no bytes/],
    ["--limit", "paths=src", /there is no limit "paths"/],
    ["--limit", "recods=5", /there is no limit "recods"/],
    ["--allow", "everything", /one of: user-namespaces, ptrace/],
  ];
  for (const [argument, value, said] of refused) {
    it(`refuses ${argument} ${value} before anything runs`, async () => {
      const world = newWorld();
      const { code, stderr } = await world.run(["run", argument, value, ...shell("true")]);
      assert.equal(code, 2, stderr);
      assert.match(stderr, said);
      assert.deepEqual(await world.json(["list"]), []);
    });
  }

  it("--allow user-namespaces lets an agent build a sandbox of its own, told as weaker", async () => {
    const world = newWorld();
    const own = shell("unshare -Ur true && echo built");
    assert.doesNotMatch((await world.run(["run", ...own])).stdout, /built/);
    const { stdout } = await world.run(["run", "--allow", "user-namespaces", ...own]);
    assert.match(stdout, /built/);
    const status = await world.json<{ sandbox: string }>(["status", "latest"]);
    assert.match(status.sandbox, /weaker: user-namespaces allowed/);
    const timeline = await world.run(["timeline", "latest"]);
    assert.match(timeline.stdout, /weaker sandbox: user-namespaces allowed/);
  });
});

describe("a script that a command names by its whole path", () => {
  const newWorld = commandWorlds();
  let folder: string;
  beforeEach(() => (folder = mkdtempSync("/var/tmp/holdfast-script-")));
  afterEach(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 }));

  it("runs with what it imports, whichever agent it is, and shows the place of no other word", async () => {
    const world = newWorld();
    const script = path.join(folder, "own", "run.mjs");
    const other = path.join(folder, "other", "data.mjs");
    for (const file of [script, other]) mkdirSync(path.dirname(file));
    writeFileSync(path.join(folder, "own", "word.mjs"), 'export const word = "imported";\n');
    writeFileSync(other, "");
    writeFileSync(
      script,
      `import fs from "node:fs"; import { word } from "./word.mjs"; console.log(word, fs.existsSync(process.argv[2]));\n`,
    );
    for (const [agent, sees] of [
      ["command", false],
      ["scripted", true],
    ] as const) {
      const words = ["node", script, other];
      const ran = await world.run(["run", "--agent", agent, "--", ...words]);
      assert.equal(ran.code, 0, ran.stderr);
      assert.match(ran.stdout, new RegExp(`imported ${sees}`));
    }
    const read = await world.run(["run", "--", "cat", script]);
    assert.equal(read.code, 1);
    assert.match(read.stderr, /No such file/);
  }).timeout(60_000);

  it("runs alone where it lies in everybody's folder, of which nothing else is shown", async () => {
    const world = newWorld();
    const script = path.join("/var/tmp", `${path.basename(folder)}.mjs`);
    writeFileSync(
      script,
      'import fs from "node:fs"; console.log(fs.readdirSync("/var/tmp").join());\n',
    );
    try {
      const ran = await world.run(["run", "--", "node", script]);
      assert.equal(ran.code, 0, ran.stderr);
      assert.equal(ran.stdout.trim(), path.basename(script));
    } finally {
      rmSync(script);
    }
  }).timeout(60_000);
});

describe("what is shown of a program's place", () => {
  let home: string;
  beforeEach(() => {
    home = mkdtempSync("/tmp/holdfast-programs-");
    for (const name of [
      "bin",
      ".local/bin",
      ".local/lib",
      ".local/share/tool/bin",
      "tool/bin",
      "n/node_modules/x",
    ])
      mkdirSync(path.join(home, name), { recursive: true });
  });
  afterEach(() => rmSync(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 }));

  const check = (file: string, content: string, shown: readonly string[]): void => {
    const program = path.join(home, file);
    writeFileSync(program, content);
    chmodSync(program, 0o755);
    const found = programDirectories(program, home).map((one) => path.relative(home, one));
    assert.deepEqual(found, shown);
  };

  it("of one in ~/bin, itself", () => check("bin/tool", "#!/bin/sh\n", ["bin/tool"]));
  it("of one in ~/.local/bin, itself", () => check(".local/bin/tool", "x", [".local/bin/tool"]));
  it("of one in the home itself, itself", () => check("tool.sh", "#!/bin/sh\n", ["tool.sh"]));
  it("of a Python script, its libraries too", () =>
    check(".local/bin/py", "#!/usr/bin/python3\n", [".local/bin/py", ".local/lib"]));
  it("of an installation, all of it", () => check("tool/bin/tool", "x", ["tool"]));
  it("of a package, its node_modules", () =>
    check("n/node_modules/x/cli.js", "x", ["n/node_modules"]));
  it("of an interpreter elsewhere, its place", () => {
    writeFileSync(path.join(home, "tool/bin/run"), "x", { mode: 0o755 });
    check("bin/script", `#!${home}/tool/bin/run\n`, ["bin/script", "tool"]);
  });
  it("of one in everybody's folder, itself", () => {
    chmodSync(path.join(home, "tool"), 0o1777);
    check("tool/run", "x", ["tool/run"]);
  });
  it("of a script, its folder; of one in the home or in everybody's folder, itself", () => {
    mkdirSync(path.join(home, "shared"));
    chmodSync(path.join(home, "shared"), 0o1777);
    for (const [script, shown] of [
      ["tool/agent.mjs", "tool"],
      ["n/node_modules/x/agent.mjs", "n/node_modules"],
      ["agent.mjs", "agent.mjs"],
      ["shared/agent.mjs", "shared/agent.mjs"],
    ] as const)
      assert.equal(scriptPlace(path.join(home, script), home), path.join(home, shown));
  });
  it("of a link into an installation, both", () => {
    writeFileSync(path.join(home, ".local/share/tool/bin/real"), "x", { mode: 0o755 });
    symlinkSync("../share/tool/bin/real", path.join(home, ".local/bin/link"));
    const found = programDirectories(path.join(home, ".local/bin/link"), home);
    assert.deepEqual(
      found.map((one) => path.relative(home, one)),
      [".local/bin/link", ".local/share/tool"],
    );
  });
});
