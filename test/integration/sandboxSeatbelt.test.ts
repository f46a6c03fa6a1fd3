import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { chmodSync, existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import path from "node:path";
import { Failure } from "../../src/base/errors.ts";
import { hostSandboxes, probeHostSandbox } from "../../src/node/sandbox/hostSandboxes.ts";
import { seatbeltSandboxes } from "../../src/node/sandbox/seatbelt/seatbeltSandboxes.ts";
import type { Sandbox } from "../../src/runtime/ports.ts";
import { judge } from "../support/seatbeltJudge.ts";
import { finish, makeSandboxFixture, nativePath } from "../support/sandboxFixture.ts";
import type { SandboxFixture, SpecChanges } from "../support/sandboxFixture.ts";
import { lives, until } from "../support/waiting.ts";

/**
 * There is no Mac here. What is driven is everything around `sandbox-exec`: a program in its place records how it was
 * called, then runs what it was given, unconfined. The trial that comes first would refuse such a one, so it is answered
 * as Seatbelt would; that it does refuse has a test of its own.
 */
const standIn = (record: string, trial: string): string => `#!/bin/bash
{ printf '%s\\0' "$@"; } > ${record}.argv
{ ls -l /proc/self/fd | grep -o '[0-9]* -> .*'; } > ${record}.fds
env -0 > ${record}.env
ps -o pid=,pgid= $$ > ${record}.group
while [ "$1" != -- ]; do shift; done
shift
case "$*" in *"echo kept"*) ${trial} ;; esac
exec "$@"
`;

describe("sandbox on macOS, driven here", function () {
  this.timeout(60_000);
  let fixture: SandboxFixture;
  let record: string;
  let sandboxExec: string;
  beforeEach(() => {
    fixture = makeSandboxFixture();
    record = path.join(fixture.root, "record");
    sandboxExec = path.join(fixture.root, "sandbox-exec");
    place("echo kept; exit 0");
  });
  afterEach(() => fixture.remove());

  const place = (trial: string): void => {
    writeFileSync(sandboxExec, standIn(record, trial));
    chmodSync(sandboxExec, 0o755);
  };

  const launch = (command: string, more: SpecChanges = {}): Promise<Sandbox> =>
    seatbeltSandboxes({ sandboxExec }).launch(
      fixture.spec(["bash", "-c", command], { door: false, ...more }),
    );

  const words = (name: string): string[] =>
    readFileSync(`${record}.${name}`, "utf8").split("\0").slice(0, -1);

  it("runs the command in the copy with an environment of its own", async () => {
    const ran = await finish(
      await launch('pwd; cat; echo "$HOME $TMPDIR" >&2; ls -A ~ "$TMPDIR"'),
      "in",
    );
    assert.equal(ran.exitCode, 0);
    assert.ok(ran.stdout.startsWith(`${fixture.shadow}\nin`), ran.stdout);
    const [home = "", temporary = ""] = ran.stderr.trim().split(" ");
    assert.equal(path.dirname(home), path.dirname(temporary));
    assert.ok(!existsSync(path.dirname(home)), `removed with the run: ${ran.stderr}`);
    const names = words("env").map((one) => one.split("=")[0]);
    assert.ok(
      !names.some((name) => process.env[name ?? ""] !== undefined && /TOKEN|KEY/.test(name ?? "")),
    );
    assert.ok(names.includes("HOLDFAST"));
  });

  it("gives sandbox-exec a profile that holds, in a group of its own, with three streams alone", async () => {
    await finish(await launch("true"));
    const given = words("argv");
    assert.equal(given[0], "-p");
    const parameters = new Map(
      given
        .slice(2, given.indexOf("--"))
        .map((one) => /^-D(\w+)=([^]*)$/.exec(one)?.slice(1, 3) as [string, string]),
    );
    const profile = { text: given[1] ?? "", parameters };
    assert.ok(judge(profile, "file-write-data", { path: `${fixture.shadow}/a` }));
    assert.ok(!judge(profile, "file-read-data", { path: `${fixture.workspace}/a` }));
    const [pid, group] = readFileSync(`${record}.group`, "utf8").trim().split(/\s+/);
    assert.equal(pid, group);
    const descriptors =
      readFileSync(`${record}.fds`, "utf8").match(/^\d+ -> (?:pipe|socket|\/(?!proc))/gm) ?? [];
    assert.deepEqual(
      descriptors.map((one) => Number.parseInt(one, 10)).filter((fd) => fd > 2),
      [],
    );
  });

  it("tells the agent's own exec and exit, and that the rest is not observed", async () => {
    const sandbox = await launch("/bin/true; exit 3");
    const ran = await finish(sandbox);
    assert.equal(ran.exitCode, 3);
    assert.deepEqual(
      ran.events.map((event) => [event.type, event.pid]),
      [
        ["exec", sandbox.pid],
        ["exit", sandbox.pid],
      ],
    );
    assert.match(sandbox.description, /execs not observed/);
    assert.match(sandbox.notes.join(), /not observed/);
  });

  it("leads a port of loopback to the door", async () => {
    const door = createServer((socket) => socket.end("the door"));
    await new Promise<void>((resolve) =>
      door.listen(path.join(fixture.door, "door.sock"), resolve),
    );
    const look =
      'p=${https_proxy##*:}; exec 3<>/dev/tcp/127.0.0.1/$p; cat <&3; echo; echo "$HOLDFAST_AGENT_SOCK"';
    const ran = await finish(await launch(look, { door: true as never }));
    door.close();
    assert.equal(ran.stdout, `the door\n${fixture.door}/agent.sock\n`, ran.stderr);
  });

  it("puts the launch's files into the private home", async () => {
    const files = [{ path: "/home/agent/.a/b", content: "at /home/agent/c", mode: 0o600 }];
    const ran = await finish(
      await launch("cat ~/.a/b; echo; stat -c %a ~/.a/b", { launch: { files } }),
    );
    assert.match(ran.stdout, /^at \/.*\/home\/c\n600\n$/);
  });

  it("ends what the command leaves, also what has left its group", async () => {
    const between = "setsid sleep 1001 & echo $!; until [ -e go ]; do sleep 0.05; done";
    const sandbox = await launch(
      `setsid sleep 1000 & echo $!; bash -c '${between}' & echo $!; read -r _`,
    );
    let said = "";
    sandbox.stdout.on("data", (bytes: Buffer) => (said += bytes.toString()));
    const pids = (): readonly number[] => said.trim().split("\n").map(Number);
    await until("three pids are said", () => pids().length === 3);
    // Seen with what started them; then that is gone.
    await sandbox.freeze();
    await sandbox.thaw();
    writeFileSync(path.join(fixture.shadow, "go"), "");
    await until("one is an orphan", () => pids().filter(lives).length === 2);
    sandbox.stdin.end("over\n");
    const exited = await sandbox.exited;
    assert.equal(exited.exitCode, 0);
    assert.equal(exited.left, 2);
    await until("what was left is gone", () => !pids().some(lives));
  });

  it("freezes and thaws the tree", async () => {
    const sandbox = await launch("(while :; do echo x; done) & while :; do echo y; done");
    await sandbox.freeze();
    const states = (): string =>
      execFileSync("ps", ["-o", "stat=", "-g", String(sandbox.pid)], { encoding: "utf8" });
    assert.match(states(), /^(?:T\S*\s+)+$/);
    await sandbox.thaw();
    await until("it runs again", () => !/T/.test(states().split("\n")[0] ?? "T"));
    await sandbox.kill();
    assert.equal((await sandbox.exited).signal, "SIGKILL");
  });

  it("passes signals to the group, and kills", async () => {
    const sandbox = await launch(
      "trap 'echo got; exit 7' TERM; echo on; while :; do sleep 0.05; done",
    );
    let said = "";
    sandbox.stdout.on("data", (bytes: Buffer) => (said += bytes.toString()));
    await until("the trap is set", () => said === "on\n");
    sandbox.signal("SIGTERM");
    assert.equal((await sandbox.exited).exitCode, 7);
    await sandbox.kill();
  });

  const limits: readonly [name: string, command: string, limits: object, said: RegExp][] = [
    ["time", "sleep 1000", { seconds: 1 }, /^time: \d+ s, the limit is 1 s$/],
    ["processor time", "while :; do :; done", { cpuSeconds: 1 }, /^processor time: /],
    [
      "memory",
      "x=$(head -c 60000000 /dev/zero | tr '\\0' x); sleep 1000",
      { memoryBytes: 4e7 },
      /^memory: /,
    ],
    [
      "disk growth",
      "head -c 3000000 /dev/urandom > a; sleep 1000",
      { growthBytes: 1e6 },
      /^disk growth: /,
    ],
  ];
  for (const [name, command, given, said] of limits) {
    it(`ends at its limit of ${name}`, async () => {
      const ran = await finish(await launch(command, { limits: given }));
      assert.match(ran.limit ?? "none", said);
      assert.equal(ran.signal, "SIGKILL");
    });
  }

  it("bounds open files and the size of one", async () => {
    const command = "ulimit -n; trap '' XFSZ; head -c 200000 /dev/zero > a; stat -c %s a";
    const ran = await finish(
      await launch(command, { limits: { openFiles: 64, fileBytes: 65_536 } }),
    );
    assert.equal(ran.stdout, "64\n65536\n");
  });

  it("ends with the process that started it", async () => {
    const script = path.join(fixture.root, "starter.mjs");
    const from = (file: string): string => path.join(import.meta.dirname, "../..", file);
    writeFileSync(
      script,
      `import { guardGroup } from ${JSON.stringify(from("src/node/sandbox/seatbelt/guard.ts"))};
       import { spawn } from "node:child_process";
       const child = spawn("bash", ["-c", "setsid sleep 1000 & sleep 1001"], { detached: true, stdio: "ignore" });
       guardGroup(child.pid);
       console.log(child.pid);
       setInterval(() => {}, 1000);`,
    );
    const starter = spawn(process.execPath, [...process.execArgv, script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let said = "";
    starter.stdout.on("data", (bytes: Buffer) => (said += bytes.toString()));
    await until("the group's number is said", () => said.endsWith("\n"));
    const group = Number(said);
    const children = (): string =>
      readFileSync(`/proc/${group}/task/${group}/children`, "utf8").trim();
    await until("it has two children", () => children().split(" ").length === 2);
    const all = [group, ...children().split(" ").map(Number)];
    assert.ok(all.every(lives));
    starter.kill("SIGKILL");
    await until("all of them are gone", () => !all.some(lives));
  });

  describe("refuses", () => {
    const refuses = async (code: string, started: Promise<Sandbox>): Promise<void> => {
      await assert.rejects(
        started,
        (error) => error instanceof Failure && error.code === code && error.fix !== undefined,
      );
    };

    it("where sandbox-exec is not there", async () => {
      sandboxExec = path.join(fixture.root, "absent");
      await refuses("sandbox-exec-missing", launch("true"));
    });

    it("where it does not confine", async () => {
      place(":");
      await refuses("sandbox-unbuildable", launch("touch ran"));
      assert.ok(!existsSync(path.join(fixture.shadow, "ran")), "the command did not run");
    });

    it("where it takes no profile", async () => {
      place('echo "sandbox-exec: unexpected expression" >&2; exit 65');
      await assert.rejects(launch("true"), /the sandbox cannot be built: .*unexpected expression/);
    });

    it("a command that is not there, and one that is none", async () => {
      const start = (argv: readonly string[]): Promise<Sandbox> =>
        seatbeltSandboxes({ sandboxExec }).launch(fixture.spec(argv, { door: false }));
      await refuses("exec-agent", start(["no-such-command"]));
      await assert.rejects(start([]), /no command/);
    });

    it("with nothing left behind", async () => {
      const own = (): string[] =>
        readdirSync("/tmp").filter((name) => /^holdfast-\w{6}$/.test(name));
      const before = new Set(own());
      place(":");
      await refuses("sandbox-unbuildable", launch("true"));
      assert.deepEqual(
        own().filter((name) => !before.has(name)),
        [],
      );
    });
  });

  it("runs without sandbox-exec when that is asked for, and says so", async () => {
    sandboxExec = path.join(fixture.root, "absent");
    const sandbox = await launch("echo $HOME", { unsafeNoSandbox: true });
    const ran = await finish(sandbox);
    assert.equal(ran.stdout, `${process.env["HOME"] ?? ""}\n`);
    assert.match(sandbox.description, /unconfined/);
  });

  it("is chosen by the platform, in one place", async () => {
    const spec = fixture.spec(["true"]);
    await assert.rejects(
      hostSandboxes({ nativePath }, "darwin").launch(spec),
      /sandbox-exec is not/,
    );
    await assert.rejects(
      hostSandboxes({ nativePath }, "win32").launch(spec),
      /no sandbox for win32/,
    );
    assert.equal(
      (await finish(await hostSandboxes({ nativePath }, "linux").launch(spec))).exitCode,
      0,
    );
    const states = async (platform: NodeJS.Platform): Promise<readonly string[]> =>
      (await probeHostSandbox({ nativePath }, platform)).map(({ state }) => state);
    assert.deepEqual(await states("darwin"), ["missing"]);
    assert.deepEqual(await states("win32"), ["missing"]);
    assert.ok((await states("linux")).length > 5);
  });
});
