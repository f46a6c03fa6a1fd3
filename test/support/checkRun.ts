import assert from "node:assert/strict";
import { execFile, execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { deltaOf } from "../../src/core/check/delta.ts";
import type { Diagnostic } from "../../src/core/journal/entry.ts";
import { confinedChecks } from "../../src/node/checks/confinedChecks.ts";
import { TransactionChecks } from "../../src/node/checks/transactionChecks.ts";
import { TypescriptChecker } from "../../src/node/checks/typescriptChecker.ts";
import type { Checker, CheckLimits } from "../../src/node/checks/checker.ts";
import type { CheckResult, ProvisionalResult } from "../../src/runtime/ports.ts";
import type { CheckFork } from "./checkFork.ts";
import { nativeBuild } from "./nativeBuild.ts";

/** The TypeScript check over a fork, run generation after generation. */
export class CheckRun implements AsyncDisposable {
  readonly fork: CheckFork;
  readonly checks: TransactionChecks;
  /** What was told early of the newest generation. */
  early: ProvisionalResult | undefined;
  /** When, by `performance.now()`. */
  earlyAt = 0;
  #generation = 0;

  /** `checkers`: what to run instead of the TypeScript check of the built program in `installation`. */
  constructor(
    fork: CheckFork,
    installation: string,
    limits: Partial<CheckLimits> = {},
    checkers: readonly Checker[] = [new TypescriptChecker({ installation })],
  ) {
    this.fork = fork;
    this.checks = new TransactionChecks({
      reader: () => fork.reader,
      sandbox: confinedChecks(nativeBuild("plain")),
      limits: () => ({ timeoutMs: 60_000, memoryMb: 2048, ...limits }),
      changes: () => Promise.resolve(fork.changed()),
      checkers,
    });
  }

  /** `changed`: what the check is told instead of the truth. */
  async next(changed = this.fork.changed(), signal?: AbortSignal): Promise<CheckResult> {
    const results = await this.all(changed, signal);
    assert.equal(results.length, 1);
    return results[0]!;
  }

  all(
    changed = this.fork.changed(),
    signal = new AbortController().signal,
  ): Promise<readonly CheckResult[]> {
    const { fork } = this;
    this.early = undefined;
    return this.checks.run({
      workspace: fork.workspace,
      fork: fork.fork,
      paths: fork.paths,
      changed,
      generation: this.#generation++,
      signal,
      onProvisional: (early) => {
        this.early = early;
        this.earlyAt = performance.now();
      },
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.checks.close();
    this.fork.remove();
  }
}

/** A cold full run of the project's own compiler, in the way a person would run it. */
export interface ColdRun {
  /** `node_modules/…` of the compiler's command, relative to the workspace. */
  readonly command: string;
  readonly projects: readonly string[];
  /** `build`: `tsc -b`, which writes its output, so run it on a copy. */
  readonly build?: boolean;
}

/** What the compiler prints for a tree, as diagnostics. */
export function coldDiagnostics(tree: string, run: ColdRun): readonly Diagnostic[] {
  const found = new Map<string, Diagnostic>();
  for (const project of run.projects) {
    const command = coldCommand(tree, run, project);
    const { stdout, stderr, status } = spawnSync(process.execPath, command, {
      cwd: tree,
      encoding: "utf8",
    });
    assert.equal(stderr, "");
    assert(status !== null && status < 3, stdout);
    for (const diagnostic of parseOutput(stdout, tree)) {
      found.set(JSON.stringify(diagnostic), diagnostic);
    }
  }
  return [...found.values()];
}

function parseOutput(text: string, tree: string): readonly Diagnostic[] {
  const parsed: { -readonly [K in keyof Diagnostic]: Diagnostic[K] }[] = [];
  for (const line of text.split("\n")) {
    const match = /^(?:(.+?)\((\d+),(\d+)\): )?error (TS\d+): (.*)$/.exec(line);
    const last = parsed.at(-1);
    if (match !== null) {
      const [, path = "tsconfig.json", at = "1", column = "1", code = "", message = ""] = match;
      const place = { path, line: Number(at), column: Number(column) };
      parsed.push({ ...place, code, message, severity: "error" });
    } else if (last !== undefined && line !== "") last.message += `\n${line}`;
  }
  return parsed.map((diagnostic) => ({
    ...diagnostic,
    message: diagnostic.message.split(`${tree}/`).join(""),
  }));
}

/** The diagnostics of both sides, cold. */
interface ColdSides {
  readonly base: readonly Diagnostic[];
  readonly shadow: readonly Diagnostic[];
}

/** The same tree, compiler and way of running give the same diagnostics: cold runs of one test process, by their content. */
const coldRuns = new Map<string, Promise<readonly Diagnostic[]>>();

/**
 * Runs the compilers of both sides cold, at the same time as whatever the caller does meanwhile with the fork but write into it;
 * a state that was seen before is not run again.
 */
export async function coldSides(fork: CheckFork, run: ColdRun): Promise<ColdSides> {
  const side = async (tree: string): Promise<readonly Diagnostic[]> => {
    const key = `${contentKey(tree)} ${JSON.stringify(run)}`;
    let known = coldRuns.get(key);
    if (known === undefined) coldRuns.set(key, (known = coldInBackground(fork, tree, run)));
    return known;
  };
  const [base, shadow] = await Promise.all([side(fork.base), side(fork.shadow)]);
  return { base, shadow };
}

async function coldInBackground(
  fork: CheckFork,
  tree: string,
  run: ColdRun,
): Promise<readonly Diagnostic[]> {
  // A build writes its output.
  const place = run.build === true ? join(fork.root, `cold-${coldRuns.size}`) : tree;
  if (place !== tree) execFileSync("cp", ["-a", tree, place]);
  const found = new Map<string, Diagnostic>();
  for (const project of run.projects) {
    const command = coldCommand(place, run, project);
    const output = await promisify(execFile)(process.execPath, command, { cwd: place }).catch(
      (error: unknown) => error as { readonly stdout: string; readonly code: number },
    );
    assert("code" in output ? output.code < 3 : true, output.stdout);
    for (const diagnostic of parseOutput(output.stdout, place)) {
      found.set(JSON.stringify(diagnostic), diagnostic);
    }
  }
  if (place !== tree) execFileSync("rm", ["-rf", place]);
  return [...found.values()];
}

/** Names the content of a tree; files of compilers by their size, as they are the same for each name. */
function contentKey(tree: string): string {
  const hash = createHash("sha256");
  for (const entry of readdirSync(tree, { recursive: true, withFileTypes: true })
    .map((one) => join(one.parentPath, one.name))
    .sort()) {
    const stat = lstatSync(entry);
    hash.update(`${entry.slice(tree.length)}\0${stat.mode}\0`);
    if (stat.isSymbolicLink()) hash.update(readlinkSync(entry));
    else if (stat.isFile() && /\/(?:@?typescript)\/.*lib\//.test(entry))
      hash.update(`${stat.size}`);
    else if (stat.isFile()) hash.update(readFileSync(entry));
  }
  return hash.digest("hex");
}

function coldCommand(tree: string, run: ColdRun, project: string): readonly string[] {
  const how = run.build === true ? ["-b", project] : ["--noEmit", "-p", project];
  return [join(tree, run.command), ...how, "--pretty", "false"];
}

/** The base of a fork never changes. */
const coldBases = new WeakMap<CheckFork, readonly Diagnostic[]>();

function coldSide(fork: CheckFork, tree: string, run: ColdRun): readonly Diagnostic[] {
  if (run.build !== true) return coldDiagnostics(tree, run);
  const copy = join(fork.root, "cold");
  execFileSync("cp", ["-a", tree, copy]);
  const found = coldDiagnostics(copy, run);
  execFileSync("rm", ["-rf", copy]);
  return found;
}

/** Proves that a result is the difference of two cold full runs; `sides` are what they said, where they have run. */
export function assertExact(
  fork: CheckFork,
  result: CheckResult,
  run: ColdRun,
  sides?: ColdSides,
): void {
  let base = sides?.base ?? coldBases.get(fork);
  if (base === undefined) coldBases.set(fork, (base = coldSide(fork, fork.base, run)));
  const shadow = sides?.shadow ?? coldSide(fork, fork.shadow, run);
  const delta = deltaOf({ base, shadow, renames: new Map(), lines: () => undefined });
  const names = (list: readonly Diagnostic[]): readonly string[] =>
    list.map((d) => `${d.path}: ${d.code}: ${d.message}`).sort();
  assert.deepEqual(names(result.introduced), names(delta.introduced), "introduced");
  assert.deepEqual(names(result.resolved), names(delta.resolved), "resolved");
  assert.equal(result.unchanged, delta.unchanged, "unchanged");
}
