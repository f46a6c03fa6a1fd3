import { build } from "esbuild";
import { linkTree } from "./checkFork.ts";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

const repository = join(import.meta.dirname, "../..");

/** Builds what the checks need of the installed program into a folder: the worker and a bundled compiler. */
export async function checkInstallation(): Promise<{ directory: string; remove(): void }> {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-check-"));
  await build({
    entryPoints: [join(repository, "src/node/checks/worker.ts")],
    outfile: join(directory, "checkWorker.cjs"),
    bundle: true,
    platform: "node",
    format: "cjs",
    target: "node20",
    logLevel: "error",
  });
  installCompiler("typescript", join(directory, "typescript"));
  return {
    directory,
    remove: () =>
      rmSync(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 }),
  };
}

/** Puts the compiler of one of our development dependencies at `to`, with what it needs to run. */
export function installCompiler(name: string, to: string): void {
  const from = join(repository, "node_modules", name);
  const manifest = JSON.parse(readFileSync(join(from, "package.json"), "utf8")) as Manifest;
  mkdirSync(to, { recursive: true });
  cpSync(join(from, "package.json"), join(to, "package.json"));
  for (const folder of ["bin", "lib"]) {
    mkdirSync(join(to, folder));
    for (const file of readdirSync(join(from, folder))) {
      if (needed.test(file)) linkTree(join(from, folder, file), join(to, folder, file));
    }
  }
  const native = `@typescript/typescript-${process.platform}-${process.arch}`;
  if (manifest.optionalDependencies?.[native] === undefined) return;
  const packages = [join(from, "node_modules", native), join(repository, "node_modules", native)];
  const found = packages.find((path) => existsSync(path));
  if (found === undefined) throw new Error(`${native} is not installed`);
  const at = join(dirname(to), native);
  linkTree(found, at);
}

interface Manifest {
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const needed = /^(?:tsc|_tsc\.js|tsc\.js|typescript\.js|getExePath\.js|version\.cjs|lib.*\.d\.ts)$/;
