import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import {
  againstTarget,
  figureOf,
  packageVersion,
  type Bench,
  type Figure,
} from "../support/bench.ts";
import { layeredProject, zodProject, type BenchProject } from "../support/checkBenchProjects.ts";
import { CheckFork } from "../support/checkFork.ts";
import { checkInstallation, installCompiler } from "../support/checkInstallation.ts";
import { CheckRun } from "../support/checkRun.ts";

const rounds = Number(process.env["BENCH_ROUNDS"] ?? 3);

/** Measure only what has this in its name. */
const only = process.env["BENCH_ONLY"] ?? "";

const compilers = [
  { major: 5, name: "typescript" },
  { major: 6, name: "typescript6" },
  { major: 7, name: "typescript7" },
] as const;

type Compiler = (typeof compilers)[number];

/** TypeScript 7's early answer. */
const soon = { atMost: 100 };

/** Milliseconds of the project's own compiler over the shadow, cold or by its own incremental build. */
function own(fork: CheckFork, incremental: boolean): number {
  const state = ["--incremental", "--tsBuildInfoFile", join(fork.root, "own.tsbuildinfo")];
  const how = ["--noEmit", "-p", ".", ...(incremental ? state : [])];
  const begun = performance.now();
  spawnSync(process.execPath, ["node_modules/typescript/bin/tsc", ...how], { cwd: fork.shadow });
  return performance.now() - begun;
}

/** The delta as a reviewer gets it, base ready, beside the project's own compiler, in turns. */
async function measure(
  project: BenchProject,
  compiler: Compiler,
  installation: string,
): Promise<readonly Figure[]> {
  const fork = new CheckFork(project.tree, (workspace) =>
    installCompiler(compiler.name, join(workspace, "node_modules/typescript")),
  );
  await using run = new CheckRun(fork, installation, { timeoutMs: 600_000 });
  const name = `TypeScript ${compiler.major}, ${project.name}`;
  const begun = performance.now();
  await run.next();
  const figures = [figureOf(`${name}: base from nothing`, "ms", [performance.now() - begun])];
  if (compiler.major === 7) own(fork, true);
  for (const edit of project.edits) {
    const [delta, cold, warm, early]: [number[], number[], number[], number[]] = [[], [], [], []];
    for (let round = 1; round <= rounds; round++) {
      fork.write({ [edit.path]: edit.text(round) });
      const changed = fork.changed();
      const start = performance.now();
      const result = await run.next(changed);
      delta.push(performance.now() - start);
      if (run.early !== undefined) early.push(run.earlyAt - start);
      if (result.status !== "passed") throw new Error(`${name}: ${JSON.stringify(result)}`);
      cold.push(own(fork, false));
      if (compiler.major === 7) warm.push(own(fork, true));
    }
    const what = `${name}: ${edit.name}`;
    const ratios = delta.map((ours, at) => ours / (cold[at] ?? NaN));
    const wide = edit.name === "the hub's types";
    figures.push(figureOf(`${what}, cold tsc`, "ms", cold));
    if (compiler.major === 7) {
      const against = delta.map((ours, at) => ours / (warm[at] ?? NaN));
      figures.push(figureOf(`${what}, delta`, "ms", delta));
      figures.push(
        againstTarget(`${what}, delta / tsc --incremental`, "×", against, { atMost: 1 }),
      );
      if (early.length > 0)
        figures.push(againstTarget(`${what}, edited file, provisional`, "ms", early, soon));
      continue;
    }
    const ofCold = `${what}, delta / cold tsc`;
    figures.push(
      wide
        ? figureOf(`${what}, delta`, "ms", delta)
        : againstTarget(`${what}, delta`, "ms", delta, { atMost: 300 }),
      againstTarget(ofCold, "×", ratios, { atMost: wide ? 0.8 : 0.05 }),
    );
  }
  return figures;
}

/** `npm run bench:check`: `BENCH_ROUNDS` sets how often each edit is made, `BENCH_ONLY` which projects. */
export const bench: Bench = {
  title: "Checks beside the project's own compiler",
  peers: () =>
    Object.fromEntries(
      compilers.map(({ major, name }) => [`TypeScript ${major}:`, packageVersion(name)]),
    ),
  async run() {
    const installation = await checkInstallation();
    try {
      const projects = [layeredProject(450), zodProject()].filter((one) => one !== undefined);
      const figures: Figure[] = [];
      for (const project of projects) {
        for (const compiler of compilers) {
          if (!`TypeScript ${compiler.major}, ${project.name}`.includes(only)) continue;
          const measured = await measure(project, compiler, installation.directory);
          for (const { name, median, unit } of measured) {
            process.stderr.write(`  ${name}: ${median.toFixed(2)} ${unit}\n`);
          }
          figures.push(...measured);
        }
      }
      return figures;
    } finally {
      installation.remove();
    }
  },
};
