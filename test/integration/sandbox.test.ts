import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import { Failure } from "../../src/base/errors.ts";
import { sandboxes } from "../../src/node/sandbox/sandboxes.ts";
import type { OverlayMount, Sandbox } from "../../src/runtime/ports.ts";
import { runAsUser } from "../support/sandboxAsUser.ts";
import {
  checkShell,
  finish,
  makeSandboxFixture,
  nativePath,
  run,
} from "../support/sandboxFixture.ts";
import type { SandboxFixture, SpecChanges } from "../support/sandboxFixture.ts";

type Tail<List extends readonly unknown[]> = List extends readonly [unknown, ...infer Rest]
  ? Rest
  : never;

describe("sandbox", function () {
  this.timeout(30_000);
  let fixture: SandboxFixture;
  beforeEach(() => (fixture = makeSandboxFixture()));
  afterEach(() => fixture.remove());

  const shell = (command: string, more: SpecChanges = {}): Promise<Sandbox> =>
    sandboxes({ nativePath }).launch(fixture.spec(["bash", "-c", command], more));

  const check = (...rest: Tail<Parameters<typeof checkShell>>): Promise<void> =>
    checkShell(fixture, ...rest);

  describe("inside", () => {
    const cases: readonly [what: string, command: string, stdout: string | RegExp][] = [
      ["is not root", "id -u", `${process.getuid?.() || 1000}\n`],
      ["has no capability", "grep CapEff /proc/self/status", "CapEff:\t0000000000000000\n"],
      ["cannot gain privileges", "grep NoNewPrivs /proc/self/status", "NoNewPrivs:\t1\n"],
      ["filters calls", "grep -c 'Seccomp:.2' /proc/self/status", "1\n"],
      ["sees its own processes", "echo /proc/[0-9]* | wc -w", /^[2-5]\n$/],
      ["has no host home", "ls -A /root 2>/dev/null | wc -l", "0\n"],
      ["has an empty home", "echo $HOME; ls -A ~", "/home/agent\n"],
      ["has its own /tmp", "ls /tmp", /^holdfast-sandbox-\w+\n$/],
      ["asks the bridge for names", "cat /etc/resolv.conf", "nameserver 127.0.0.1\n"],
      ["has no shadow file", "test -e /etc/shadow || echo none", "none\n"],
      ["has loopback alone", "cat /proc/net/dev | tail -n +3 | cut -d: -f1 | tr -d ' '", "lo\n"],
      ["writes its home and /tmp", "echo x > ~/a && echo y > /tmp/b && cat ~/a /tmp/b", "x\ny\n"],
      [
        "cannot write the system",
        "for d in / /usr /etc /run; do touch $d/x 2>/dev/null && echo $d; done; true",
        "",
      ],
      ["has standard devices", "echo a > /dev/null; head -c1 /dev/zero | wc -c", "1\n"],
      ["inherits no descriptors", "ls /proc/self/fd | tr '\\n' ' '", "0 1 2 3 "],
      ["opens its streams by name", "echo a > /dev/stdout; echo b > /proc/self/fd/1", "a\nb\n"],
      ["renames between directories", "mkdir a b; echo x > a/f; mv a/f b/g; cat b/g", "x\n"],
      ["runs node", "node -e 'console.log(1+1)'", "2\n"],
      [
        "has git",
        "git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && git log --oneline | wc -l",
        "1\n",
      ],
    ];
    for (const [what, command, stdout] of cases) it(what, () => check(command, { stdout }));

    it("is the same for an ordinary user", async () => {
      const ran = await runAsUser(
        "id -u; grep CapEff /proc/self/status; echo hi > f; cat f; ls -A /root | wc -l",
      );
      assert.equal(ran.stdout, "65534\nCapEff:\t0000000000000000\nhi\n0\n", ran.stderr);
      assert.deepEqual(
        ran.events.map((event) => event.type === "exec" && event.argv.join(" ")).slice(0, 2),
        [
          "sh -c id -u; grep CapEff /proc/self/status; echo hi > f; cat f; ls -A /root | wc -l",
          "id -u",
        ],
      );
    });

    it("shows the shadow at the workspace's path", async () => {
      writeFileSync(path.join(fixture.shadow, "a"), "shadow");
      writeFileSync(path.join(fixture.workspace, "a"), "workspace");
      await check("pwd; cat a; echo new > b", { stdout: `${fixture.workspace}\nshadow` });
      assert.equal(readFileSync(path.join(fixture.shadow, "b"), "utf8"), "new\n");
      assert.equal(existsSync(path.join(fixture.workspace, "b")), false);
    });

    it("can be read-only for checks", () =>
      check("touch x 2>/dev/null || echo no", { stdout: "no\n" }, { shadowReadOnly: true }));

    it("puts the launch's files where they belong, settings sealed", () =>
      check(
        "cat ~/.seed; stat -c %a ~/.seed; cat /etc/claude-code/managed.json; echo x > /etc/claude-code/managed.json || true",
        { stdout: "seed600\n{}" },
        {
          launch: {
            files: [
              { path: "/home/agent/.seed", content: "seed", mode: 0o600 },
              { path: "/etc/claude-code/managed.json", content: "{}", mode: 0o644 },
            ],
          },
        },
      ));

    it("shows directories of the launch, never the home", async () => {
      const tool = path.join(fixture.root, "tool");
      mkdirSync(tool);
      writeFileSync(path.join(tool, "a"), "tool");
      writeFileSync(path.join(tool, ".npmrc"), "token");
      const sandbox = await shell(
        `cat ${tool}/a; cat ${tool}/.npmrc; touch ${tool}/x; ls ${homedir()}; true`,
        {
          launch: { readOnly: [tool, homedir()] },
        },
      );
      const ran = await finish(sandbox);
      assert.equal(ran.stdout, "tool");
      assert.equal(existsSync(path.join(tool, "x")), false);
      assert.match(sandbox.notes.join(), / is not shown/);
    });
  });

  describe("weaker on request", () => {
    const nested = "unshare -Ur true 2>/dev/null && echo nested || echo none";
    it("has no user namespaces by default", () => check(nested, { stdout: "none\n" }));
    it("lets an agent bring its own sandbox, and says so", async () => {
      const allow = ["user-namespaces"] as const;
      const inner = "bwrap --unshare-all --ro-bind / / --dev /dev echo inner";
      await check(
        `${nested}; ${inner}; touch /usr/x 2>/dev/null || echo safe`,
        { stdout: "nested\ninner\nsafe\n" },
        { allow },
      );
      const sandbox = await sandboxes({ nativePath }).launch(fixture.spec(["true"], { allow }));
      assert.match(sandbox.description, /weaker: user-namespaces/);
      await finish(sandbox);
    });
    it("lets a debugger trace", async () => {
      const trace = `python3 -c 'import ctypes; print(ctypes.CDLL(None).ptrace(0, 0, 0, 0))'`;
      await check(trace, { stdout: "-1\n" });
      await check(trace, { stdout: "0\n" }, { allow: ["ptrace"] });
    });
  });

  describe("overlays", () => {
    const overlay = (): OverlayMount => {
      const at = (name: string): string => {
        const directory = path.join(fixture.root, `over, lay:${name}`);
        mkdirSync(directory);
        return directory;
      };
      mkdirSync(path.join(fixture.shadow, "deps"));
      const made = { at: "deps", lower: at("lower"), upper: at("upper"), work: at("work") };
      writeFileSync(path.join(made.lower, "a"), "lower");
      return made;
    };

    it("lie over the shadow and take the writes", async () => {
      const made = overlay();
      const { fork } = fixture.spec([]);
      const more = { fork: { ...fork, overlays: [made] } };
      await check(
        "cat deps/a; echo changed > deps/a; rm -f deps/none; echo b > deps/b",
        { stdout: "lower" },
        more,
      );
      assert.equal(readFileSync(path.join(made.lower, "a"), "utf8"), "lower");
      assert.equal(readFileSync(path.join(made.upper, "a"), "utf8"), "changed\n");
      await check(
        "cat deps/a deps/b; touch deps/c 2>/dev/null || echo no",
        { stdout: "changed\nb\nno\n" },
        { ...more, shadowReadOnly: true },
      );
      await check(
        "pwd; cat deps/a",
        { stdout: `${fixture.shadow}\nchanged\n` },
        { ...more, unsafeNoSandbox: true },
      );
    });
  });

  describe("refusal", () => {
    const refuse = async (
      launching: Promise<unknown>,
      kind: string,
      code: string,
      fix: RegExp,
    ): Promise<void> => {
      const failure = await launching.then(
        () => assert.fail("it ran"),
        (error: unknown) => error,
      );
      assert.ok(failure instanceof Failure, String(failure));
      assert.deepEqual([failure.kind, failure.code], [kind, code], failure.line);
      assert.match(failure.fix ?? "", fix);
    };

    it("names the package when bubblewrap is missing", () =>
      refuse(
        sandboxes({ nativePath, bwrapPath: "/nonesuch/bwrap" }).launch(fixture.spec(["true"])),
        "refused",
        "bwrap-missing",
        /install bubblewrap/,
      ));
    it("names the build when the native program is missing", () =>
      refuse(
        sandboxes({ nativePath: "/nonesuch" }).launch(fixture.spec(["true"])),
        "refused",
        "native-missing",
        /npm run build/,
      ));
    it("tells a program that is not there", () =>
      refuse(
        sandboxes({ nativePath }).launch(fixture.spec(["nonesuch"])),
        "failed",
        "exec-agent",
        /PATH/,
      ));
    it("tells a directory that is not there", () =>
      refuse(
        sandboxes({ nativePath }).launch(fixture.spec(["true"], { cwd: "/nonesuch" })),
        "failed",
        "cwd",
        /workspace/,
      ));
    it("refuses a workspace in a system place", () =>
      refuse(
        sandboxes({ nativePath }).launch(fixture.spec(["true"], { workspace: "/etc/x" })),
        "refused",
        "workspace-place",
        /move/,
      ));
    it("refuses an ablation outside the build for it", async () => {
      const ran = await run(fixture.spec(["sh", "-c", "touch /usr/x || echo no"]), {
        ablate: ["read-only"],
      });
      assert.equal(ran.stdout, "no\n");
    });
    it("tells what bubblewrap says", async () => {
      const fake = path.join(fixture.root, "bwrap");
      writeFileSync(
        fake,
        "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2; exit 1\n",
        { mode: 0o755 },
      );
      await refuse(
        sandboxes({ nativePath, bwrapPath: fake }).launch(fixture.spec(["true"])),
        "refused",
        "sandbox-unbuildable",
        /namespaces|container|sysctl/,
      );
    });
  });
});
