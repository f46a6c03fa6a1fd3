import { Failure } from "../../base/errors.ts";
import type { AgentAdapter, LaunchRequest } from "../../runtime/agent.ts";
import { acp } from "./acp.ts";
import { claudeCode } from "./claudeCode.ts";
import { codex } from "./codex.ts";
import { commandAgent, scriptedAgent } from "./commandAgent.ts";
import { gemini } from "./gemini.ts";
import { opencode } from "./opencode.ts";
import { userAgents } from "./userAgents.ts";

/** The agents that come with Holdfast, in the order in which they are offered. */
export const builtInAgents: readonly AgentAdapter[] = [
  claudeCode,
  codex,
  opencode,
  gemini,
  acp,
  commandAgent,
  scriptedAgent,
];

const builtInNames = builtInAgents.map(({ name }) => name);

/** All agents, those of the person's own first. Throws a Failure where their file is wrong (see {@link userAgents}). */
export function agentsOf(
  env: LaunchRequest["env"],
  workspace: string | undefined,
): readonly AgentAdapter[] {
  return [...userAgents(env, builtInNames, workspace), ...builtInAgents];
}

/** The agent of that name. Throws a Failure of kind `usage` when there is none. The person's file is read for a name that is
 * not built in only: a mistake there stops nobody else. */
export function adapterOf(
  name: string,
  env: LaunchRequest["env"],
  workspace: string | undefined,
): AgentAdapter {
  const builtIn = builtInAgents.find((agent) => agent.name === name);
  if (builtIn !== undefined) return builtIn;
  const all = agentsOf(env, workspace);
  const found = all.find((agent) => agent.name === name);
  if (found !== undefined) return found;
  const fix = `one of: ${all.map((agent) => agent.name).join(", ")}`;
  throw new Failure("usage", "unknown-agent", `unknown agent ${JSON.stringify(name)}`, fix);
}
