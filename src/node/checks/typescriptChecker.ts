import { join } from "node:path";
import type { PairAnswer } from "../../core/check/answers.ts";
import { CheckFailure } from "./checkFailure.ts";
import type { CheckContext, Checker, CheckerAnswer } from "./checker.ts";
import type { Shown } from "./checkSandbox.ts";
import { inputStamps } from "./inputStamps.ts";
import { nodeDirectory } from "./programs.ts";
import {
  NativeProjects,
  type BrokenFiles,
  type NativeInputs,
} from "./typescript/nativeProjects.ts";
import { BaseCache, baseKey, type KnownBase } from "./typescript/baseCache.ts";
import { ProvisionalAnswers, type ProvisionalRequest } from "./typescript/provisionalAnswers.ts";
import { WorkerProcess, type WorkerOutcome } from "./workerProcess.ts";
import { workerPlaces, type WorkerAnswer, type WorkerRequest } from "./workerProtocol.ts";

export interface TypescriptOptions {
  /** The built program's directory: checkWorker.cjs and typescript/lib/typescript.js are in it. */
  readonly installation: string;
}

/**
 * The TypeScript check. One worker in the sandbox keeps every project warm over the generations; when it runs out of memory
 * a new one checks one project at a time and keeps nothing, which is slower and as right.
 */
export class TypescriptChecker implements Checker {
  readonly name = "typescript";
  readonly #options: TypescriptOptions;
  readonly #bases = new Map<string, KnownBase>();
  #cache: BaseCache | undefined;
  readonly #native = new NativeProjects("typescript");
  readonly #provisional = new ProvisionalAnswers();
  #worker: WorkerProcess | undefined;
  #mode: "warm" | "cold" = "warm";
  #mounted = "";
  #nextId = 1;

  constructor(options: TypescriptOptions) {
    this.#options = options;
  }

  concerns(path: string): boolean {
    return /\.(?:[cm]?[jt]sx?|json|jsonc)$|(?:^|\/)pnpm-workspace\.yaml$/.test(path);
  }

  async run(context: CheckContext): Promise<CheckerAnswer> {
    const changed = await context.base.inputs(context.changed, (path) => this.concerns(path));
    const key = baseKey(context, this.#options.installation);
    await this.#recall(context, key);
    let answer = await this.#ask(context, { changed });
    if (this.#forgetOthers(answer)) answer = await this.#ask(context, { changed });
    const pairs = await this.#pairs(context, key, answer);
    if (answer.native.length > 0) {
      const inputs: NativeInputs = {
        unchanged: changed.length === 0,
        all: await inputStamps(context, changed),
        global: answer.globalInputs,
      };
      const broken: BrokenFiles = async (view, paths) => {
        const parsed = await this.#ask(context, { changed, parse: { view, paths } });
        return new Set(parsed.broken);
      };
      const request: ProvisionalRequest = {
        projects: answer.native,
        changed,
        mounts: mountedState(context),
        base: (project) => this.#native.baseOf(project),
      };
      const early = this.#tellEarly(context, request);
      pairs.push(...(await this.#native.run(context, answer.native, inputs, broken)));
      void early.then(() => this.#provisional.warm(context, request));
    }
    return { pairs, notes: answer.notes };
  }

  /** Takes the base answers of an earlier process of this transaction, once. */
  async #recall(context: CheckContext, key: string): Promise<void> {
    if (this.#cache !== undefined) return;
    this.#cache = new BaseCache(join(context.paths.state, "checks", this.name, "bases.json"));
    for (const [config, known] of await this.#cache.load(key)) this.#bases.set(config, known);
  }

  /** Forgets bases that another compiler answered than the one that checks the shadow; says whether there were any. */
  #forgetOthers({ projects }: WorkerAnswer): boolean {
    const others = projects.filter(({ config, compiler }) => {
      const known = this.#bases.get(config);
      return known !== undefined && known.compiler !== compiler;
    });
    for (const { config } of others) this.#bases.delete(config);
    return others.length > 0;
  }

  async #pairs(
    context: CheckContext,
    key: string,
    { projects }: WorkerAnswer,
  ): Promise<PairAnswer[]> {
    const before = this.#bases.size;
    const pairs = projects.map(({ config, compiler, base, baseFinal, shadow }): PairAnswer => {
      const answer = base ?? this.#bases.get(config)?.answer;
      if (answer === undefined) throw new CheckFailure("crashed", "the worker left out a base");
      if (baseFinal) this.#bases.set(config, { compiler, answer });
      return { base: answer, shadow };
    });
    // Packages that were replaced meanwhile may have been read by one base and not by another.
    const same = baseKey(context, this.#options.installation) === key;
    if (this.#bases.size > before && same) await this.#cache?.save(key, this.#bases);
    return pairs;
  }

  /** Not waited for: the whole answer comes when it comes. */
  async #tellEarly(context: CheckContext, request: ProvisionalRequest): Promise<void> {
    if (request.changed.length === 0 || context.onProvisional === undefined) return;
    const early = await this.#provisional.answer(context, request);
    if (early !== undefined) await context.onProvisional(early);
  }

  async close(): Promise<void> {
    await this.#provisional.close();
    await this.#closeWorker();
  }

  async #closeWorker(): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.end();
  }

  async #ask(
    context: CheckContext,
    request: Pick<WorkerRequest, "changed" | "parse">,
  ): Promise<WorkerAnswer> {
    for (let attempt = 0; attempt < 3; attempt++) {
      if (context.signal.aborted) throw failureOf({ type: "stopped" }, context);
      const worker = await this.#workerFor(context);
      const id = this.#nextId++;
      const knownBase = [...this.#bases.keys()];
      const outcome = await worker.ask({ id, knownBase, ...request }, context);
      if (outcome.type === "answer") return outcome.answer;
      this.#worker = undefined;
      if (outcome.type === "replaced") this.#bases.clear();
      else if (outcome.type === "outOfMemory" && this.#mode === "warm") this.#mode = "cold";
      else throw failureOf(outcome, context);
    }
    throw new CheckFailure("crashed", "the compiler was replaced again and again");
  }

  /** The running worker, or a new one when there is none or its mounts are out of date. */
  async #workerFor(context: CheckContext): Promise<WorkerProcess> {
    const mounts = mountedState(context);
    if (this.#worker !== undefined && this.#mounted !== mounts) await this.#closeWorker();
    this.#mounted = mounts;
    this.#worker ??= await this.#start(context);
    return this.#worker;
  }

  async #start(context: CheckContext): Promise<WorkerProcess> {
    const { workspace, limits } = context;
    const node = nodeDirectory();
    const shown: Shown[] = [{ from: this.#options.installation, to: workerPlaces.program }];
    if (node !== undefined) shown.push({ from: node, to: node });
    const bundled = join(workerPlaces.program, "typescript/lib/typescript.js");
    const worker = join(workerPlaces.program, "checkWorker.cjs");
    const process_ = await context.sandbox.launch({
      workspace,
      fork: context.fork,
      view: "shadow",
      baseContent: context.base.directory,
      absentInBase: [],
      writes: "refused",
      argv: [
        process.execPath,
        `--max-old-space-size=${limits.memoryMb}`,
        worker,
        workspace,
        workerPlaces.base,
        bundled,
        this.#mode,
      ],
      env: { ELECTRON_RUN_AS_NODE: "1" },
      cwd: workspace,
      shown,
      scratch: join(context.paths.state, "checks", this.name, "scratch"),
      memoryMb: limits.memoryMb,
    });
    return new WorkerProcess(process_);
  }
}

function failureOf(outcome: WorkerOutcome, context: CheckContext): CheckFailure {
  switch (outcome.type) {
    case "timedOut": {
      const seconds = Math.round(context.limits.timeoutMs / 1000);
      return new CheckFailure("timedOut", `no answer within ${seconds} s`);
    }
    case "outOfMemory": {
      const limit = `${context.limits.memoryMb} MB`;
      return new CheckFailure("crashed", `TypeScript needs more than ${limit} of memory`);
    }
    case "stopped":
      return new CheckFailure("skipped", "stopped");
    case "crashed":
      return new CheckFailure("crashed", outcome.reason);
    default:
      return new CheckFailure("crashed", "the compiler was replaced while it ran");
  }
}

/** Names what was changed below the fork's overlays: a mounted overlay must not see its layers change. */
function mountedState(context: CheckContext): string {
  const places = context.fork.overlays.map((overlay) =>
    overlay.at === "" ? "" : `${overlay.at}/`,
  );
  if (places.length === 0) return "";
  return context.changed
    .filter((change) => places.some((place) => change.path.startsWith(place)))
    .map((change) => `${change.change} ${change.path} ${change.bytes ?? ""}`)
    .join("\n");
}
