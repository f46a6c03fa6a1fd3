import type { LaunchRequest } from "../../runtime/agent.ts";
import type { AgentLaunch, AgentSecret } from "../../runtime/ports.ts";
import { commonLaunch } from "./commandAgent.ts";
import { programVersion } from "./findProgram.ts";

/** What the adapter of an agent of its own program says beyond what all launches have in common. */
export interface LaunchParts {
  /** The agent's program, as it was found. */
  readonly program: string;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly files: AgentLaunch["files"];
  readonly modelHosts: readonly string[];
  readonly logins: NonNullable<AgentLaunch["logins"]>;
  readonly account?: NonNullable<AgentLaunch["account"]>;
  readonly secrets: readonly AgentSecret[];
  /** Said where there is no secret: how to get one. */
  readonly withoutSecret: string;
}

/** The launch of an agent that has a program of its own. */
export function launchOf(request: LaunchRequest, parts: LaunchParts): AgentLaunch {
  const { program: found, withoutSecret, ...rest } = parts;
  const common = commonLaunch(request, found);
  const version = programVersion(found);
  return {
    ...rest,
    readOnly: common.readOnly,
    env: { ...common.env, ...parts.env },
    program: { path: found, ...(version === undefined ? {} : { version }) },
    ...(parts.secrets.length > 0 ? {} : { notes: [withoutSecret] }),
  };
}
