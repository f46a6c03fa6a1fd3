import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import path from "node:path";
import type { SandboxLimits } from "../../src/runtime/ports.ts";
import { nativeProgram } from "../support/forkFixture.ts";
import { nestScript } from "../support/nestedDeep.ts";
import { makeSandboxFixture, run } from "../support/sandboxFixture.ts";
import type { SandboxFixture } from "../support/sandboxFixture.ts";

describe("sandbox limits", function () {
  this.timeout(30_000);
  let fixture: SandboxFixture;
  beforeEach(() => (fixture = makeSandboxFixture()));
  afterEach(() => fixture.remove());

  /** What passes which limit; the sandbox must be ended by it and say so. */
  const ending: readonly [what: string, limits: SandboxLimits, command: string, said: RegExp][] = [
    ["time", { seconds: 1 }, "sleep 1000", /^time: 1 s, the limit is 1 s$/],
    [
      "processor time of the tree",
      { cpuSeconds: 1 },
      "for i in 1 2 3; do (while :; do :; done) & done; wait",
      /^processor time: \d+ s, the limit is 1 s$/,
    ],
    [
      "memory",
      { memoryBytes: 200_000_000 },
      "node -e 'const b=Buffer.alloc(3e8, 1); setInterval(() => b, 1000)'",
      /^memory: \d+ MiB, the limit is 191 MiB$/,
    ],
    [
      "growth of the shadow",
      { growthBytes: 20_000_000 },
      "sleep 1.5; head -c 60000000 /dev/zero > big; sleep 1000",
      /^disk growth: \d+ MiB, the limit is 20 MiB$/,
    ],
    [
      "holes, which take room where they are published",
      { growthBytes: 20_000_000 },
      "sleep 1.5; truncate -s 60M big; sleep 1000",
      /^disk growth: \d+ MiB, the limit is 20 MiB$/,
    ],
  ];
  for (const [what, limits, command, said] of ending) {
    it(`ends on ${what}`, async () => {
      const ran = await run(fixture.spec(["bash", "-c", command], { limits }));
      assert.match(ran.limit ?? "", said);
      assert.deepEqual([ran.exitCode, ran.signal], [null, "SIGKILL"]);
    });
  }

  it("ends on growth that cannot be counted, behind folders nested without end", async () => {
    const command = [
      "bash",
      "-c",
      `sleep 1; exec ${process.execPath} -e "$0"`,
      `${nestScript(8_000)}; setTimeout(() => 0, 1e6)`,
    ];
    const ran = await run(fixture.spec(command, { limits: { growthBytes: 2_000_000_000 } }));
    assert.match(ran.limit ?? "", /^disk growth: /);
    execFileSync(nativeProgram(), ["remove", path.join(fixture.shadow, "d")]);
  });

  /** Limits that the kernel keeps: the process sees them fail. */
  const failing: readonly [what: string, limits: SandboxLimits, command: string, stdout: string][] =
    [
      [
        "processes",
        { processes: 20 },
        "(for i in $(seq 40); do sleep 2 & done) 2>/dev/null; jobs -p | wc -l | grep -q 40 && echo all; true",
        "",
      ],
      ["open files", { openFiles: 20 }, "ulimit -n", "20\n"],
      [
        "the size of a file",
        { fileBytes: 1024 },
        "(trap '' XFSZ; head -c 2000 /dev/zero > f) 2>/dev/null; stat -c %s f",
        "1024\n",
      ],
      [
        "scratch space",
        { memoryBytes: 50_000_000 },
        "head -c 60000000 /dev/zero > /tmp/f 2>/dev/null || echo full",
        "full\n",
      ],
    ];
  for (const [what, limits, command, stdout] of failing) {
    it(`bounds ${what}`, async () => {
      const ran = await run(fixture.spec(["bash", "-c", command], { limits }));
      assert.equal(ran.stdout, stdout, ran.stderr);
      assert.equal(ran.limit, undefined);
    });
  }
});
