import { matchesHost, matchesPath } from "./glob.ts";
import type { Ground } from "./ground.ts";
import type { CallFacts } from "./judge.ts";

/** What an agent's adapter says of the network, besides its model's hosts. */
export interface AgentHosts {
  /** Hosts that it may read from: exact, or `*.example.com`. */
  readonly reads: readonly string[];
  /** Where its login gets tokens; `path` is a glob. */
  readonly logins: readonly { readonly host: string; readonly path: string }[];
}

/** Denies getting tokens of a login: the answer would carry them into the sandbox. No rule loosens it. */
export function loginGround(facts: CallFacts, agent: AgentHosts | undefined): readonly Ground[] {
  const isLogin = (agent?.logins ?? []).some(
    (one) => matchesHost(one.host, facts.host) && matchesPath(one.path, facts.path),
  );
  if (!isLogin) return [];
  const reason =
    "it would bring new tokens of the agent's login into the sandbox; log in outside, then start again";
  return [{ verdict: "deny", rule: "floor.login", reason }];
}
