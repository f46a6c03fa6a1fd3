import path from "node:path";
import type { AgentAdapter, LaunchRequest } from "../../runtime/agent.ts";
import type { AgentLaunch } from "../../runtime/ports.ts";
import { commonLaunch, scriptDirectories } from "./commandAgent.ts";
import { requireProgram } from "./findProgram.ts";
import { gemini } from "./gemini.ts";
import { authorityOf, keysFor, modelAddress, passedOn, placeholders } from "./modelKeys.ts";
import { opencode } from "./opencode.ts";
import { quietTranslator } from "./scriptedEvents.ts";

/** Model services whose key agents take from the environment: any agent may use any of them. */
const models = [
  {
    keys: ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"],
    base: "ANTHROPIC_BASE_URL",
    address: "https://api.anthropic.com",
    passed: ["ANTHROPIC_MODEL"],
  },
  {
    keys: ["OPENAI_API_KEY"],
    base: "OPENAI_BASE_URL",
    address: "https://api.openai.com",
    passed: ["OPENAI_MODEL"],
  },
  {
    keys: ["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    base: "GOOGLE_GEMINI_BASE_URL",
    address: "https://generativelanguage.googleapis.com",
    passed: ["GEMINI_MODEL"],
  },
] as const;

/** What an agent gets of the models that the person has a key for: the address, and a placeholder for the key. */
function modelParts(
  env: LaunchRequest["env"],
): Pick<AgentLaunch, "env" | "modelHosts" | "secrets"> {
  const used = models.flatMap(({ keys, base, address, passed }) => {
    const model = modelAddress(env, base, address);
    const secrets = keysFor(env, keys, model);
    return secrets.length === 0 ? [] : [{ model, secrets, names: [base, ...passed] }];
  });
  const secrets = used.flatMap((one) => one.secrets);
  const names = used.flatMap((one) => one.names);
  return {
    env: { ...passedOn(env, names), ...placeholders(secrets) },
    modelHosts: used.map(({ model }) => authorityOf(model)),
    secrets,
  };
}

/** Agents of ours that speak the protocol themselves: set up as ever, they need no more questions and updates. */
const ofOurs: readonly AgentAdapter[] = [gemini, opencode];

/** The launch of one of our agents for a session; undefined where the command is another's. */
function launchOfOurs(request: LaunchRequest, found: string): Promise<AgentLaunch> | undefined {
  const { prompt: _, mcpServers: __, command, env, ...rest } = request;
  const name = path.basename(command[0] ?? "");
  const agent = ofOurs.find(({ program }) => program?.name === name);
  const variable = agent?.program?.variable;
  if (agent === undefined || variable === undefined) return undefined;
  const named = { ...env, [variable]: found };
  return agent.launch({ ...rest, command: command.slice(1), env: named, session: true });
}

/** Any command that speaks the Agent Client Protocol over its standard streams. */
export const acp: AgentAdapter = {
  name: "acp",
  title: "Any ACP agent",
  detail: "Runs a command of yours that speaks the Agent Client Protocol.",
  takesCommand: true,
  coverage: "partial",
  launch: (request) => {
    const name = request.command[0] ?? "";
    const fix =
      "give its command after `--`, for example `holdfast run --agent acp --prompt TEXT -- gemini --acp`";
    const program = requireProgram(name, request.env, request.workspace, fix);
    const ours = launchOfOurs(request, program);
    if (ours !== undefined) return ours;
    const common = commonLaunch(request, program);
    const model = modelParts(request.env);
    const argv = [name.includes("/") ? name : program, ...request.command.slice(1)];
    const own = { DISABLE_AUTOUPDATER: "1", IS_SANDBOX: "1" };
    const env = { ...common.env, ...own, ...model.env };
    const readOnly = [...new Set([...common.readOnly, ...scriptDirectories(request.command)])];
    return Promise.resolve({ argv, files: [], ...model, env, readOnly });
  },
  translator: quietTranslator,
  speaks: "acp",
};
