import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { sandboxes } from "../../src/node/sandbox/sandboxes.ts";
import type { Sandbox } from "../../src/runtime/ports.ts";
import { finish, makeSandboxFixture, nativePath } from "../support/sandboxFixture.ts";
import type { SandboxFixture, SpecChanges } from "../support/sandboxFixture.ts";
import { expecter, lives, until } from "../support/waiting.ts";

describe("sandbox observation", function () {
  this.timeout(30_000);
  let fixture: SandboxFixture;
  beforeEach(() => (fixture = makeSandboxFixture()));
  afterEach(() => fixture.remove());

  const shell = (command: string, more: SpecChanges = {}): Promise<Sandbox> =>
    sandboxes({ nativePath }).launch(fixture.spec(["bash", "-c", command], more));

  describe("observation", () => {
    const execs = async (command: string, more: SpecChanges = {}): Promise<readonly string[]> => {
      const { events } = await finish(await shell(command, more));
      return events.flatMap((event) =>
        event.type === "exec" ? [`${event.program} ${event.argv.join(" ")}`] : [],
      );
    };

    it("tells program, arguments, directory, parent, exit and duration", async () => {
      const ran = await finish(await shell("cd /usr; sh -c 'exit 5'; true"));
      const [agent, child] = ran.events.filter((event) => event.type === "exec");
      assert.ok(agent !== undefined && child !== undefined);
      assert.deepEqual(
        [child.argv, child.cwd, child.ppid, child.cause],
        [["sh", "-c", "exit 5"], "/usr", agent.pid, agent.pid],
      );
      assert.equal(child.program, "/usr/bin/dash");
      const exits = ran.events.filter((event) => event.type === "exit");
      assert.equal(exits.find((event) => event.pid === child.pid)?.exitCode, 5);
      assert.equal(exits.find((event) => event.pid === agent.pid)?.exitCode, 0);
      assert.ok((exits[0]?.durationMs ?? -1) >= 0);
    });

    it("collapses the search along PATH and resolves links", async () => {
      const found = await execs("awk 'BEGIN{}'; nonesuch 2>/dev/null; true", {
        launch: { env: { PATH: "/nonesuch:/tmp:/usr/bin" } },
      });
      assert.deepEqual(
        found.slice(1),
        ["/usr/bin/mawk awk BEGIN{}"].map((line) =>
          found[1]?.includes("gawk") ? line.replace("mawk", "gawk") : line,
        ),
      );
    });

    it("tells signals of killed processes", async () => {
      const { events } = await finish(
        await shell(
          "sleep 100 & until grep -q sleep /proc/$!/comm; do :; done; kill -TERM $!; wait $!; true",
        ),
      );
      assert.ok(events.some((event) => event.type === "exit" && event.signal === "SIGTERM"));
    });

    it("keeps a daemon's cause", async () => {
      const ran = await finish(
        await shell("bash -c '( ( sleep 0.2; exec true marked ) & ) ; exit 0'; sleep 0.4"),
      );
      const told = ran.events.filter((event) => event.type === "exec");
      const starter = told.find(
        (event) =>
          event.argv[0] === "bash" &&
          event.argv[2]?.includes("marked") === true &&
          event.ppid === told[0]?.pid,
      );
      const daemon = told.find((event) => event.argv[1] === "marked");
      assert.ok(starter !== undefined && daemon !== undefined);
      assert.equal(daemon.cause, starter.pid);
    });

    const later = "(time.sleep(0.2), os.execv('/bin/true', ['true', 'marked']))";
    for (const [leaving, script] of [
      ["the raw call", `os.fork() or ${later}; libc.syscall(exit_, 0)`],
      [
        "a thread that lets the others go on, and then the raw call",
        `run(lambda: (os.fork() or ${later}, libc.syscall(exit_, 0))); time.sleep(0.1); libc.syscall(exit_, 0)`,
      ],
      [
        "another thread than the one that forked",
        `run(lambda: (os.fork() or ${later}, time.sleep(5))); time.sleep(0.1); os._exit(0)`,
      ],
    ] as const) {
      it(`keeps the cause of a daemon whose parent leaves by ${leaving}`, async () => {
        const python = `import ctypes, os, platform, threading, time
libc = ctypes.CDLL(None)
exit_ = 93 if platform.machine() == "aarch64" else 60
run = lambda of: (lambda thread: (thread.start(), thread)[1])(threading.Thread(target=of))
${script}`;
        writeFileSync(path.join(fixture.shadow, "leave.py"), python);
        const ran = await finish(await shell("python3 leave.py; sleep 0.5"));
        const told = ran.events.filter((event) => event.type === "exec");
        const starter = told.find((event) => event.argv[0] === "python3");
        const daemon = told.find((event) => event.argv[1] === "marked");
        assert.ok(starter !== undefined && daemon !== undefined, ran.stderr);
        assert.deepEqual([daemon.cause, daemon.detached], [starter.pid, true]);
      });
    }

    it("keeps the cause of what a signal has orphaned, by its group", async () => {
      // The subshell runs no program of its own: it is never told.
      const killed = "( sleep 0.3; /bin/true marked; : ) & sleep 0.1; kill -KILL $$";
      const ran = await finish(await shell(`setsid -w bash -c '${killed}'; sleep 0.6`));
      const told = ran.events.filter((event) => event.type === "exec");
      const starter = told.find((event) => event.argv[0] === "bash" && event.argv[2] === killed);
      const orphan = told.find((event) => event.argv[1] === "marked");
      assert.ok(starter !== undefined && orphan !== undefined, ran.stderr);
      assert.equal(orphan.cause, starter.pid);
    });

    it("tells programs that are named by a way that only the process itself can go", async () => {
      // On the host it is no program.
      const elsewhere = `${fixture.root}.program`;
      writeFileSync(elsewhere, "");
      const said = await execs(
        `//proc/self/root/bin/true way 1
ln -s /proc/self/root/bin/true link; ./link way 2
mkdir gone; cd gone; rmdir ../gone; cp /bin/true ../here; ../here way 3
cd /proc; self/root/bin/true way 4
cp /bin/true ${elsewhere}; /proc/self/../..${elsewhere} way 5`,
      );
      rmSync(elsewhere);
      assert.deepEqual(
        said.slice(1).flatMap((line) => /way (\d)$/.exec(line)?.[1] ?? []),
        ["1", "2", "3", "4", "5"],
      );
    });

    it("sees execs of scripts, descriptors and vfork", async () => {
      writeFileSync(path.join(fixture.shadow, "s.sh"), "#!/bin/sh\nexit 0\n", { mode: 0o755 });
      const found = await execs(
        `./s.sh; node -e 'require("child_process").execFileSync("/bin/true", ["a b"])'; python3 -c 'import os; os.execve(os.open("/bin/true", os.O_RDONLY), ["fd"], {})'`,
      );
      const lines = found.join("\n");
      for (const line of [
        `${fixture.workspace}/s.sh ./s.sh`,
        "/usr/bin/true /bin/true a b",
        "/usr/bin/true fd",
      ])
        assert.ok(lines.includes(line), lines);
    });

    it("tells the end of one before the beginning of the next", async () => {
      const { events } = await finish(await shell("for i in $(seq 40); do /bin/true $i; done"));
      const running = new Set<number>();
      let most = 0;
      const trues = new Set<number>();
      for (const event of events) {
        if (event.type === "exit") running.delete(event.pid);
        else if (event.argv[0] === "/bin/true") {
          trues.add(event.pid);
          running.add(event.pid);
          most = Math.max(most, running.size);
        }
      }
      assert.equal(trues.size, 40);
      assert.equal(most, 1);
      assert.equal(running.size, 0);
    });

    it("tells what ran before the agent speaks of it", async () => {
      const sandbox = await shell(
        "for i in 1 2 3; do read -r; /bin/true $REPLY; echo $REPLY; done",
      );
      const seen: string[] = [];
      sandbox.onEvent((event) => {
        if (event.type === "exec" && event.argv[0] === "/bin/true") seen.push(event.argv[1] ?? "");
      });
      const heard: (readonly [said: string, seen: string | undefined])[] = [];
      sandbox.stdout.on("data", (bytes: Buffer) => {
        // What came in together is heard together.
        setImmediate(() => heard.push([bytes.toString().trim(), seen.at(-1)]));
      });
      for (const word of ["one", "two", "three"]) {
        sandbox.stdin.write(`${word}\n`);
        await until(`${word} is said`, () => heard.at(-1)?.[0] === word);
      }
      await sandbox.exited;
      assert.deepEqual(
        heard,
        ["one", "two", "three"].map((word) => [word, word]),
      );
    });

    it("keeps up with many", async () => {
      const found = await execs("for i in $(seq 60); do /bin/true $i; done");
      assert.equal(found.filter((line) => line.startsWith("/usr/bin/true")).length, 60);
    });
  });

  describe("without a sandbox", () => {
    it("runs on the shadow and says so", async () => {
      const sandbox = await shell("pwd; id -u", { unsafeNoSandbox: true });
      assert.match(sandbox.description, /unconfined/);
      assert.match(sandbox.notes.join(), /NO SANDBOX/);
      const ran = await finish(sandbox);
      assert.equal(ran.stdout, `${fixture.shadow}\n${process.getuid?.() ?? 0}\n`);
      assert.ok(ran.events.some((event) => event.type === "exec" && event.argv[0] === "id"));
    });

    it("still ends daemons", async () => {
      const sandbox = await shell("setsid sleep 1000 & echo $!; sleep 1000", {
        unsafeNoSandbox: true,
      });
      const hear = expecter(sandbox.stdout);
      await hear("\n");
      let daemon = 0;
      sandbox.onEvent((event) => {
        if (event.type === "exec" && event.argv[0] === "sleep") daemon = event.pid;
      });
      await until("the daemon runs", () => daemon > 0);
      await sandbox.kill();
      assert.equal(lives(daemon), false);
    });
  });
});
