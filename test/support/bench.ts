import { performance } from "node:perf_hooks";
import { readRepositoryFile } from "./repository.ts";

/** One figure: what was measured, over how many runs, and how far they were apart. */
export interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly median: number;
  readonly min: number;
  readonly max: number;
  readonly runs: number;
  /** What a reader must know to read the number: size of the input, filesystem. */
  readonly note?: string;
  /** What was promised of it before it was measured, and whether its median keeps that. */
  readonly target?: Target;
  readonly met?: boolean;
}

/** What a figure is wanted to be: at most, or at least, in its unit. */
export type Target = { readonly atMost: number } | { readonly atLeast: number };

/** One group of figures. A file `test/bench/NAME.bench.ts` exports one as `bench`; `npm run bench` finds it by that. */
export interface Bench {
  readonly title: string;
  /** What it measures us beside, and in which version, when it is not the machine's own. */
  peers?(): Readonly<Record<string, string>>;
  /** Why the bench cannot run here, when it cannot. */
  unavailable?(): string | undefined;
  run(): Promise<readonly Figure[]>;
}

/** Version of a package that the benches measure us beside. */
export function packageVersion(name: string): string {
  const { version } = JSON.parse(readRepositoryFile(`node_modules/${name}/package.json`)) as {
    version: string;
  };
  return version;
}

/** Sums up samples of one quantity. */
export function figureOf(
  name: string,
  unit: string,
  samples: readonly number[],
  note?: string,
): Figure {
  const sorted = [...samples].sort((a, b) => a - b);
  const at = (index: number): number => sorted[index] ?? NaN;
  const middle = Math.floor(sorted.length / 2);
  const median = sorted.length % 2 === 1 ? at(middle) : (at(middle - 1) + at(middle)) / 2;
  const runs = sorted.length;
  const figure = { name, unit, median, min: at(0), max: at(runs - 1), runs };
  return note === undefined ? figure : { ...figure, note };
}

/** Milliseconds that `work` takes, measured `runs` times after one run that does not count. */
export async function timed(
  name: string,
  runs: number,
  work: (run: number) => unknown,
  note?: string,
): Promise<Figure> {
  await work(-1);
  const samples: number[] = [];
  for (let run = 0; run < runs; run++) {
    const begun = performance.now();
    await work(run);
    samples.push(performance.now() - begun);
  }
  return figureOf(name, "ms", samples, note);
}

/** A figure beside its target; its median decides whether the target is met. */
export function againstTarget(
  name: string,
  unit: string,
  samples: readonly number[],
  target: Target,
  note?: string,
): Figure {
  return judged(figureOf(name, unit, samples, note), target);
}

export function judged(figure: Figure, target: Target): Figure {
  const { median } = figure;
  const met = "atMost" in target ? median <= target.atMost : median >= target.atLeast;
  return { ...figure, target, met };
}
