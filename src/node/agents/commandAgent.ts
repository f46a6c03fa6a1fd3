import { realpathSync, statSync } from "node:fs";
import path from "node:path";
import type { AgentAdapter, LaunchRequest } from "../../runtime/agent.ts";
import type { AgentLaunch } from "../../runtime/ports.ts";
import { findProgram, programDirectories, requireProgram, scriptPlace } from "./findProgram.ts";
import { quietTranslator, scriptedTranslator } from "./scriptedEvents.ts";

/** Variables of the person's environment that a program needs to work in a terminal; nothing else is passed on. */
const passed = [
  "LANG",
  "LC_ALL",
  "LC_CTYPE",
  "TERM",
  "COLORTERM",
  "TZ",
  "NO_COLOR",
  "FORCE_COLOR",
  "CI",
];

/** The part of the person's environment that every agent gets. */
export function passedEnvironment(
  env: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const name of passed) {
    const value = env[name];
    if (value !== undefined) kept[name] = value;
  }
  return kept;
}

/** Directories of the development tools that the person has on PATH outside the system (Node, Rust, Go…), read-only. */
function toolDirectories(env: Readonly<Record<string, string | undefined>>): readonly string[] {
  const names = ["node", "npm", "git", "python3", "cargo", "rustc", "go", "java", "deno", "bun"];
  const programs = names
    .map((name) => findProgram(name, env, "/"))
    .filter((one) => one !== undefined);
  return [...new Set(programs.flatMap((one) => programDirectories(one)))];
}

/** PATH inside: the person's own entries that are visible there, and the system's. */
function visiblePath(
  env: Readonly<Record<string, string | undefined>>,
  readOnly: readonly string[],
): string {
  const system = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];
  const own = (env["PATH"] ?? "").split(":").filter((entry) => {
    return readOnly.some(
      (shown) => entry === shown || entry.startsWith(`${shown}/`) || path.dirname(shown) === entry,
    );
  });
  return [...new Set([...own, ...system])].join(":");
}

/** What every launch has in common: environment, PATH, the directories of the program and of the tools. */
export function commonLaunch(
  request: LaunchRequest,
  program: string,
): Pick<AgentLaunch, "env" | "readOnly"> {
  const inWorkspace = (directory: string): boolean => {
    const real = realpathSync(directory);
    return real === request.workspace || real.startsWith(`${request.workspace}/`);
  };
  const wanted = [...programDirectories(program), ...toolDirectories(request.env)];
  // What lies in the workspace is there already; a directory that holds the workspace would hide its neighbours no more.
  const readOnly = [...new Set(wanted)].filter(
    (directory) => !inWorkspace(directory) && !request.workspace.startsWith(`${directory}/`),
  );
  const env = { ...passedEnvironment(request.env), PATH: visiblePath(request.env, readOnly) };
  return { env, readOnly };
}

/** Any command: journaled through observation alone, each child of it is a tool call. */
export const commandAgent: AgentAdapter = {
  name: "command",
  title: "Any command",
  detail: "Runs a program of yours. The timeline shows what it was seen to do.",
  takesCommand: true,
  coverage: "effects-only",
  launch: (request) => {
    const name = request.command[0] ?? "";
    const fix = "check the spelling, or give its path";
    const program = requireProgram(name, request.env, request.workspace, fix);
    const common = commonLaunch(request, program);
    const readOnly = [...new Set([...common.readOnly, ...scriptOf(request.command)])];
    const argv = [name.includes("/") ? name : program, ...request.command.slice(1)];
    return Promise.resolve({ argv, files: [], modelHosts: [], ...common, readOnly });
  },
  translator: quietTranslator,
};

/** A program that reports its own tool calls on the agent socket in our plain form: the bundled demonstration agent, and
 * any agent of the person's own. */
export const scriptedAgent: AgentAdapter = {
  name: "scripted",
  title: "A program that reports its steps",
  detail: "Like any command, and it announces its steps on $HOLDFAST_AGENT_SOCK.",
  takesCommand: true,
  coverage: "full",
  launch: (request) => {
    const name = request.command[0] ?? "";
    const fix =
      "give its command after `--`, for example `holdfast run --agent scripted -- node agent.mjs`";
    const program = requireProgram(name, request.env, request.workspace, fix);
    const common = commonLaunch(request, program);
    const readOnly = [...new Set([...common.readOnly, ...scriptDirectories(request.command)])];
    const argv = [name.includes("/") ? name : program, ...request.command.slice(1)];
    return Promise.resolve({ argv, files: [], modelHosts: [], ...common, readOnly });
  },
  translator: scriptedTranslator,
};

/** Places of the scripts that a command names by their whole path, to be shown read-only. */
export function scriptDirectories(command: readonly string[]): readonly string[] {
  return command
    .slice(1)
    .filter(isScript)
    .map((word) => scriptPlace(word));
}

function isScript(word: string): boolean {
  if (!path.isAbsolute(word) || !/\.(mjs|cjs|js|py|sh)$/.test(word)) return false;
  return statSync(word, { throwIfNoEntry: false })?.isFile() === true;
}

/** Programs whose first script is what runs; of any other program a script is data. */
const interpreter = /^(node|bun|deno|tsx|python[\d.]*|(ba|da|z|k)?sh)$/;

/** The script that a command runs: its other words are none of our business. */
function scriptOf(command: readonly string[]): readonly string[] {
  const [program = "", ...words] = command;
  if (!interpreter.test(path.basename(program))) return [];
  return words
    .filter(isScript)
    .slice(0, 1)
    .map((word) => scriptPlace(word));
}
