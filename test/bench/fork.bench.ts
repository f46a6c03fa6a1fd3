import { execFile, execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { performance } from "node:perf_hooks";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";
import type { BackendName } from "../../src/core/journal/entry.ts";
import { makeSpare } from "../../src/node/fork/spare.ts";
import { savepoints } from "../../src/node/fork/savepoints.ts";
import { figureOf, type Bench, type Figure } from "../support/bench.ts";
import { BenchTree, makeGrounds, type Ground, type Ignored } from "../support/forkBenchTree.ts";
import type { ForkedFixture, ForkFixture } from "../support/forkFixture.ts";

const run = promisify(execFile);

/** Files of the trees: `HOLDFAST_BENCH_FILES=5000,60000,250000` for the whole table. */
const sizes = (process.env["HOLDFAST_BENCH_FILES"] ?? "5000").split(",").map(Number);

/** Rounds of a tree; what copies every byte, or every file, is measured once where a round takes long. */
function roundsOf({ files, ignored }: BenchTree): number {
  if (files <= 10_000) return 3;
  return ignored === 0 ? 1 : 2;
}

/** A listing trusts what has been left alone for a minute: native/src/cloneList.c. */
const settlingMs = 61_000;

const begun = performance.now();

function tell(what: string): void {
  const seconds = ((performance.now() - begun) / 1000).toFixed(0);
  process.stderr.write(`bench: fork: ${seconds} s: ${what}\n`);
}

async function milliseconds(work: () => unknown): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

function usedMegabytes(directory: string): number {
  execFileSync("sync", ["-f", directory]);
  const line = execFileSync("df", ["--output=used", "-B1", directory], { encoding: "utf8" });
  return Number(line.split("\n")[1]) / 1e6;
}

/** Samples of one backend on one tree, by what they measure. */
class Samples {
  readonly #byName = new Map<string, number[]>();
  readonly #of: string;
  readonly #note: string;

  constructor(backend: BackendName, ground: Ground, files: number, ignored: Ignored) {
    const where = sizes.length > 1 ? `${ground.name}, ${files} files` : ground.name;
    this.#of = `${backend}, ${where}${ignored === 0 ? ", nothing ignored" : ""}`;
    this.#note = `${files} files`;
  }

  add(name: string, value: number): void {
    this.#byName.set(name, [...(this.#byName.get(name) ?? []), value]);
  }

  figures(): Figure[] {
    return [...this.#byName].map(([name, samples]) => {
      const unit = name.includes("disk") ? "MB" : name.includes("cp -a") ? "ratio" : "ms";
      return figureOf(`${this.#of}: ${name}`, unit, samples, this.#note);
    });
  }
}

/** A tree with what is measured on it. */
interface Measured {
  readonly ground: Ground;
  readonly tree: BenchTree;
  readonly samples: ReadonlyMap<BackendName, Samples>;
  /** Milliseconds that `cp -a --reflink=auto` took, where it was measured last. */
  cp: number;
}

/** As many new files as a few packages bring, where they would be installed. */
const installed = 2000;

function install({ fork }: ForkedFixture): void {
  const heavy = fork.overlays.find(({ at }) => at === "node_modules")?.upper;
  const whole = fork.overlays.find(({ at }) => at === ".")?.upper ?? fork.shadow;
  const modules = heavy ?? path.join(whole, "node_modules");
  for (let i = 0; i < installed; i += 10) {
    const directory = path.join(modules, `installed-${i}`, "lib");
    mkdirSync(directory, { recursive: true });
    for (let j = 0; j < 10; j++)
      writeFileSync(path.join(directory, `${j}.js`), `// ${i} ${j}\n`.repeat(1 + ((i * j) % 500)));
  }
}

/** The copy stays: what was just deleted makes the next one slow on some filesystems. */
async function cloneByCp({ root, workspace }: ForkFixture, round: number): Promise<number> {
  const args = ["-a", "--reflink=auto", workspace, path.join(root, `copy-${round}`)];
  return milliseconds(() => run("cp", args));
}

async function measure(one: Measured, backend: BackendName, samples: Samples): Promise<void> {
  const { fixture } = one.tree;
  // As for a workspace that was never forked.
  rmSync(path.join(fixture.home, "listings"), { recursive: true, force: true });
  const before = usedMegabytes(fixture.root);
  const started = performance.now();
  const forked = await fixture.fork(backend);
  const fork = performance.now() - started;
  samples.add("fork", fork);
  samples.add("fork / cp -a --reflink=auto", fork / one.cp);
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
  install(forked);
  samples.add(`first savepoint after an install of ${installed} files`, await milliseconds(take));
  await forked.remove();
  if (backend === "clone") await measureSpare(fixture, forked, samples);
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
  const started = performance.now();
  const next = await fixture.fork("clone");
  samples.add("fork with a spare", performance.now() - started);
  if (next.fork.spare !== true) throw new Error("the spare was not taken");
  await next.remove();
}

/** The start of further transactions in a workspace that had rested for a minute before it was listed. */
async function measureListed(one: Measured): Promise<void> {
  for (const [backend, samples] of one.samples) {
    if (backend !== "overlay" && backend !== "snapshot") continue;
    await (await one.tree.fixture.fork(backend)).remove();
    for (let round = 0; round < 3; round++) {
      const started = performance.now();
      const forked = await one.tree.fixture.fork(backend);
      samples.add("fork, listed before", performance.now() - started);
      await forked.remove();
    }
  }
}

async function measureRounds(one: Measured): Promise<void> {
  const rounds = roundsOf(one.tree);
  for (let round = 0; round < rounds; round++) {
    if (round === 0 || rounds > 2) one.cp = await cloneByCp(one.tree.fixture, round);
    for (const [backend, samples] of one.samples)
      if (round === 0 || rounds > 2 || backend !== "copy") await measure(one, backend, samples);
  }
}

function makeTree(ground: Ground, files: number, ignored: Ignored): Measured {
  tell(`a tree of ${files} files on ${ground.name}${ignored === 0 ? ", nothing ignored" : ""}`);
  const tree = new BenchTree(ground, files, ignored);
  const backends = ground.backends.filter((one) => ignored > 0 || one !== "copy");
  const samples = backends.map(
    (backend) => [backend, new Samples(backend, ground, files, ignored)] as const,
  );
  return { ground, tree, samples: new Map(samples), cp: NaN };
}

/** Where nothing is ignored every file is cloned and read: trees of up to 60,000 files. */
function makeTrees(grounds: readonly Ground[]): Measured[] {
  return sizes.flatMap((files) =>
    ([18, 0] as const)
      .filter((ignored) => ignored > 0 || files <= 60_000)
      .flatMap((ignored) => grounds.map((ground) => makeTree(ground, files, ignored))),
  );
}

async function measureAll(grounds: readonly Ground[]): Promise<Figure[]> {
  const all = makeTrees(grounds);
  for (const one of all) {
    tell(`rounds with ${one.tree.files} files on ${one.ground.name}`);
    await measureRounds(one);
  }
  const restMs = Math.max(...all.map(({ tree }) => tree.madeMs)) + settlingMs - Date.now();
  tell(`workspaces that have rested (for another ${Math.max(0, Math.round(restMs / 1000))} s)`);
  await setTimeout(Math.max(0, restMs));
  for (const one of all) await measureListed(one);
  tell("done");
  return all.flatMap(({ samples }) => [...samples.values()].flatMap((one) => one.figures()));
}

/**
 * What a fork costs, against `cp -a --reflink=auto` of the same tree. Nine files in ten are ignored, as in a project with its
 * packages installed, or none.
 */
export const bench: Bench = {
  title: "Forks",
  run: async () => {
    const grounds = makeGrounds();
    try {
      return await measureAll(grounds);
    } finally {
      for (const ground of grounds) ground[Symbol.dispose]();
    }
  },
};
