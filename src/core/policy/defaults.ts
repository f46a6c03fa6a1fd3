import { matchesHost } from "./glob.ts";
import type { Ground } from "./ground.ts";
import type { CallFacts } from "./judge.ts";
import type { Meaning } from "./meaning.ts";
import { type Preset, type PresetId, presets as allPresets, telemetryHosts } from "./presets.ts";

/** A read whose address is longer than this, in characters, carries more than a question. */
const longestRead = 2_048;

/** The presets that are on; `undefined` means the default ones. */
export function enabledPresets(named: readonly PresetId[] | undefined): readonly Preset[] {
  return allPresets.filter((one) => (named === undefined ? one.byDefault : named.includes(one.id)));
}

/** The verdict where no rule of the user matches (DESIGN §5). */
export function defaultVerdict(
  facts: CallFacts,
  meaning: Meaning,
  named: readonly PresetId[] | undefined,
  agentReads: readonly string[] = [],
): Ground {
  if (meaning.traffic === "model") {
    return { verdict: "allow", rule: "default.model", reason: "the agent's own model" };
  }
  if (facts.kind !== "tcp" && telemetryHosts.some((one) => matchesHost(one, facts.host))) {
    return { verdict: "deny", rule: "default.telemetry", reason: "a program reports about itself" };
  }
  const enabled = enabledPresets(named);
  if (meaning.traffic === "disclosure")
    return defaultOfRead(facts, meaning, [...enabled, ofAgent(agentReads)]);
  return defaultOfChange(facts, meaning, enabled);
}

/** A list of hosts that may be read from. */
type Reads = Pick<Preset, "reads" | "reason"> & { readonly id: string };

function ofAgent(reads: readonly string[]): Reads {
  return { id: "agent", reads, reason: "the agent's own configuration names this host" };
}

function defaultOfRead(facts: CallFacts, meaning: Meaning, enabled: readonly Reads[]): Ground {
  const preset = enabled.find((one) => one.reads.some((host) => matchesHost(host, facts.host)));
  if (preset === undefined) {
    return {
      verdict: "hold",
      rule: "default.unmatched",
      reason: `no rule allows reading from ${facts.host}`,
    };
  }
  const [secret] = facts.secrets;
  if (secret !== undefined) {
    return {
      verdict: "hold",
      rule: "default.secret",
      reason: `it uses the secret ${facts.secrets.join(", ")}`,
    };
  }
  if (lengthOf(facts) > longestRead) {
    return {
      verdict: "hold",
      rule: "default.long-read",
      reason: `its address is longer than ${longestRead} characters: it may carry content out`,
    };
  }
  return {
    verdict: "allow",
    rule: `preset.${preset.id}`,
    reason: `${meaning.does}: ${preset.reason}`,
  };
}

function defaultOfChange(facts: CallFacts, meaning: Meaning, enabled: readonly Preset[]): Ground {
  const isOn = (allows: Preset["allows"]) => enabled.find((one) => one.allows === allows);
  const recoverable = meaning.reversibility === "recoverable" ? isOn("recoverable") : undefined;
  const comment = meaning.isComment === true ? isOn("comments") : undefined;
  const preset = recoverable ?? comment;
  if (preset !== undefined && facts.kind !== "tcp") {
    return { verdict: "allow", rule: `preset.${preset.id}`, reason: preset.reason };
  }
  if (!meaning.known) {
    const what = meaning.traffic === "opaque" ? "it cannot be inspected" : "nothing is known of it";
    return { verdict: "hold", rule: "default.unmatched", reason: `no rule allows it and ${what}` };
  }
  const back = meaning.wayBack === undefined ? "" : `; the way back: ${meaning.wayBack}`;
  return meaning.reversibility === "recoverable"
    ? { verdict: "hold", rule: "default.recoverable", reason: `it leaves the machine${back}` }
    : { verdict: "hold", rule: "default.irreversible", reason: "it cannot be called back" };
}

function lengthOf(facts: CallFacts): number {
  return facts.query.reduce(
    (sum, [name, value]) => sum + name.length + value.length,
    facts.path.length,
  );
}
