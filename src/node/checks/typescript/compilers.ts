import { existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { parseJson } from "../../../base/jsonl.ts";
import type { Compiler } from "./compilerHost.ts";
import { member } from "./discovery.ts";

/** The compiler of a project: one that loads into this process, or a program of its own (TypeScript 7). */
export type ProjectCompiler =
  | { readonly type: "library"; readonly compiler: Compiler; readonly bundled: boolean }
  | { readonly type: "program"; readonly program: string; readonly version: string };

/** The oldest version whose builder the checks know. */
const oldestMajor = 4;

/**
 * Finds and loads the TypeScript of the workspace: for each project the nearest `node_modules/typescript` above it, else the
 * bundled one. A compiler that was replaced on disk cannot be loaded again in one process: see {@link replaced}.
 */
export class Compilers {
  readonly #workspace: string;
  readonly #bundledPath: string;
  readonly #loaded = new Map<string, ProjectCompiler>();
  readonly #stamps = new Map<string, string>();
  #bundled: Compiler | undefined;

  /** `bundledPath`: the file typescript.js of the bundled version. */
  constructor(workspace: string, bundledPath: string) {
    this.#workspace = workspace;
    this.#bundledPath = bundledPath;
  }

  get bundled(): Compiler {
    this.#bundled ??= load(this.#bundledPath);
    return this.#bundled;
  }

  /** True when a compiler that is loaded has been replaced, came or went on disk since. */
  get replaced(): boolean {
    return [...this.#stamps].some(([directory, stamp]) => stampOf(directory) !== stamp);
  }

  /** The compiler for the project in `directory`. */
  forProject(directory: string): ProjectCompiler {
    for (let at = directory; at.startsWith(this.#workspace); at = dirname(at)) {
      const candidate = join(at, "node_modules", "typescript");
      this.#stamps.set(candidate, stampOf(candidate));
      const found = existsSync(join(candidate, "package.json"))
        ? this.#at(realpathSync(candidate))
        : undefined;
      if (found !== undefined) return found;
    }
    return { type: "library", compiler: this.bundled, bundled: true };
  }

  #at(directory: string): ProjectCompiler | undefined {
    const known = this.#loaded.get(directory);
    if (known !== undefined) return known;
    const found = open(directory);
    if (found !== undefined) this.#loaded.set(directory, found);
    return found;
  }
}

function open(directory: string): ProjectCompiler | undefined {
  const manifest = parseJson(readFileSync(join(directory, "package.json"), "utf8"));
  const version = member(manifest, "version");
  if (typeof version !== "string") return undefined;
  const major = Number(version.split(".")[0]);
  const library = join(directory, "lib", "typescript.js");
  if (major < oldestMajor) return undefined;
  if (existsSync(library)) return { type: "library", compiler: load(library), bundled: false };
  const program = nativeProgram(directory);
  return program === undefined ? undefined : { type: "program", program, version };
}

/** The native program that TypeScript 7 keeps in a package for each platform. */
function nativeProgram(directory: string): string | undefined {
  const name = `@typescript/typescript-${process.platform}-${process.arch}`;
  const require = createRequire(join(directory, "package.json"));
  try {
    const program = join(dirname(require.resolve(`${name}/package.json`)), "lib", "tsc");
    return existsSync(program) ? program : undefined;
  } catch (error) {
    if (error instanceof Error && "code" in error) return undefined;
    throw error;
  }
}

function load(library: string): Compiler {
  return createRequire(library)(library) as Compiler;
}

function stampOf(directory: string): string {
  const stat = statSync(join(directory, "package.json"), {
    bigint: true,
    throwIfNoEntry: false,
  });
  return stat === undefined ? "absent" : `${stat.ino.toString()} ${stat.ctimeNs.toString()}`;
}
