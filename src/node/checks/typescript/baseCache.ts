import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import * as z from "zod";
import { parseJson } from "../../../base/jsonl.ts";
import type { SideAnswer } from "../../../core/check/answers.ts";
import type { CheckContext } from "../checker.ts";
import { viewAnswer } from "../workerProtocol.ts";

/** Files that package managers write last, and the compiler itself: what stands in `node_modules` beside the base. */
const installed = [
  "node_modules/.package-lock.json",
  "node_modules/.modules.yaml",
  "node_modules/.yarn-state.yml",
  "node_modules/.yarn-integrity",
  "node_modules/typescript/package.json",
];

const known = z.object({ compiler: z.string(), answer: viewAnswer });

const cached = z.object({ key: z.string(), sum: z.string(), bases: z.record(z.string(), known) });

/** A project's answer for the base, and the version of the compiler that gave it. */
export interface KnownBase {
  readonly compiler: string;
  readonly answer: SideAnswer;
}

/**
 * The answers for the base, kept beside the transaction for a supervisor that is started again. They hold for one base (its
 * manifest), one installation of packages and compiler, one Node and one build of the worker with its bundled compiler; options
 * are the base's own content. A file that does not say exactly that, or is damaged, is as good as none.
 */
export class BaseCache {
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  /** By configuration; empty when there is none for this key. */
  async load(key: string): Promise<ReadonlyMap<string, KnownBase>> {
    const text = await readFile(this.#file, "utf8").catch(missing);
    const parsed = cached.safeParse(parseJson(text ?? ""));
    if (!parsed.success || parsed.data.key !== key) return new Map();
    const { bases, sum } = parsed.data;
    return sum === sumOf(bases) ? new Map(Object.entries(bases)) : new Map();
  }

  async save(key: string, answers: ReadonlyMap<string, KnownBase>): Promise<void> {
    const bases = Object.fromEntries(answers);
    await mkdir(dirname(this.#file), { recursive: true, mode: 0o700 });
    const whole = JSON.stringify({ key, sum: sumOf(bases), bases });
    await writeFile(`${this.#file}.new`, whole, { mode: 0o600 });
    await rename(`${this.#file}.new`, this.#file);
  }
}

/** Names all that an answer for the base depends on besides the base's own content. */
export function baseKey(context: CheckContext, installation: string): string {
  const { fork } = context;
  const parts = [process.version, fork.backend, digestOf(fork.manifest)];
  for (const file of ["checkWorker.cjs", "typescript/package.json"]) {
    parts.push(digestOf(join(installation, file)));
  }
  parts.push(...installed.map((file) => digestOf(join(fork.shadow, file))));
  for (const { at, lower, upper } of fork.overlays) {
    const inside = at.endsWith("node_modules") ? "node_modules/".length : 0;
    for (const layer of [lower, upper]) {
      parts.push(...installed.map((file) => digestOf(join(layer, file.slice(inside)))));
    }
  }
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}

function sumOf(bases: unknown): string {
  return createHash("sha256").update(JSON.stringify(bases)).digest("hex");
}

function digestOf(file: string): string {
  try {
    return createHash("sha256").update(readFileSync(file)).digest("hex");
  } catch (error) {
    missing(error);
    return "absent";
  }
}

function missing(error: unknown): undefined {
  if (error instanceof Error && "code" in error) return undefined;
  throw error;
}
