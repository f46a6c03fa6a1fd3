import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { createServer } from "node:net";
import path from "node:path";
import { promisify } from "node:util";
import { sandboxes } from "../../src/node/sandbox/sandboxes.ts";
import { root } from "../support/repository.ts";
import { finish, makeSandboxFixture, run } from "../support/sandboxFixture.ts";
import type { SandboxFixture } from "../support/sandboxFixture.ts";

const native = path.join(root, "native");

/** Milliseconds that each fuzz target runs. */
const fuzzMs = 1000;

describe("native program under sanitizers", function () {
  this.timeout(240_000);
  const nativePath = path.join(native, "build/san/holdfast-native");
  let fixture: SandboxFixture;
  before(() => void execFileSync("make", ["-s", "-j2", "-C", native, "SAN=1"], { stdio: "pipe" }));
  beforeEach(() => (fixture = makeSandboxFixture()));
  afterEach(() => fixture.remove());

  const clean = (stderr: string): void => assert.doesNotMatch(stderr, /Sanitizer|runtime error/);

  it("runs, observes and ends", async () => {
    const command =
      "for i in 1 2 3; do /bin/true $i; done; (setsid sleep 100 &) ; echo out; echo err >&2; exit 3";
    const ran = await run(fixture.spec(["bash", "-c", command]), { nativePath });
    assert.deepEqual([ran.exitCode, ran.stdout, ran.stderr], [3, "out\n", "err\n"]);
    assert.equal(
      ran.events.filter((event) => event.type === "exec" && event.argv[0] === "/bin/true").length,
      3,
    );
  });

  it("runs a terminal, freezes and kills", async () => {
    const terminal = { columns: 80, rows: 24 };
    const sandbox = await sandboxes({ nativePath }).launch(
      fixture.spec(["bash", "-c", "echo ready; sleep 1000"], { terminal }),
    );
    sandbox.resize(100, 30);
    await sandbox.freeze();
    await sandbox.thaw();
    const over = finish(sandbox);
    await sandbox.kill();
    clean((await over).stdout);
  });

  it("bounds, bridges and hooks", async () => {
    const server = createServer((socket) =>
      socket.on("error", () => socket.destroy()).pipe(socket),
    );
    await new Promise<void>((resolve) =>
      server.listen(path.join(fixture.door, "door.sock"), resolve),
    );
    const command =
      "exec 3<>/dev/tcp/127.0.0.1/61080; echo hello >&3; read line <&3; echo $line; echo '{}' | /run/holdfast-native hook; echo $?";
    const ran = await run(
      fixture.spec(["bash", "-c", command], { limits: { seconds: 60, growthBytes: 1e9 } }),
      { nativePath },
    );
    server.close();
    assert.deepEqual([ran.stdout, ran.stderr], ["hello\n0\n", ""]);
  });

  it("refuses cleanly", async () => {
    await assert.rejects(run(fixture.spec(["nonesuch"]), { nativePath }), /cannot run nonesuch/);
    const { stdout, stderr } = await promisify(execFile)(nativePath, ["probe"]);
    clean(stderr);
    assert.match(stdout, /"userNamespaces":\{"ok":true/);
  });
});

describe("parsers of the native program", function () {
  this.timeout(240_000);
  before(() => void execFileSync("make", ["-s", "-j2", "-C", native, "fuzz"], { stdio: "pipe" }));

  const seeds: Readonly<Record<string, readonly string[]>> = {
    plan: [
      "bwrap|/usr/bin/bwrap|uid|1000|variable|A|b|",
      "limit|seconds|5|allow|ptrace|argument|x|",
    ],
    control: ["resize 80 24", "signal SIGINT", "plan 44", "freeze"],
    frames: ["h||||", "f\x04|||||||", "x\x05|||step|"],
    resolver: [
      "\x124\x01||\x01||||||\x01a\x04test||\x01|\x01",
      "\x124\x01||\x01||||||\x09localhost||\x1c|\x01",
    ],
    text: ["plain", 'quote " and \\', "é€😀\u0001"],
  };

  it("have a target each", () => {
    const targets = readdirSync(path.join(native, "fuzz")).flatMap(
      (name) => /^(?!runner)(\w+)\.c$/.exec(name)?.[1] ?? [],
    );
    assert.deepEqual(targets.sort(), Object.keys(seeds).sort());
  });

  for (const [target, inputs] of Object.entries(seeds)) {
    it(`${target} takes whatever comes`, async () => {
      const program = path.join(native, "build/fuzz", target);
      const { stdout } = await promisify(execFile)(program, [String(fuzzMs), ...inputs]);
      assert.match(stdout, /^[1-9]\d* runs\n$/);
    });
  }
});
