import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { Failure, messageOf } from "../../base/errors.ts";
import { readCargo } from "../../core/check/tools/cargoOutput.ts";
import { readEslint } from "../../core/check/tools/eslintOutput.ts";
import { readGoVet } from "../../core/check/tools/goVetOutput.ts";
import {
  namedMatchers,
  readMatched,
  type ProblemMatcher,
  type ProblemPattern,
} from "../../core/check/tools/problemMatcher.ts";
import { readMypy, readPyright } from "../../core/check/tools/pythonOutput.ts";
import type { ReadToolOutput } from "../../core/check/tools/toolOutput.ts";
import type { CheckContext } from "./checker.ts";
import type { Shown } from "./checkSandbox.ts";
import { findProgram, type Program } from "./programs.ts";

/** How to run a tool over a workspace. `cache` names a directory of one side that lasts from run to run. */
export interface ToolCommand {
  readonly argv: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly shown?: readonly Shown[];
}

/** One checker that is a command. */
export interface Tool {
  readonly name: string;
  concerns(path: string): boolean;
  /** Undefined when the workspace does not use it; a text when it does but the tool is not there. */
  detect(context: CheckContext, cache: string): Promise<ToolCommand | string | undefined>;
  readonly read: ReadToolOutput;
  /** It believes modification times: changed files are touched in the view before it runs. */
  readonly believesTimes: boolean;
}

/** A check that a person defined, in the manner of an editor task. */
export interface CommandCheck {
  readonly name: string;
  /** Run by a shell in the workspace. */
  readonly command: string;
  /** A matcher, or the name of a usual one such as `$tsc`. */
  readonly problemMatcher: ProblemMatcher | string;
}

const cargo: Tool = {
  name: "cargo",
  concerns: (path) =>
    /\.rs$|(?:^|\/)(?:Cargo\.(?:toml|lock)|rust-toolchain(?:\.toml)?)$/.test(path),
  async detect(context, cache) {
    if (!(await present(context, "Cargo.toml"))) return undefined;
    const program = findProgram("cargo");
    if (program === undefined) return "cargo is not installed";
    const home = process.env["CARGO_HOME"] ?? join(homedir(), ".cargo");
    const rustup = process.env["RUSTUP_HOME"] ?? join(homedir(), ".rustup");
    // The credentials are beside these folders and stay hidden.
    const shared = ["registry", "git"].map((name) => ({
      from: join(home, name),
      to: join(cache, "cargo", name),
    }));
    return {
      argv: [program.path, "check", "--workspace", "--message-format=json", "--offline"],
      env: {
        CARGO_HOME: join(cache, "cargo"),
        RUSTUP_HOME: rustup,
        CARGO_TARGET_DIR: join(cache, "target"),
        CARGO_TERM_COLOR: "never",
        PATH: `${dirname(program.path)}:/usr/local/bin:/usr/bin:/bin`,
      },
      shown: [...program.shown, { from: rustup, to: rustup }, ...shared].filter(exists),
    };
  },
  read: readCargo,
  believesTimes: true,
};

const go: Tool = {
  name: "go",
  concerns: (path) => /\.(?:go|s|c|h)$|(?:^|\/)go\.(?:mod|sum|work)$/.test(path),
  async detect(context, cache) {
    if (!(await present(context, "go.mod"))) return undefined;
    const program = findProgram("go");
    if (program === undefined) return "go is not installed";
    const modules =
      process.env["GOMODCACHE"] ??
      join(process.env["GOPATH"] ?? join(homedir(), "go"), "pkg", "mod");
    return {
      argv: [program.path, "vet", "-json", "./..."],
      env: {
        GOCACHE: join(cache, "go"),
        GOMODCACHE: modules,
        GOPROXY: "off",
        GOTOOLCHAIN: "local",
        GOTELEMETRY: "off",
      },
      shown: [...program.shown, { from: modules, to: modules }].filter(exists),
    };
  },
  read: readGoVet,
  believesTimes: false,
};

const pythonFiles =
  /\.pyi?$|(?:^|\/)(?:pyproject\.toml|setup\.cfg|\.?mypy\.ini|pyrightconfig\.json)$/;

const mypy: Tool = {
  name: "mypy",
  concerns: (path) => pythonFiles.test(path),
  async detect(context, cache) {
    const used =
      (await present(context, "mypy.ini")) ||
      (await present(context, ".mypy.ini")) ||
      (await mentions(context, "setup.cfg", /^\[mypy\]/m)) ||
      (await mentions(context, "pyproject.toml", /^\[tool\.mypy\]/m));
    if (!used) return undefined;
    const program = await pythonTool(context, "mypy");
    if (program === undefined) return "mypy is not installed";
    const config = await text(context, "pyproject.toml");
    const files = /^\[tool\.mypy\][^[]*^files\s*=/m.test(config ?? "") ? [] : ["."];
    return {
      argv: [
        ...[program.path, "--show-column-numbers", "--show-error-codes", "--no-error-summary"],
        ...["--hide-error-context", "--no-pretty", "--no-color-output"],
        ...["--cache-dir", join(cache, "mypy"), ...files],
      ],
      shown: program.shown,
    };
  },
  read: readMypy,
  believesTimes: true,
};

const pyright: Tool = {
  name: "pyright",
  concerns: (path) => pythonFiles.test(path),
  async detect(context) {
    const used =
      (await present(context, "pyrightconfig.json")) ||
      (await mentions(context, "pyproject.toml", /^\[tool\.pyright\]/m));
    if (!used) return undefined;
    const script = "node_modules/pyright/index.js";
    if (await present(context, script)) {
      return { argv: [process.execPath, join(context.workspace, script), "--outputjson"] };
    }
    const program = await pythonTool(context, "pyright");
    if (program === undefined) return "pyright is not installed";
    return { argv: [program.path, "--outputjson"], shown: program.shown };
  },
  read: readPyright,
  believesTimes: false,
};

const eslintConfig = [
  ...["js", "mjs", "cjs", "ts", "mts", "cts"].map((end) => `eslint.config.${end}`),
  ...[".eslintrc", ".eslintrc.js", ".eslintrc.cjs", ".eslintrc.json", ".eslintrc.yml"],
];

const eslint: Tool = {
  name: "eslint",
  concerns: (path) => /\.(?:[cm]?[jt]sx?|json|vue|svelte)$|\.eslint/.test(path),
  async detect(context) {
    const configs = await Promise.all(eslintConfig.map((name) => present(context, name)));
    if (!configs.includes(true)) return undefined;
    const script = "node_modules/eslint/bin/eslint.js";
    if (!(await present(context, script))) return "eslint is not installed in the workspace";
    return { argv: [process.execPath, join(context.workspace, script), "-f", "json", "."] };
  },
  read: readEslint,
  believesTimes: false,
};

/** The checkers besides TypeScript, each used where the workspace is set up for it. */
export const tools: readonly Tool[] = [cargo, go, pyright, mypy, eslint];

/**
 * A person's own check as a tool: always used, and run again whenever anything changed. Throws a Failure of kind `usage` when its
 * matcher is unknown or has a pattern that is no regular expression.
 */
export function commandTool(check: CommandCheck): Tool {
  const matcher = matcherOf(check);
  return {
    name: check.name,
    concerns: () => true,
    detect: () => Promise.resolve({ argv: ["/bin/sh", "-c", check.command] }),
    read: (output, workspace) => readMatched(output, workspace, matcher),
    believesTimes: true,
  };
}

function matcherOf({ name, problemMatcher }: CommandCheck): ProblemMatcher {
  const matcher =
    typeof problemMatcher === "string" ? namedMatchers[problemMatcher] : problemMatcher;
  if (matcher === undefined) {
    const known = Object.keys(namedMatchers).join(", ");
    const message = `the check ${name} names an unknown problem matcher`;
    throw new Failure(
      "usage",
      "problem-matcher",
      message,
      `use one of ${known}, or give a pattern`,
    );
  }
  try {
    for (const { regexp } of [matcher.pattern].flat() as readonly ProblemPattern[])
      new RegExp(regexp);
  } catch (error) {
    const message = `the check ${name}: ${messageOf(error)}`;
    throw new Failure("usage", "problem-matcher", message, "correct the pattern", error);
  }
  return matcher;
}

/** A tool in the workspace's virtual environment, else in PATH. */
async function pythonTool(context: CheckContext, name: string): Promise<Program | undefined> {
  for (const environment of [".venv", "venv"]) {
    if (!(await present(context, `${environment}/bin/${name}`))) continue;
    const python = findProgram("python3");
    return {
      path: join(context.workspace, environment, "bin", name),
      shown: python?.shown ?? [],
    };
  }
  return findProgram(name);
}

async function present(context: CheckContext, path: string): Promise<boolean> {
  return (await context.reader.stat("shadow", path)) !== undefined;
}

async function text(context: CheckContext, path: string): Promise<string | undefined> {
  const bytes = await context.reader.read("shadow", path);
  return bytes === undefined ? undefined : Buffer.from(bytes).toString("utf8");
}

async function mentions(context: CheckContext, path: string, pattern: RegExp): Promise<boolean> {
  return pattern.test((await text(context, path)) ?? "");
}

function exists(shown: Shown): boolean {
  return existsSync(shown.from);
}
