import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { CommandChecker } from "../../src/node/checks/commandChecker.ts";
import { commandTool } from "../../src/node/checks/tools.ts";
import type { CheckLimits } from "../../src/node/checks/checker.ts";
import { CheckFork, type Tree, writeTree } from "../support/checkFork.ts";
import { checkInstallation, installCompiler } from "../support/checkInstallation.ts";
import { CheckRun } from "../support/checkRun.ts";

const tree: Tree = {
  "tsconfig.json": `{"compilerOptions":{"types":[],"lib":["es2022"]},"include":["src"]}`,
  "src/a.ts": "export const a: string = 1;\n",
};

/** A compiler of the workspace that does something else. */
function compiler(program: string): Tree {
  return {
    ...tree,
    "node_modules/typescript/package.json": `{"name":"typescript","version":"5.9.3"}`,
    "node_modules/typescript/lib/typescript.js": program,
  };
}

/** A check by a shell command whose every line is a finding. */
function lines(command: string): CommandChecker {
  return new CommandChecker(
    commandTool({
      name: "own",
      command,
      problemMatcher: { pattern: { regexp: "^(\\S+) (.*)$", file: 1, message: 2 } },
    }),
  );
}

describe("bounds of checks", function () {
  this.timeout(120_000);
  let installation: Awaited<ReturnType<typeof checkInstallation>>;
  before(async () => {
    installation = await checkInstallation();
  });
  after(() => installation.remove());

  const endings: readonly {
    readonly name: string;
    readonly tree: Tree;
    readonly limits?: Partial<CheckLimits>;
    readonly status: string;
    readonly note: RegExp;
  }[] = [
    {
      name: "a check that hangs",
      tree: compiler("for (;;);"),
      limits: { timeoutMs: 3000 },
      status: "timedOut",
      note: /no answer within 3 s/,
    },
    {
      name: "a check that ends its process",
      tree: compiler("process.exit(9);"),
      status: "crashed",
      note: /the worker ended \(9\)/,
    },
    {
      name: "a check that throws",
      tree: compiler("throw new Error('out of order');"),
      status: "crashed",
      note: /out of order/,
    },
    {
      name: "a check that answers nonsense",
      tree: compiler('process.stdout.write(\'{"id":1,"projects":7}\\n\'); for (;;);'),
      status: "crashed",
      note: /cannot be read/,
    },
    {
      name: "a check that takes all memory, also when it keeps nothing",
      tree: compiler("const all = []; for (;;) all.push(new Array(1e5).fill(all.length));"),
      limits: { memoryMb: 128 },
      status: "crashed",
      note: /more than 128 MB of memory/,
    },
  ];
  for (const expected of endings) {
    it(`${expected.name} is bounded and told`, async () => {
      const fork = new CheckFork(expected.tree);
      await using run = new CheckRun(fork, installation.directory, expected.limits);
      const result = await run.next();
      assert.equal(result.status, expected.status, result.note);
      assert.match(result.note ?? "", expected.note);
    });
  }

  it("a command that takes all memory, prints without end or hangs is ended", async () => {
    const commands: readonly (readonly [string, Partial<CheckLimits>, RegExp])[] = [
      ["head -c 400m /dev/zero | tail", { memoryMb: 100 }, /needs more than 100 MB/],
      ["yes a b", {}, /printed too much/],
      ["setsid sleep 1000 & sleep 1000", { timeoutMs: 1000 }, /no answer within 1 s/],
    ];
    for (const [command, limits, note] of commands) {
      await using run = new CheckRun(new CheckFork({ a: "" }), "", limits, [lines(command)]);
      const result = await run.next();
      assert.match(result.note ?? "", note);
    }
  });

  it("sees nothing of the machine: no network, no home, no other files, no way to write", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const address = server.address();
    assert(address !== null && typeof address === "object");
    const fork = new CheckFork({ "a.txt": "base\n" });
    const secret = join(fork.root, "secret");
    writeFileSync(secret, "hidden");
    const script = [
      `test -e ${secret} && echo seen secret`,
      // What the sandbox itself has there.
      "find /root /home /run /var -mindepth 1 -maxdepth 1 2>/dev/null |",
      "  grep -vE '^(/home/agent|/run/holdfast-(check|native)|/var/tmp)$' | sed 's/^/seen /'",
      "cat /etc/shadow >/dev/null 2>&1 && echo seen shadow",
      `node -e "require('net').connect(${address.port},'127.0.0.1').on('connect',()=>console.log('seen network')).on('error',()=>{})"`,
      "env | grep -c PROBE_SECRET | grep -v '^0$' | sed 's/^/seen environment /'",
      "touch /usr/x 2>/dev/null && echo seen usr",
      "unshare -Ur true 2>/dev/null && echo seen namespaces",
      "echo changed > a.txt",
      "true",
    ].join("\n");
    process.env["PROBE_SECRET"] = "value";
    try {
      await using run = new CheckRun(fork, "", {}, [lines(script)]);
      const result = await run.next();
      assert.deepEqual(
        [result.status, result.introduced, result.unchanged],
        ["passed", [], 0],
        result.note,
      );
      assert.deepEqual(fork.changed(), []);
    } finally {
      delete process.env["PROBE_SECRET"];
      server.close();
    }
  });

  it("that has not memory enough to keep all projects warm keeps none, and answers the same", async () => {
    const config = `{"compilerOptions":{"types":[],"lib":["es2022"],"strict":true}}`;
    const fork = new CheckFork(
      {
        "one/tsconfig.json": config,
        "one/a.ts": "export const a: number = 1;\n",
        "two/tsconfig.json": config,
        "two/b.ts": "import { a } from '../one/a';\nexport const b: string = a;\n",
      },
      (workspace) => {
        const compiler = join(workspace, "node_modules/typescript");
        installCompiler("typescript", compiler);
        renameSync(join(compiler, "lib/typescript.js"), join(compiler, "lib/compiler.js"));
        // The project's own compiler, which takes all memory there is in a worker that keeps projects.
        const hungry =
          "if (process.argv.includes('warm'))" +
          " for (const all = []; ;) all.push(new Array(1e5).fill(all.length));" +
          " module.exports = require('./compiler.js');";
        writeFileSync(join(compiler, "lib/typescript.js"), hungry);
      },
    );
    await using run = new CheckRun(fork, installation.directory, { memoryMb: 400 });
    const words = async (): Promise<readonly unknown[]> => {
      const { status, introduced, resolved, unchanged, note } = await run.next();
      const told = (all: typeof introduced) => all.map((d) => `${d.path} ${d.code}`);
      return [status, told(introduced), told(resolved), unchanged, note];
    };
    assert.deepEqual(await words(), ["passed", [], [], 1, undefined]);
    fork.write({ "one/a.ts": "export const a: string = 1;\n" });
    const both = ["failed", ["one/a.ts TS2322"], ["two/b.ts TS2322"], 0, undefined];
    assert.deepEqual(await words(), both);
    fork.write({ "one/a.ts": "export const a: string = 'x';\n" });
    assert.deepEqual(await words(), ["passed", [], ["two/b.ts TS2322"], 0, undefined]);
  });

  it("gives way to the agent: its processes are nice, and so is their session", async () => {
    const shared = "/proc/sys/kernel/sched_autogroup_enabled";
    // Others than root may be put off by the kernel, which is no more than a slower agent.
    const sessions =
      process.getuid?.() === 0 && existsSync(shared) && readFileSync(shared, "utf8") === "1\n";
    const script = [
      // What it prints is a finding.
      'test "$(nice)" = 10 || echo "nice $(nice)"',
      ...(sessions ? ["until grep -q 'nice 10' /proc/self/autogroup; do sleep 0.1; done"] : []),
    ].join("\n");
    await using run = new CheckRun(new CheckFork({ nice: "" }), "", {}, [lines(script)]);
    const result = await run.next();
    assert.deepEqual([result.status, result.introduced, result.unchanged], ["passed", [], 0]);
  });

  it("stops when it is told to, and works again", async () => {
    const fork = new CheckFork(tree, (workspace) =>
      installCompiler("typescript", join(workspace, "node_modules/typescript")),
    );
    await using run = new CheckRun(fork, installation.directory);
    assert.equal((await run.next([], AbortSignal.abort())).status, "skipped");
    assert.equal((await run.next()).unchanged, 1);
  });

  it("stops at any moment of its start", async () => {
    for (let delay = 0; delay < 12; delay += 0.2) {
      await using run = new CheckRun(new CheckFork({ a: "" }), "", {}, [lines("sleep 1000")]);
      const stop = new AbortController();
      const result = run.next(undefined, stop.signal);
      await wait(Math.floor(delay));
      // Finer than a timer: the moment between bubblewrap's start and its child's is short.
      for (const end = performance.now() + (delay % 1); performance.now() < end;);
      stop.abort();
      assert.equal((await result).status, "skipped", `after ${delay} ms`);
    }
  });

  it("of generations that wait only the newest runs", async () => {
    const fork = new CheckFork({ "a.txt": "x\n" });
    await using run = new CheckRun(fork, "", {}, [
      lines("sleep 0.2; cat a.txt | sed 's/^/a.txt /'"),
    ]);
    const all = await Promise.all([run.all(), run.all(), run.all()]);
    assert.deepEqual(
      all.map((results) => results.map((result) => result.status)),
      [["skipped"], ["skipped"], ["passed"]],
    );
  });

  it("follows overlays: the shadow sees what the agent installed, the base does not", async () => {
    const fork = new CheckFork({
      "package.json": "{}",
      "tsconfig.json": tree["tsconfig.json"] ?? "",
      "src/a.ts": "import { dep } from 'dep';\nexport const a: number = dep;\n",
    });
    const lower = join(fork.root, "lower");
    const upper = join(fork.root, "upper");
    installCompiler("typescript", join(lower, "typescript"));
    writeTree(lower, {
      "dep/package.json": `{"types":"index.d.ts"}`,
      "dep/index.d.ts": "export declare const dep: number;\n",
    });
    for (const place of [upper, join(fork.root, "work"), join(fork.shadow, "node_modules")]) {
      mkdirSync(place, { recursive: true });
    }
    fork.overlays = [{ at: "node_modules", lower, upper, work: join(fork.root, "work") }];
    await using run = new CheckRun(fork, installation.directory);
    assert.deepEqual((await run.next()).introduced, []);
    writeTree(upper, { "dep/index.d.ts": "export declare const dep: string;\n" });
    const result = await run.next([
      { path: "node_modules/dep/index.d.ts", change: "modified", ignored: true },
    ]);
    assert.deepEqual(
      result.introduced.map((d) => `${d.path} ${d.code}`),
      ["src/a.ts TS2322"],
    );
  });
});
