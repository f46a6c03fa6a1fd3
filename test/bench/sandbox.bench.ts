import { execFile, execFileSync } from "node:child_process";
import { createServer } from "node:net";
import { existsSync, writeFileSync } from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { againstTarget, figureOf } from "../support/bench.ts";
import type { Bench, Figure } from "../support/bench.ts";
import { root } from "../support/repository.ts";
import { finish, makeSandboxFixture, nativePath } from "../support/sandboxFixture.ts";
import type { SandboxFixture } from "../support/sandboxFixture.ts";
import { sandboxes } from "../../src/node/sandbox/sandboxes.ts";
import type { Sandbox } from "../../src/runtime/ports.ts";
import type { SandboxOptions } from "../../src/node/sandbox/sandboxes.ts";

/** Prints the monotonic clock, as the first thing that a program does. */
const stamp = `#include <stdio.h>
#include <time.h>
int main(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); printf("%lld%09ld", (long long)t.tv_sec, t.tv_nsec); return 0; }
`;

const rounds = 15;

const milliseconds = (from: bigint, to: bigint): number => Number(to - from) / 1e6;

/** Two ways in turn, each first in every other round, so that what else the machine does hits both: samples of each. */
async function interleaved(
  times: number,
  one: () => Promise<number>,
  other: () => Promise<number>,
): Promise<readonly [readonly number[], readonly number[]]> {
  const samples: [number[], number[]] = [[], []];
  await one();
  await other();
  for (let round = 0; round < times; round++) {
    if (round % 2 === 0) samples[0].push(await one());
    samples[1].push(await other());
    if (round % 2 === 1) samples[0].push(await one());
  }
  return samples;
}

function ratio(
  name: string,
  ours: readonly number[],
  theirs: readonly number[],
  atMost: number,
): Figure {
  const median = (samples: readonly number[]): number => figureOf("", "", samples).median;
  const value = median(ours) / median(theirs);
  return { ...againstTarget(name, "×", [value], { atMost }), runs: ours.length };
}

async function inside(
  fixture: SandboxFixture,
  argv: readonly string[],
  options: Partial<SandboxOptions> = {},
  whole = false,
): Promise<{ readonly begun: bigint; readonly stdout: string }> {
  const begun = process.hrtime.bigint();
  const tree = whole ? { workspace: root, shadow: root } : undefined;
  const spec = fixture.spec(
    argv,
    tree === undefined ? {} : { workspace: tree.workspace, cwd: tree.workspace },
  );
  const fork = tree === undefined ? spec.fork : { ...spec.fork, shadow: tree.shadow };
  const launched = { ...spec, fork, ...(whole ? { shadowReadOnly: true as const } : {}) };
  const sandbox = await sandboxes({ nativePath, ...options }).launch(launched);
  const { stdout, stderr, exitCode } = await finish(sandbox);
  if (exitCode !== 0) throw new Error(`${argv.join(" ")}: ${stderr}`);
  return { begun, stdout };
}

async function startFigures(fixture: SandboxFixture): Promise<readonly Figure[]> {
  const program = path.join(fixture.shadow, "stamp");
  writeFileSync(`${program}.c`, stamp);
  execFileSync("cc", ["-O2", "-static", "-o", program, `${program}.c`]);
  const bare = [
    "--unshare-all",
    "--ro-bind",
    "/",
    "/",
    "--proc",
    "/proc",
    "--dev",
    "/dev",
    program,
  ];
  const [ours, theirs] = await interleaved(
    rounds,
    async () => {
      const { begun, stdout } = await inside(fixture, ["./stamp"]);
      return milliseconds(begun, BigInt(stdout));
    },
    async () => {
      const begun = process.hrtime.bigint();
      const { stdout } = await promisify(execFile)("bwrap", bare);
      return milliseconds(begun, BigInt(stdout));
    },
  );
  return [
    figureOf("start to the first instruction", "ms", ours, "with the plan, from Node"),
    figureOf("bare bwrap --unshare-all to the same", "ms", theirs, "from Node"),
    ratio("start, against bare bwrap", ours, theirs, 3),
  ];
}

/** A shell that stays, and runs a program `execs` times whenever a line comes: microseconds of each. */
class ExecLoop {
  static readonly execs = 10;
  readonly #sandbox: Sandbox;
  readonly #answers: AsyncIterator<string>;

  private constructor(sandbox: Sandbox) {
    this.#sandbox = sandbox;
    this.#answers = createInterface({ input: sandbox.stdout })[Symbol.asyncIterator]();
    // A session journals what it hears of: here it is at least read.
    sandbox.onEvent(() => undefined);
  }

  static async in(fixture: SandboxFixture, options: Partial<SandboxOptions>): Promise<ExecLoop> {
    const loop = `while read -r; do begin=$EPOCHREALTIME; for i in {1..${ExecLoop.execs}}; do /bin/true; done; end=$EPOCHREALTIME; echo $((\${end/./} - \${begin/./})); done`;
    const spec = fixture.spec(["bash", "-c", loop]);
    return new ExecLoop(await sandboxes({ nativePath, ...options }).launch(spec));
  }

  async each(): Promise<number> {
    this.#sandbox.stdin.write("\n");
    const { value } = (await this.#answers.next()) as { value: string };
    return Number(value) / ExecLoop.execs;
  }

  async end(): Promise<void> {
    this.#sandbox.stdin.end();
    await this.#sandbox.exited;
  }
}

async function execFigures(fixture: SandboxFixture): Promise<readonly Figure[]> {
  const seer = await ExecLoop.in(fixture, {});
  const blind = await ExecLoop.in(fixture, { observe: false });
  // Both stay, and take turns of some milliseconds: a pair that something else falls into is far from the median of them.
  const [seen, unseen] = await interleaved(
    300,
    () => seer.each(),
    () => blind.each(),
  );
  await Promise.all([seer.end(), blind.end()]);
  const cost = seen.map((sample, index) => sample - (unseen[index] ?? NaN));
  return [
    figureOf("one exec, observed", "µs", seen, "fork, exec and wait of /bin/true"),
    figureOf("one exec, not observed", "µs", unseen),
    againstTarget("observation of one exec", "µs", cost, { atMost: 100 }, "exec and exit"),
  ];
}

async function buildFigures(fixture: SandboxFixture): Promise<readonly Figure[]> {
  const builds: readonly (readonly [name: string, command: string])[] = [
    ["a C build", `d=$(mktemp -d); make -s -C ${root}/native BUILD=$d >/dev/null; rm -rf $d`],
    [
      "a tsc build",
      `node ${root}/node_modules/typescript/bin/tsc -p ${root}/src/base --noEmit --composite false --incremental false --emitDeclarationOnly false`,
    ],
  ];
  const figures: Figure[] = [];
  for (const [name, command] of builds) {
    const [ours, outside] = await interleaved(
      3,
      async () => {
        const timed = `s=$EPOCHREALTIME; ${command}; e=$EPOCHREALTIME; echo $((\${e/./}-\${s/./}))`;
        return Number((await inside(fixture, ["bash", "-c", timed], {}, true)).stdout) / 1000;
      },
      async () => {
        const begun = process.hrtime.bigint();
        await promisify(execFile)("bash", ["-c", command]);
        return milliseconds(begun, process.hrtime.bigint());
      },
    );
    figures.push(
      figureOf(`${name} inside`, "ms", ours),
      figureOf(`${name} outside`, "ms", outside),
    );
    figures.push(ratio(`${name}, inside against outside`, ours, outside, 1.08));
  }
  return figures;
}

async function hookFigures(fixture: SandboxFixture): Promise<readonly Figure[]> {
  const calls = 100;
  const server = createServer((socket) => socket.on("error", () => socket.destroy()).resume());
  await new Promise<void>((resolve) =>
    server.listen(path.join(fixture.door, "agent.sock"), resolve),
  );
  const loop = `begin=$EPOCHREALTIME; for i in {1..${calls}}; do /run/holdfast-native hook <<< '{"hook_event_name":"PreToolUse"}'; done; end=$EPOCHREALTIME; echo $((\${end/./}-\${begin/./}))`;
  const samples: number[] = [];
  for (let round = 0; round < 3; round++) {
    samples.push(Number((await inside(fixture, ["bash", "-c", loop])).stdout) / calls / 1000);
  }
  server.close();
  const note = "with fork, exec and observation";
  return [againstTarget("one hook call", "ms", samples, { atMost: 5 }, note)];
}

/** What isolation and observation cost, beside what they are compared to, in the same run. */
export const bench: Bench = {
  title: "Sandbox",
  unavailable: () => (existsSync(nativePath) ? undefined : "`npm run build` has not run"),
  run: async () => {
    const fixture = makeSandboxFixture();
    try {
      return [
        ...(await startFigures(fixture)),
        ...(await execFigures(fixture)),
        ...(await hookFigures(fixture)),
        ...(await buildFigures(fixture)),
      ];
    } finally {
      fixture.remove();
    }
  },
};
