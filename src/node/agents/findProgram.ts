import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  openSync,
  readFileSync,
  readSync,
  realpathSync,
  statSync,
} from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import { Failure } from "../../base/errors.ts";
import { parseJson } from "../../base/jsonl.ts";
import type { AgentProgram } from "../../runtime/agent.ts";

/** Finds a program as a shell would: a path is taken as it is (relative to `cwd`), a name is looked up in PATH. */
export function findProgram(
  name: string,
  env: Readonly<Record<string, string | undefined>>,
  cwd: string,
): string | undefined {
  const candidates = name.includes("/")
    ? [path.resolve(cwd, name)]
    : (env["PATH"] ?? "")
        .split(":")
        .filter((entry) => path.isAbsolute(entry))
        .map((directory) => path.join(directory, name));
  return candidates.find(isProgram);
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false; // not there, or not ours to run: the next candidate
  }
}

/** Directories that the sandbox shows anyway. */
const system = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];

/**
 * What to show read-only so that a program outside the system directories runs: where it lies, as named and as resolved,
 * and the same of the interpreter that its first line names. For a program in a `node_modules` that is the outermost such
 * directory; for one in a `bin`, the installation above it. Of a directory of the person's own (`~/bin`, `~/.local/bin`, the
 * home itself), or of everybody's (`/tmp`), it is the file alone, with `~/.local/lib` for a Python script: what lies beside it is
 * nobody's business.
 */
export function programDirectories(program: string, home = homedir()): readonly string[] {
  const found = new Set<string>();
  const files = [program, realpathSync(program)];
  const interpreter = interpreterOf(program);
  if (interpreter !== undefined) files.push(interpreter, realpathSync(interpreter));
  for (const file of files) {
    for (const place of placesOf(file, home, interpreter)) {
      const shown = system.some((one) => place === one || place.startsWith(`${one}/`));
      if (!shown) found.add(place);
    }
  }
  return [...found];
}

/**
 * What to show read-only so that a script runs which a command names by its whole path: the directory it lies in, for what
 * it imports, or the outermost `node_modules`; of a directory of the person's own, or of everybody's, the file alone.
 */
export function scriptPlace(script: string, home = homedir()): string {
  const directory = path.dirname(script);
  return outermostModules(script) ?? (isPersonal(directory, home) ? script : directory);
}

function outermostModules(file: string): string | undefined {
  const parts = file.split("/");
  const at = parts.indexOf("node_modules");
  return at > 0 ? parts.slice(0, at + 1).join("/") : undefined;
}

/** Directories that hold the person's own things or everybody's (`/tmp`), not an installation; `home` as named and as resolved. */
function isPersonal(directory: string, home: string): boolean {
  if (directory === "/" || (statSync(directory).mode & 0o1000) !== 0) return true;
  const homes = existsSync(home) ? [home, realpathSync(home)] : [home];
  return homes.some(
    (one) =>
      one === directory ||
      one.startsWith(`${directory}/`) ||
      directory === path.join(one, ".local"),
  );
}

function placesOf(file: string, home: string, interpreter: string | undefined): readonly string[] {
  const modules = outermostModules(file);
  if (modules !== undefined) return [modules];
  const directory = path.dirname(file);
  const above = path.dirname(directory);
  const inBin = path.basename(directory) === "bin" && above !== "/";
  if (!isPersonal(inBin ? above : directory, home)) return [inBin ? above : directory];
  const libraries = path.join(above, "lib");
  const python = /python[\d.]*$/.test(interpreter ?? "") && path.basename(above) === ".local";
  return python && existsSync(libraries) ? [file, libraries] : [file];
}

/** The program that a script's first line names; undefined for `env` (the search is PATH's) and what is no script. */
function interpreterOf(program: string): string | undefined {
  const first = Buffer.alloc(256);
  const fd = openSync(program, "r");
  try {
    readSync(fd, first, 0, first.length, 0);
  } finally {
    closeSync(fd);
  }
  const [, named] = /^#!\s*(\/\S+)/.exec(first.toString("latin1")) ?? [];
  return named === undefined || path.basename(named) === "env" || !isProgram(named)
    ? undefined
    : named;
}

/** Like {@link findProgram}; throws a Failure `agent-missing` that says what to do. */
export function requireProgram(
  name: string,
  env: Readonly<Record<string, string | undefined>>,
  cwd: string,
  fix: string,
): string {
  const program = findProgram(name, env, cwd);
  if (program !== undefined) return program;
  throw new Failure(
    "failed",
    "agent-missing",
    `the program ${JSON.stringify(name)} was not found`,
    fix,
  );
}

/** Where an agent's program is, by its variable or by its name on PATH. Throws a Failure `agent-missing`. */
export function requireAgent(
  { name, variable, install }: AgentProgram,
  env: Readonly<Record<string, string | undefined>>,
): string {
  return requireProgram(
    env[variable] ?? name,
    env,
    "/",
    `${install}, or set ${variable} to its path`,
  );
}

/** Like {@link requireAgent}; undefined when it is not there. */
export function findAgent(
  { name, variable }: AgentProgram,
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  return findProgram(env[variable] ?? name, env, "/");
}

const versionShape = /^\d+\.\d+\.\d+/;

/**
 * The version of a program without running it: the nearest `package.json` above it that has one, or a folder or file on
 * its path that is named after its version. Undefined when neither is there.
 */
export function programVersion(program: string): string | undefined {
  let place = realpathSync(program);
  for (let level = 0; level < 6 && place !== "/"; level++) {
    const named = versionShape.exec(path.basename(place));
    if (named !== null) return path.basename(place);
    place = path.dirname(place);
    const version = packageVersion(path.join(place, "package.json"));
    if (version !== undefined) return version;
  }
  return undefined;
}

function packageVersion(file: string): string | undefined {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    return undefined; // no package here: the next folder up
  }
  const found = parseJson(text) as { readonly version?: unknown } | null | undefined;
  return typeof found?.version === "string" ? found.version : undefined;
}
