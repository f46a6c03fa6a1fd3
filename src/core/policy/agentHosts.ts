import { matchesHost, matchesPath } from "./glob.ts";
import type { Ground } from "./ground.ts";
import type { CallFacts } from "./judge.ts";

/** What an agent's adapter says of the network, besides its model's hosts. */
export interface AgentHosts {
  /** Hosts that it may read from: exact, or `*.example.com`. */
  readonly reads: readonly string[];
  /** Where its login gets tokens; `path` is a glob. */
  readonly logins: readonly Place[];
  /** Where its login asks about itself; `path` is a glob. */
  readonly account?: readonly Place[];
}

interface Place {
  readonly host: string;
  readonly path: string;
}

function isAt(places: readonly Place[], facts: CallFacts): boolean {
  return places.some(
    (one) => matchesHost(one.host, facts.host) && matchesPath(one.path, facts.path),
  );
}

/** Denies getting tokens of a login: the answer would carry them into the sandbox. No rule loosens it. */
export function loginGround(facts: CallFacts, agent: AgentHosts | undefined): readonly Ground[] {
  if (!isAt(agent?.logins ?? [], facts)) return [];
  const reason =
    "it would bring new tokens of the agent's login into the sandbox; log in outside, then start again";
  return [{ verdict: "deny", rule: "floor.login", reason }];
}

/** The agent's login asks its maker about itself. */
export function isAccount(facts: CallFacts, agent: AgentHosts | undefined): boolean {
  return isAt(agent?.account ?? [], facts);
}
