import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Writable } from "node:stream";
import { setTimeout as wait } from "node:timers/promises";
import { findBwrap } from "../../src/node/sandbox/bwrap.ts";
import { encodePlan } from "../../src/node/sandbox/plan.ts";
import { planSandbox } from "../../src/node/sandbox/planSandbox.ts";
import { sandboxes } from "../../src/node/sandbox/sandboxes.ts";
import type { Sandbox } from "../../src/runtime/ports.ts";
import {
  checkShell,
  finish,
  makeSandboxFixture,
  nativePath,
  run,
} from "../support/sandboxFixture.ts";
import type { SandboxFixture, SpecChanges } from "../support/sandboxFixture.ts";
import { expecter, lives, until } from "../support/waiting.ts";

/** The state of a process of that name, as the kernel's table has it; empty when there is none. */
function stateOf(name: string): string {
  const table = execFileSync("ps", ["-eo", "stat=,comm="], { encoding: "utf8" });
  return new RegExp(`^(\\w)\\S* +${name}$`, "m").exec(table)?.[1] ?? "";
}

type Tail<List extends readonly unknown[]> = List extends readonly [unknown, ...infer Rest]
  ? Rest
  : never;

describe("sandbox streams and end", function () {
  this.timeout(30_000);
  let fixture: SandboxFixture;
  beforeEach(() => (fixture = makeSandboxFixture()));
  afterEach(() => fixture.remove());

  const shell = (command: string, more: SpecChanges = {}): Promise<Sandbox> =>
    sandboxes({ nativePath }).launch(fixture.spec(["bash", "-c", command], more));

  const check = (...rest: Tail<Parameters<typeof checkShell>>): Promise<void> =>
    checkShell(fixture, ...rest);

  describe("streams", () => {
    it("are separate", () =>
      check("echo out; echo err >&2; exit 7", { stdout: "out\n", stderr: "err\n", exitCode: 7 }));
    it("pass the end of input", () => check("cat; echo end", { stdout: "abcend\n" }, {}, "abc"));
    it("carry much both ways", () =>
      check(
        "wc -c; head -c 3000000 /dev/zero | tr '\\0' x | tail -c 5",
        { stdout: "2000000\nxxxxx" },
        {},
        "y".repeat(2_000_000),
      ));
    it("are whole although the agent ended before its start was heard of", async () => {
      const launching = sandboxes({ nativePath }).launch(fixture.spec(["echo", "short"]));
      await wait(1);
      // A supervisor that is busy: start and end wait for it together.
      for (const end = performance.now() + 1500; performance.now() < end;);
      const sandbox = await launching;
      await wait(200);
      const { stdout, exitCode } = await finish(sandbox);
      assert.deepEqual([stdout, exitCode], ["short\n", 0]);
    });

    it("end when the agent closes them", async () => {
      const sandbox = await shell("exec >&- 2>&-; read line");
      sandbox.stdout.resume();
      await once(sandbox.stdout, "end");
      sandbox.stdin.end("go\n");
      assert.equal((await sandbox.exited).exitCode, 0);
    });
  });

  describe("terminal", () => {
    const terminal = { columns: 80, rows: 24 };
    it("is one", () =>
      check("tty; stty size", { stdout: /^\/dev\/pts\/0\r\n24 80\r\n$/ }, { terminal }));

    it("resizes, and Ctrl-C interrupts", async () => {
      const sandbox = await shell(
        "trap 'stty size' WINCH; trap 'echo got; exit 3' INT; echo ready; while :; do sleep 0.05; done",
        { terminal },
      );
      const hear = expecter(sandbox.stdout);
      await hear("ready");
      sandbox.resize(100, 40);
      await hear("40 100");
      sandbox.stdin.write("\x03");
      await hear("got");
      assert.equal((await sandbox.exited).exitCode, 3);
    });

    it("has job control", async () => {
      const spec = fixture.spec(["bash", "--norc", "-i"], {
        terminal,
        launch: { env: { PS1: "$ " } },
      });
      const sandbox = await sandboxes({ nativePath }).launch(spec);
      const hear = expecter(sandbox.stdout);
      sandbox.stdin.write("sleep 100\n");
      await until("sleep runs", () => true);
      await wait(300);
      sandbox.stdin.write("\x1a");
      await hear("Stopped");
      sandbox.stdin.write("kill %1; echo 'do'ne\n");
      await hear("done");
      sandbox.stdin.end();
      assert.equal((await sandbox.exited).exitCode, 0);
    });

    it("takes signals", async () => {
      const sandbox = await shell(
        "trap 'echo int' INT; trap 'echo term; exit 4' TERM; echo ready; while :; do sleep 0.05; done",
        { terminal },
      );
      const hear = expecter(sandbox.stdout);
      await hear("ready");
      sandbox.signal("SIGINT");
      await hear("int");
      sandbox.signal("SIGTERM");
      await hear("term");
      assert.equal((await sandbox.exited).exitCode, 4);
    });
  });

  describe("end", () => {
    const daemon =
      "setsid bash -c 'bash -c \"while :; do date +%N > tick; sleep 0.01; done\" &' >/dev/null 2>&1; ";
    const tick = (): string => {
      const file = path.join(fixture.shadow, "tick");
      return existsSync(file) ? readFileSync(file, "utf8") : "";
    };

    it("tells signals", async () => {
      const ran = await run(fixture.spec(["sh", "-c", "kill -9 $$"]));
      assert.deepEqual([ran.exitCode, ran.signal], [null, "SIGKILL"]);
    });

    it("takes daemons with it and counts them", async () => {
      const sandbox = await shell(`${daemon} while [ ! -s tick ]; do sleep 0.01; done`);
      const ran = await finish(sandbox);
      assert.equal(ran.exitCode, 0);
      assert.ok((ran.left ?? 0) >= 1);
      const last = tick();
      await wait(100);
      assert.equal(tick(), last);
    });

    it("freezes, thaws and kills daemons too", async () => {
      const sandbox = await shell(`${daemon} sleep 1000`);
      await until("the daemon writes", () => tick() !== "");
      await sandbox.freeze();
      const frozen = tick();
      await wait(100);
      assert.equal(tick(), frozen);
      await sandbox.thaw();
      await until("the daemon writes again", () => tick() !== frozen && tick() !== "");
      await sandbox.kill();
      const last = tick();
      await wait(100);
      assert.equal(tick(), last);
      assert.equal((await sandbox.exited).signal, "SIGKILL");
      assert.equal(lives(sandbox.pid), false);
    });

    it("freezes also while a program is being started by vfork", async () => {
      // Node, make and dash start programs so; the parent waits in the kernel for a child that is stopped.
      const source = path.join(fixture.shadow, "start.c");
      writeFileSync(
        source,
        `#define _GNU_SOURCE
         #include <unistd.h>
         int main(void) {
           if (vfork() == 0) { for (;;) pause(); }
           return 0;
         }`,
      );
      execFileSync("cc", ["-o", path.join(fixture.shadow, "start"), source]);
      const sandbox = await shell("./start & sleep 1000");
      await until("the parent waits for its child", () => stateOf("start") === "D");
      await sandbox.freeze();
      await sandbox.thaw();
      await sandbox.kill();
    });

    it("comes at any moment of the start", async () => {
      const spec = fixture.spec(["sleep", "1000"]);
      const machine = {
        ...{ uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0, home: "/" },
        ...{ bwrapPath: findBwrap(), env: process.env },
      };
      const plan = encodePlan(planSandbox(spec, machine).records);
      for (let delay = 0; delay < 8; delay += 0.1) {
        const supervise = spawn(nativePath, ["supervise", "3", "4"], {
          stdio: ["ignore", "ignore", "ignore", "ignore", "pipe"],
        });
        const control = supervise.stdio[4] as Writable;
        control.on("error", () => undefined); // it may be gone already
        control.write(`plan ${plan.length}\n`);
        control.write(plan);
        await wait(Math.floor(delay));
        // Finer than a timer: the moment between bubblewrap's start and its child's is short.
        for (const end = performance.now() + (delay % 1); performance.now() < end;);
        control.end("kill\n");
        await once(supervise, "close");
      }
    });

    it("comes when supervise dies", async () => {
      const sandbox = await shell(`${daemon} echo $PPID; sleep 1000`);
      await until("the daemon writes", () => tick() !== "");
      const stat = readFileSync(`/proc/${sandbox.pid}/stat`, "utf8");
      const init = Number(stat.slice(stat.lastIndexOf(")") + 4).split(" ")[0]);
      const bwrap = Number(readFileSync(`/proc/${init}/status`, "utf8").match(/PPid:\t(\d+)/)?.[1]);
      const supervise = Number(
        readFileSync(`/proc/${bwrap}/status`, "utf8").match(/PPid:\t(\d+)/)?.[1],
      );
      process.kill(supervise, "SIGKILL");
      await sandbox.exited;
      await until("nothing lives", () => ![sandbox.pid, init, bwrap].some(lives));
    });

    it("comes when its starter dies", async () => {
      const script = path.join(fixture.root, "starter.mts");
      writeFileSync(
        script,
        `import { sandboxes } from ${JSON.stringify(path.resolve(import.meta.dirname, "../../src/node/sandbox/sandboxes.ts"))};
         const sandbox = await sandboxes({ nativePath: ${JSON.stringify(nativePath)} }).launch(${JSON.stringify(fixture.spec(["sleep", "1000"]))});
         console.log(sandbox.pid);`,
      );
      const tsx = path.resolve(import.meta.dirname, "../../node_modules/tsx/dist/loader.mjs");
      const starter = spawn(process.execPath, ["--import", tsx, script], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      const [said] = (await once(starter.stdout, "data")) as [Buffer];
      const pid = Number(said.toString("utf8"));
      assert.ok(lives(pid));
      starter.kill("SIGKILL");
      await until("the agent is gone", () => !lives(pid));
    });
  });
});
