import { execFile } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Entry } from "../../src/core/journal/entry.ts";
import { temporaryFolders } from "./temporaryFolder.ts";

/** The built command: `npm run build` makes it before the tests. */
export const builtCommand = path.resolve(import.meta.dirname, "../../dist/holdfast.cjs");

export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** One workspace with a state directory of its own, and the command run in it. */
export interface CommandWorld {
  readonly home: string;
  readonly workspace: string;
  /** Runs `holdfast …` in the workspace with `input` on its standard input. Never throws for an exit code. */
  run(
    args: readonly string[],
    options?: { input?: string; env?: NodeJS.ProcessEnv },
  ): Promise<Outcome>;
  /** Runs with `--json` and parses what is printed; throws unless the exit code is `code`. */
  json<T>(args: readonly string[], code?: number): Promise<T>;
  entries(): Promise<readonly Entry[]>;
}

/** Makes command worlds; everything is stopped and removed after each test. */
export function commandWorlds(): (files?: Readonly<Record<string, string>>) => CommandWorld {
  const homes: string[] = [];
  // Before the folders go: hooks run in the order in which they were made.
  afterEach(async () => {
    for (const home of homes.splice(0))
      if (existsSync(home)) await run(home, home, ["stop", "--all"], {});
  });
  const folder = temporaryFolders();
  return (files = {}) => {
    const home = path.join(folder(), "home");
    const workspace = path.join(folder(), "project");
    mkdirSync(workspace);
    for (const [name, content] of Object.entries(files)) {
      mkdirSync(path.dirname(path.join(workspace, name)), { recursive: true });
      writeFileSync(path.join(workspace, name), content);
    }
    homes.push(home);
    const world: CommandWorld = {
      home,
      workspace,
      run: (args, options = {}) => run(home, workspace, args, options),
      json: async <T>(args: readonly string[], code = 0): Promise<T> => {
        const [verb = "", ...rest] = args;
        const outcome = await run(home, workspace, [verb, "--json", ...rest], {});
        if (outcome.code !== code) {
          throw new Error(
            `holdfast ${args.join(" ")}: exit code ${outcome.code}: ${outcome.stderr}${outcome.stdout}`,
          );
        }
        return JSON.parse(outcome.stdout) as T;
      },
      entries: async () => {
        const { stdout } = await run(home, workspace, ["timeline", "latest", "--json"], {});
        return stdout
          .trimEnd()
          .split("\n")
          .map((line) => JSON.parse(line) as Entry);
      },
    };
    return world;
  };
}

function run(
  home: string,
  cwd: string,
  args: readonly string[],
  options: { input?: string; env?: NodeJS.ProcessEnv },
): Promise<Outcome> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [builtCommand, ...args],
      {
        cwd,
        env: {
          ...process.env,
          HOLDFAST_HOME: home,
          XDG_CONFIG_HOME: path.join(home, "config"),
          ...options.env,
        },
        maxBuffer: 256 * 1024 * 1024,
      },
      (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === "number" ? error.code : 255;
        resolve({ code, stdout, stderr });
      },
    );
    child.stdin?.on("error", () => undefined); // it ended without reading
    child.stdin?.end(options.input ?? "");
  });
}

/** Waits until `condition` gives something; throws after `timeoutMs`. */
export async function eventually<T>(
  condition: () => Promise<T | undefined> | T | undefined,
  what: string,
  timeoutMs = 30_000,
): Promise<T> {
  const end = performance.now() + timeoutMs;
  for (;;) {
    const value = await condition();
    if (value !== undefined) return value;
    if (performance.now() > end) throw new Error(`waited ${timeoutMs} ms in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
