import { existsSync, realpathSync } from "node:fs";
import path from "node:path";
import { findNodeAtLocation, type Node } from "jsonc-parser";
import { Failure } from "../../base/errors.ts";
import { type AgentDefinition, agentsSchema } from "../../core/agents/agentsFile.ts";
import { readConfig, type ReportProblem } from "../../core/config/readConfig.ts";
import type { AgentAdapter, AgentTranslator, LaunchRequest } from "../../runtime/agent.ts";
import type { AgentLaunch, AgentSecret } from "../../runtime/ports.ts";
import { sandboxHome } from "../sandbox/insidePaths.ts";
import { configText, problemLine, userConfigPath } from "../state/configFile.ts";
import { claudeDialect } from "./claudeCode.ts";
import { commonLaunch } from "./commandAgent.ts";
import { programVersion, requireProgram } from "./findProgram.ts";
import { HookTranslator } from "./hookTranslator.ts";
import { passedOn, placeholders } from "./modelKeys.ts";
import { quietTranslator, scriptedTranslator } from "./scriptedEvents.ts";

type Environment = LaunchRequest["env"];

/** Where the person defines agents. */
export function userAgentsPath(env: Environment): string {
  return userConfigPath(env, "agents.json");
}

/**
 * The agents that the person defined. `taken` are the names of the built-in ones.
 *
 * @throws Failure `agents-invalid` naming file, line and column; `agents-foreign`, `agents-unreadable`; `agents-in-workspace`
 *   where the file lies in the workspace, which may not define any.
 */
export function userAgents(
  env: Environment,
  taken: readonly string[],
  workspace: string | undefined,
): readonly AgentAdapter[] {
  const file = userAgentsPath(env);
  const text = configText(file, "user", "agents");
  if (text === undefined) return [];
  refuseInside(file, workspace);
  const { found, problems, report } = readConfig(text, file, agentsSchema);
  if (found !== undefined) checkMeaning(found.value.agents, found.tree, taken, report);
  if (found === undefined || problems.length > 0) {
    const lines = problems.map(problemLine).join("; ");
    throw new Failure("failed", "agents-invalid", lines, "correct the file");
  }
  return found.value.agents.map(adapterOf);
}

function refuseInside(file: string, workspace: string | undefined): void {
  if (workspace === undefined) return;
  const real = realpathSync(file);
  if (!real.startsWith(`${workspace}/`)) return;
  const message = `${file} lies in the workspace, which may not define agents`;
  throw new Failure("refused", "agents-in-workspace", message, "keep it outside of the workspace");
}

/** What a schema cannot say. */
function checkMeaning(
  agents: readonly AgentDefinition[],
  tree: Node,
  taken: readonly string[],
  report: ReportProblem,
): void {
  const names = new Set(taken);
  const offsetOf = (...place: (string | number)[]): number =>
    findNodeAtLocation(tree, ["agents", ...place])?.offset ?? 0;
  agents.forEach((agent, at) => {
    if (names.has(agent.name)) {
      const whose = taken.includes(agent.name) ? "is a built-in agent's" : "is used twice";
      report(offsetOf(at, "name"), `the name ${agent.name} ${whose}`);
    }
    names.add(agent.name);
    const refuseKey = (name: string, ...place: (string | number)[]): void => {
      if (!/(KEY|TOKEN|SECRET|PASSWORD)$/.test(name)) return;
      const advice = `${name} looks like a key: name it under "keys", so that only a placeholder gets inside`;
      report(offsetOf(at, ...place), advice);
    };
    for (const name of Object.keys(agent.environment ?? {})) refuseKey(name, "environment", name);
    agent.passOn?.forEach((name, index) => refuseKey(name, "passOn", index));
    const places = (agent.files ?? []).map(({ path: place }) => place);
    places.forEach((place, index) => {
      const other = places.slice(0, index).find((one) => isSameOrUnder(place, one));
      if (other === undefined) return;
      const message = `${place} and ${other} cannot both be files`;
      report(
        offsetOf(at, "files", index, "path"),
        place === other ? `${place} stands twice` : message,
      );
    });
  });
}

/** One of two files has the other's place, or lies under it. */
function isSameOrUnder(one: string, other: string): boolean {
  return one === other || one.startsWith(`${other}/`) || other.startsWith(`${one}/`);
}

const translators: Readonly<Record<"none" | "claude" | "plain", () => AgentTranslator>> = {
  none: quietTranslator,
  claude: () => new HookTranslator(claudeDialect),
  plain: scriptedTranslator,
};

function adapterOf(agent: AgentDefinition): AgentAdapter {
  const { name, title = name, command, hooks = "none" } = agent;
  return {
    name,
    title,
    detail: `Your own: ${command.join(" ")}`,
    coverage: hooks === "none" ? "effects-only" : "full",
    launch: (request) => Promise.resolve(launchAgent(agent, request)),
    translator: translators[hooks],
  };
}

function launchAgent(agent: AgentDefinition, request: LaunchRequest): AgentLaunch {
  const { env } = request;
  const [name = "", ...words] = agent.command;
  if (name.includes("/") && !path.isAbsolute(name)) {
    const fix = "name the program as it is on PATH, or from the root";
    throw new Failure("usage", "agents-invalid", `${agent.name}: ${name} is a relative path`, fix);
  }
  const fix = `install it, or correct the command of ${agent.name} in ${userAgentsPath(env)}`;
  const program = requireProgram(name, env, "/", fix);
  const version = programVersion(program);
  const common = commonLaunch(request, program);
  const keys = (agent.keys ?? []).flatMap((key) => keySecret(key, env));
  const missing = (agent.keys ?? [])
    .map(({ variable }) => variable)
    .filter((variable) => (env[variable] ?? "") === "");
  const absent = (agent.readOnly ?? []).filter((folder) => !existsSync(folder));
  return {
    argv: [program, ...words, ...request.command, ...promptOf(agent, request.prompt)],
    env: {
      ...common.env,
      ...passedOn(env, agent.passOn ?? []),
      ...agent.environment,
      ...placeholders(keys),
    },
    files: (agent.files ?? []).map(({ path: place, content }) => ({
      path: place.replace(/^~/, sandboxHome),
      content,
      mode: place.startsWith("~") ? 0o600 : 0o644,
    })),
    readOnly: [...new Set([...common.readOnly, ...(agent.readOnly ?? [])])],
    modelHosts: agent.modelHosts ?? [],
    readHosts: agent.hosts ?? [],
    secretNames: agent.secrets ?? [],
    program: { path: program, ...(version === undefined ? {} : { version }) },
    notes: [
      ...missing.map((variable) => `${agent.name} has no key: ${variable} is not set`),
      ...absent.map((folder) => `${agent.name} cannot read ${folder}: it is not there`),
    ],
    secrets: keys,
  };
}

function promptOf(agent: AgentDefinition, prompt: string | undefined): readonly string[] {
  if (prompt === undefined) return [];
  const words = agent.promptArguments ?? ["{prompt}"];
  return words.map((word) => word.replaceAll("{prompt}", () => prompt));
}

function keySecret(
  { variable, hosts }: { readonly variable: string; readonly hosts: readonly string[] },
  env: Environment,
): readonly AgentSecret[] {
  const value = env[variable];
  if (value === undefined || value === "") return [];
  const bindings = hosts.map((place) => {
    const [host = "", port] = place.split(":");
    const positions = ["header" as const];
    return { host, positions, ...(port === undefined ? {} : { port: Number(port) }) };
  });
  return [{ name: variable, value, bindings }];
}
