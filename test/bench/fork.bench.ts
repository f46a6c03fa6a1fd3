import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { performance } from "node:perf_hooks";
import { setTimeout } from "node:timers/promises";
import type { BackendName } from "../../src/core/journal/entry.ts";
import { makeSpare } from "../../src/node/fork/spare.ts";
import { savepoints } from "../../src/node/fork/savepoints.ts";
import { figureOf, type Bench, type Figure } from "../support/bench.ts";
import { ForkFixture, type ForkedFixture } from "../support/forkFixture.ts";
import { LoopFilesystem } from "../support/loopFilesystem.ts";

const rounds = 3;

/** Files of the trees: `HOLDFAST_BENCH_FILES=5000,60000,250000` for the whole table. */
const sizes = (process.env["HOLDFAST_BENCH_FILES"] ?? "5000").split(",").map(Number);

/** Nine files in ten are ignored, as in a project with its packages installed. */
function makeTree(fixture: ForkFixture, files: number): void {
  execFileSync("git", ["init", "-q"], { cwd: fixture.workspace });
  fixture.write(".gitignore", "node_modules/\n");
  for (let i = 0; i < files; i += 20) {
    const directory = path.join(fixture.workspace, i % 200 === 0 ? "src" : "node_modules", `p${i}`);
    mkdirSync(directory, { recursive: true });
    for (let j = 0; j < 20; j++)
      writeFileSync(path.join(directory, `f${j}.js`), `// ${i} ${j}\n`.repeat(1 + ((i * j) % 700)));
  }
}

async function milliseconds(work: () => unknown): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}

function usedMegabytes(directory: string): number {
  execFileSync("sync", ["-f", directory]);
  const line = execFileSync("df", ["--output=used", "-B1", directory], { encoding: "utf8" });
  return Number(line.split("\n")[1]) / 1e6;
}

/** Samples of one backend, by what they measure. */
class Samples {
  readonly #byName = new Map<string, number[]>();

  add(name: string, value: number): void {
    this.#byName.set(name, [...(this.#byName.get(name) ?? []), value]);
  }

  figures(where: string, files: number): Figure[] {
    return [...this.#byName].map(([name, samples]) => {
      const unit = name.includes("disk") ? "MB" : name.includes("cp -a") ? "ratio" : "ms";
      return figureOf(`${where}: ${name}`, unit, samples, `${files} files`);
    });
  }
}

async function cloneByCp(fixture: ForkFixture): Promise<number> {
  const copy = path.join(fixture.root, "copy");
  const args = ["-a", "--reflink=auto", fixture.workspace, copy];
  const time = await milliseconds(() => execFileSync("cp", args));
  rmSync(copy, { recursive: true });
  return time;
}

async function measure(
  fixture: ForkFixture,
  backend: BackendName,
  cp: number,
  samples: Samples,
): Promise<void> {
  // As for a workspace that was never forked.
  rmSync(path.join(fixture.home, "listings"), { recursive: true, force: true });
  const before = usedMegabytes(fixture.root);
  const begun = performance.now();
  const forked = await fixture.fork(backend);
  const fork = performance.now() - begun;
  samples.add("fork", fork);
  samples.add("fork / cp -a --reflink=auto", fork / cp);
  samples.add("disk used", usedMegabytes(fixture.root) - before);
  const target = forked.fork.overlays.find(({ at }) => at === ".")?.upper ?? forked.fork.shadow;
  const edit = (count: number, text: string): void => {
    for (let i = 0; i < count; i++) writeFileSync(path.join(target, `edit-${i}.txt`), text);
  };
  edit(20, "edited\n");
  samples.add("change set of 20 edits", await milliseconds(() => forked.changes()));
  const port = savepoints({ nativePath: fixture.nativePath });
  const take = (): Promise<unknown> =>
    port.take(forked.fork, fixture.workspace, forked.paths, { at: "now" });
  await take();
  edit(3, "again\n");
  samples.add("savepoint of 3 edits", await milliseconds(take));
  await forked.remove();
  if (backend === "overlay" || backend === "snapshot")
    await measureListed(fixture, backend, samples);
  if (backend === "clone") await measureSpare(fixture, forked, samples);
}

/** The start of a further transaction in a workspace that rests for a minute between its listings. */
async function measureListed(
  fixture: ForkFixture,
  backend: BackendName,
  samples: Samples,
): Promise<void> {
  const settledMs = statSync(fixture.workspace).ctimeMs + 61_000;
  if (Date.now() < settledMs) {
    await setTimeout(settledMs - Date.now());
    await (await fixture.fork(backend)).remove();
  }
  const begun = performance.now();
  const forked = await fixture.fork(backend);
  samples.add("fork, listed before", performance.now() - begun);
  await forked.remove();
}

/** The start of the transaction after that one. */
async function measureSpare(
  fixture: ForkFixture,
  { fork, paths }: ForkedFixture,
  samples: Samples,
): Promise<void> {
  const { nativePath, workspace } = fixture;
  const { signal } = new AbortController();
  // Worth it at any size, so that all sizes are measured.
  const last = { ...fork, files: Math.max(fork.files, 100_000) };
  if (!(await makeSpare({ nativePath, workspace, paths, last, signal })))
    throw new Error("no spare was made");
  const begun = performance.now();
  const next = await fixture.fork("clone");
  samples.add("fork with a spare", performance.now() - begun);
  if (next.fork.spare !== true) throw new Error("the spare was not taken");
  await next.remove();
}

async function figuresOn(
  name: string,
  parent: string | undefined,
  files: number,
  backends: readonly BackendName[],
): Promise<Figure[]> {
  using fixture = new ForkFixture(parent);
  if (backends.includes("snapshot")) {
    rmSync(fixture.workspace, { recursive: true });
    execFileSync(fixture.nativePath, ["subvolume", "create", fixture.workspace]);
  }
  makeTree(fixture, files);
  mkdirSync(path.join(fixture.workspace, "made-last"));
  const found = new Map(backends.map((backend) => [backend, new Samples()]));
  for (let round = 0; round < rounds; round++) {
    const cp = await cloneByCp(fixture);
    for (const [backend, samples] of found) await measure(fixture, backend, cp, samples);
  }
  const where = sizes.length > 1 ? `${name}, ${files} files` : name;
  return [...found].flatMap(([backend, samples]) => samples.figures(`${backend}, ${where}`, files));
}

/** What a fork costs, against `cp -a --reflink=auto` of the same tree in the same round. */
export const bench: Bench = {
  title: "Forks",
  run: async () => {
    const figures: Figure[] = [];
    for (const files of sizes) {
      figures.push(...(await figuresOn("here", undefined, files, ["clone", "overlay", "copy"])));
      for (const kind of ["xfs", "btrfs"] as const) {
        if (!LoopFilesystem.possible(kind)) continue;
        using filesystem = new LoopFilesystem(kind);
        const backends: BackendName[] = kind === "btrfs" ? ["snapshot", "clone"] : ["clone"];
        figures.push(...(await figuresOn(kind, filesystem.point, files, backends)));
      }
    }
    return figures;
  },
};
