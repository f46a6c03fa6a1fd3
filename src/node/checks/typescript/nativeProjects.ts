import { createHash } from "node:crypto";
import { copyFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { PairAnswer, SideAnswer } from "../../../core/check/answers.ts";
import { CheckFailure } from "../checkFailure.ts";
import type { CheckContext } from "../checker.ts";
import { runCommand, type CommandOutput } from "../commandRun.ts";
import { stableBase } from "../stableBase.ts";
import { workerPlaces, type NativeProject } from "../workerProtocol.ts";
import { doubtfulFiles, parseCompilerOutput, sideAnswer } from "./nativeOutput.ts";
import type { View } from "./viewFiles.ts";

/** What one run of the native compiler covers: one project, or all that hang together by references. */
interface Unit {
  readonly key: string;
  readonly program: string;
  readonly version: string;
  /** Relative to the workspace; more than one only when `build`. */
  readonly configs: readonly string[];
  readonly build: boolean;
}

/** What the change set is made of, for telling whether an answer still holds. */
export interface NativeInputs {
  readonly unchanged: boolean;
  /** Names the content of all changed files. */
  readonly all: string;
  /** Names the content of those that reach beyond their importers. */
  readonly global: string;
}

/** Says which of these files do not parse on a side. */
export type BrokenFiles = (view: View, paths: readonly string[]) => Promise<ReadonlySet<string>>;

/**
 * Projects of TypeScript 7: its own program with its own incremental build, whose state is kept outside the workspace. A
 * unit's shadow run starts from what its base run left. Version 7.0's incremental build misses what a changed script or augmentation
 * does to files that do not import it, so then it starts anew. Projects with references are built in memory that is
 * thrown away, because the compiler reads references through the output that it writes.
 */
export class NativeProjects {
  readonly #name: string;
  readonly #bases = new Map<string, SideAnswer>();
  readonly #last = new Map<string, { readonly inputs: string; readonly answer: SideAnswer }>();
  readonly #global = new Map<string, string>();

  /** `name`: the checker's, whose scratch directory is used. */
  constructor(name: string) {
    this.#name = name;
  }

  async run(
    context: CheckContext,
    projects: readonly NativeProject[],
    inputs: NativeInputs,
    brokenFiles: BrokenFiles,
  ): Promise<readonly PairAnswer[]> {
    const pairs: PairAnswer[] = [];
    for (const unit of unitsOf(projects)) {
      let base = this.#bases.get(unit.key);
      if (base === undefined) {
        base = await this.#base(context, unit, brokenFiles);
        this.#bases.set(unit.key, base);
      }
      const shadow = inputs.unchanged
        ? base
        : await this.#shadow(context, unit, inputs, brokenFiles);
      pairs.push({ base, shadow });
    }
    return pairs;
  }

  /** The answer for the base of a project that is compiled alone; undefined while there is none. */
  baseOf(project: NativeProject): SideAnswer | undefined {
    const [unit] = unitsOf([project]);
    return unit === undefined || unit.build ? undefined : this.#bases.get(unit.key);
  }

  async #base(context: CheckContext, unit: Unit, brokenFiles: BrokenFiles): Promise<SideAnswer> {
    const concerns = ({ path }: { readonly path: string }): boolean =>
      /\.(?:[cm]?[jt]sx?|json)$/.test(path);
    const output = await stableBase(context, concerns, async (absent, plain) => {
      await rm(this.#state(context, unit, "base"), { force: true });
      return this.#compile(context, unit, plain ? "shadow" : "base", "base", absent);
    });
    const state = this.#state(context, unit, "shadow");
    await rm(state, { force: true });
    await copyFile(this.#state(context, unit, "base"), state).catch(ignoreMissing);
    this.#global.set(unit.key, "");
    return this.#judge(context, unit, output, (paths) => brokenFiles("base", paths));
  }

  async #shadow(
    context: CheckContext,
    unit: Unit,
    inputs: NativeInputs,
    brokenFiles: BrokenFiles,
  ): Promise<SideAnswer> {
    const last = this.#last.get(unit.key);
    if (last?.inputs === inputs.all) return last.answer;
    if (this.#global.get(unit.key) !== inputs.global) {
      await rm(this.#state(context, unit, "shadow"), { force: true });
      this.#global.set(unit.key, inputs.global);
    }
    const output = await this.#compile(context, unit, "shadow", "shadow", []);
    const answer = await this.#judge(context, unit, output, (paths) =>
      brokenFiles("shadow", paths),
    );
    this.#last.set(unit.key, { inputs: inputs.all, answer });
    return answer;
  }

  async #judge(
    context: CheckContext,
    unit: Unit,
    output: CommandOutput,
    brokenFiles: (paths: readonly string[]) => Promise<ReadonlySet<string>>,
  ): Promise<SideAnswer> {
    const config = unit.configs[0] ?? "tsconfig.json";
    const diagnostics = parseCompilerOutput(output.stdout, context.workspace, config);
    const doubtful = doubtfulFiles(diagnostics);
    const broken = doubtful.length === 0 ? new Set<string>() : await brokenFiles(doubtful);
    return sideAnswer(diagnostics, config, broken);
  }

  async #compile(
    context: CheckContext,
    unit: Unit,
    view: View,
    state: View,
    absent: readonly string[],
  ): Promise<CommandOutput> {
    const { workspace } = context;
    const paths = unit.configs.map((config) => join(workspace, config));
    const buildInfo = join(workerPlaces.scratch, stateName(unit, state));
    const how = unit.build
      ? ["-b", ...paths]
      : ["--noEmit", "-p", ...paths, "--incremental", "--tsBuildInfoFile", buildInfo];
    const output = await runCommand(context, this.#name, view, absent, {
      argv: [unit.program, ...how, "--pretty", "false"],
      cwd: workspace,
      writes: unit.build ? "discarded" : "refused",
    });
    if (output.exitCode <= 2) return output;
    const last = (output.stderr || output.stdout).trim().split("\n").slice(-3).join(" ");
    const what = `TypeScript ${unit.version} ended (${output.exitCode})`;
    throw new CheckFailure("crashed", `${what}: ${last}`);
  }

  #state(context: CheckContext, unit: Unit, view: View): string {
    return join(context.paths.state, "checks", this.#name, "scratch", stateName(unit, view));
  }
}

/** Projects without references run alone; the others run together, from those that nothing references. */
function unitsOf(projects: readonly NativeProject[]): readonly Unit[] {
  const units: Unit[] = [];
  const builds = new Map<string, NativeProject[]>();
  for (const project of projects) {
    const { program, version, config } = project;
    const compiler = `${program} ${version}`;
    if (project.references && !project.referenced) {
      builds.set(compiler, [...(builds.get(compiler) ?? []), project]);
    } else if (!project.referenced) {
      const key = `${compiler} ${config}`;
      units.push({ key, program, version, configs: [config], build: false });
    }
  }
  for (const [compiler, members] of builds) {
    const configs = members.map((member) => member.config).sort();
    const [first] = members;
    if (first === undefined) continue;
    const { program, version } = first;
    units.push({
      key: `${compiler} -b ${configs.join(" ")}`,
      program,
      version,
      configs,
      build: true,
    });
  }
  return units;
}

function stateName(unit: Unit, view: View): string {
  const name = createHash("sha256").update(unit.key).digest("hex").slice(0, 16);
  return `${name}.${view}.tsbuildinfo`;
}

function ignoreMissing(error: unknown): void {
  if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
}
