import type { Reversibility } from "../journal/entry.ts";
import { isAccount, type AgentHosts, loginGround } from "./agentHosts.ts";
import { classify, noBranches, serviceOf } from "./classify.ts";
import { type ConditionVariables, conditionVariables } from "./condition.ts";
import { defaultVerdict } from "./defaults.ts";
import type { CallFacts, Judge, Judgement } from "./judge.ts";
import { amount, limitFloor, type Spent, withLimit } from "./limits.ts";
import { type Floor, holdingFloor } from "./floor.ts";
import type { Ground } from "./ground.ts";
import type { Meaning } from "./meaning.ts";
import { methodsOf } from "./methods.ts";
import type { CompiledRule, ParsedPolicy } from "./parsePolicy.ts";
import type { PresetId } from "./presets.ts";
import { strictestReversibility } from "./reversibility.ts";
import { namesOtherPlace } from "./otherPlace.ts";
import { matchRule, namesHostExactly } from "./ruleMatch.ts";
import { type DeclaredTask, type TaskScope, taskScope } from "./taskScope.ts";
import { compareVerdict } from "./verdict.ts";

/** What a judge is made of. Policies come from {@link parsePolicy} and have no problems. */
export interface PolicySources {
  readonly user?: ParsedPolicy | undefined;
  readonly workspace?: ParsedPolicy | undefined;
  readonly task: DeclaredTask;
  /** Presets where the user's policy names none; left out: the default ones. */
  readonly presets?: readonly PresetId[];
  /** What the agent needs and must not get. */
  readonly agent?: AgentHosts | undefined;
  /** Names of branches that the workspace's remotes call default, besides the usual ones. */
  readonly defaultBranches?: readonly string[];
  /** What the transaction has done so far; asked at every call. */
  readonly spent?: () => Spent;
}

/**
 * Makes a judge of the built-in knowledge, the user's policy, the workspace's policy and the declared task.
 *
 * The user's matching rules take the place of the default; floors, limits and the workspace's rules can only make that
 * stricter; the strictest of all wins. What cannot be judged holds.
 */
export function compilePolicy(sources: PolicySources): Judge {
  const task = taskScope(
    sources.task,
    sources.user?.policy?.limits ?? {},
    sources.workspace?.policy?.limits ?? {},
  );
  return (facts) => {
    try {
      return judgeCall(facts, sources, task);
    } catch (error) {
      return unjudged(facts, error);
    }
  };
}

function judgeCall(facts: CallFacts, sources: PolicySources, task: TaskScope): Judgement {
  const meaning = meaningOf(facts, sources);
  const count = meaning.blastRadius?.count ?? (meaning.traffic === "change" ? 1 : 0);
  let variables: ConditionVariables | undefined;
  const lazily = () => (variables ??= conditionVariables(facts, task, count));
  const user = matching(sources.user?.rules ?? noRules, facts, "user", lazily);
  const workspace = matching(sources.workspace?.rules ?? noRules, facts, "workspace", lazily);
  const namesHost =
    facts.modelHost || user.some((one) => namesHostExactly(one.compiled.rule, facts.host));
  const presets = sources.user?.policy?.presets ?? sources.presets;
  const limit = limitFloor(facts, meaning, task, sources.spent?.() ?? {});
  const floors = floorsOf(facts, meaning, namesHost, user, task);
  const grounds: readonly Ground[] = [
    ...user.map((one) => one.ground),
    ...(limit === undefined ? [] : [groundOfFloor(limit)]),
    ...floors.map(groundOfFloor),
    ...workspace.map((one) => one.ground),
    ...loginGround(facts, sources.agent),
    ...(user.some((one) => !one.failed)
      ? []
      : [defaultVerdict(facts, meaning, presets, sources.agent?.reads)]),
  ];
  const deciding = strictestGround(grounds);
  const reversibility = classOf(meaning, user, workspace);
  const wayBack =
    meaning.wayBack ?? user.find((one) => one.compiled.rule.wayBack)?.compiled.rule.wayBack;
  const radius = meaning.blastRadius && withLimit(meaning.blastRadius, task);
  const judgement: Mutable<Judgement> = {
    verdict: deciding.verdict,
    reversibility,
    traffic: meaning.traffic,
    rule: deciding.rule,
    reason: deciding.reason,
    summary: summaryOf(meaning, radius),
    likeness: likenessOf(grounds, deciding.verdict, meaning),
  };
  if (wayBack !== undefined && reversibility === "recoverable") judgement.wayBack = wayBack;
  if (radius !== undefined) judgement.blastRadius = radius;
  if (namesHost) judgement.namesHost = true;
  if (facts.kind === "tcp" && deciding.verdict === "allow") judgement.uninspected = true;
  return judgement;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
const noRules: readonly CompiledRule[] = [];

function talks(method: string): boolean {
  return ["GET", "HEAD", "POST", "OPTIONS"].includes(method);
}

/** The agent's own model is its own kind of traffic, whatever the API would say of the call; so is what its login asks about
 * itself. */
function meaningOf(facts: CallFacts, sources: PolicySources): Meaning {
  const meaning = classify(facts, sources.defaultBranches ?? noBranches);
  const isOwn = facts.modelHost || isAccount(facts, sources.agent);
  if (!isOwn || facts.kind === "tcp" || !methodsOf(facts).every(talks)) return meaning;
  return {
    id: "model",
    does: `talks to the agent's model on ${serviceOf(facts.host)?.name ?? facts.host}`,
    reversibility: "irreversible",
    traffic: "model",
    known: true,
    likeness: `model ${facts.host}`,
  };
}

interface Matched {
  readonly compiled: CompiledRule;
  readonly ground: Ground;
  readonly failed: boolean;
}

/** Rules that match; one whose condition cannot be evaluated holds. */
function matching(
  rules: readonly CompiledRule[],
  facts: CallFacts,
  owner: "user" | "workspace",
  variables: () => ConditionVariables,
): readonly Matched[] {
  const found: Matched[] = [];
  for (const compiled of rules) {
    const match = matchRule(compiled, facts, variables);
    if (match.kind === "no") continue;
    const rule = `${owner}:${compiled.rule.id}`;
    if (match.kind === "yes") {
      const reason = compiled.rule.reason ?? `the rule ${compiled.rule.id} says so`;
      const { verdict } = compiled.rule;
      found.push({ compiled, ground: { verdict, rule, reason }, failed: false });
      continue;
    }
    const reason = `the condition of the rule ${compiled.rule.id} could not be evaluated: ${match.message}`;
    found.push({ compiled, ground: { verdict: "hold", rule, reason }, failed: true });
  }
  return found;
}

function floorsOf(
  facts: CallFacts,
  meaning: Meaning,
  namesHost: boolean,
  user: readonly Matched[],
  task: TaskScope,
): readonly Floor[] {
  const floors: Floor[] = [];
  const inside = ["loopback", "private", "linkLocal", "metadata"].includes(facts.address);
  if (inside && !namesHost) {
    floors.push({
      id: "address",
      verdict: "deny",
      reason: `${facts.host} is a ${addressWords[facts.address]} address; only a rule that names it opens it`,
    });
  }
  if (meaning.floor !== undefined) floors.push(meaning.floor);
  if (meaning.traffic === "model") return floors;
  if (facts.bodyType === "opaque" && facts.kind !== "tcp" && !streamsTo(facts, user, task)) {
    const reason = `the body could not be read: ${facts.bodyProblem ?? "unknown form"}`;
    floors.push({ id: "unparsable", verdict: "hold", reason });
  }
  if (isOddPath(facts.path)) floors.push(holdingFloor("odd-path"));
  if (namesOtherPlace(facts)) floors.push(holdingFloor("other-place"));
  return floors;
}

/** A long upload passes where the user opens the host without a condition on the content, and the task sets no limit on what
 * it may send. */
function streamsTo(facts: CallFacts, user: readonly Matched[], task: TaskScope): boolean {
  const opened = user.some(
    ({ compiled }) => compiled.rule.verdict === "allow" && compiled.rule.when.if === undefined,
  );
  const isUpload = facts.kind === "http" && facts.bodyBytes === undefined && facts.streams === true;
  return isUpload && opened && task.limits["bytes"] === undefined;
}

const addressWords: Readonly<Record<CallFacts["address"], string>> = {
  public: "public",
  loopback: "loopback",
  private: "private",
  linkLocal: "link-local",
  metadata: "cloud metadata",
  unresolved: "not resolved",
};

/** Paths that servers read differently: empty segments, backslashes, control characters, escapes of plain letters, dots
 * with a parameter, what becomes a dot or a slash when it is decoded twice, and bytes that no UTF-8 has. */
function isOddPath(path: string): boolean {
  return (
    /\/\/|\\|\/\.{1,2};|[\u0000-\u001F\u007F]/.test(path) ||
    /%(?:25(?:2[ef]|5c)|c[01]|f[5-9a-f])/i.test(path) ||
    /%(?:0[0-9a-f]|1[0-9a-f]|2[de]|3[0-9]|4[1-9a-f]|5[0-9acf]|6[1-9a-f]|7[0-9aef])/i.test(path)
  );
}

function groundOfFloor(floor: Floor): Ground {
  return { verdict: floor.verdict, rule: `floor.${floor.id}`, reason: floor.reason };
}

function strictestGround(grounds: readonly Ground[]): Ground {
  return grounds.reduce((best, one) =>
    compareVerdict(one.verdict, best.verdict) > 0 ? one : best,
  );
}

/** Rules raise the class; only where nothing is known of the call do the user's rules set it. */
function classOf(
  meaning: Meaning,
  user: readonly Matched[],
  workspace: readonly Matched[],
): Reversibility {
  const said = (from: readonly Matched[]) =>
    from.filter((one) => !one.failed).flatMap((one) => one.compiled.rule.reversibility ?? []);
  const users = said(user);
  const own = meaning.known || users.length === 0 ? [meaning.reversibility] : [];
  return strictestReversibility(...own, ...users, ...said(workspace));
}

function summaryOf(meaning: Meaning, radius: Judgement["blastRadius"]): string {
  const text = meaning.does.charAt(0).toUpperCase() + meaning.does.slice(1);
  if (radius === undefined || (radius.count < 2 && radius.limit === undefined)) return text;
  const limit = radius.limit === undefined ? "" : `, the task allows ${radius.limit}`;
  return `${text} (${amount(radius.count, radius.unit)}${limit})`;
}

/**
 * What makes another call like this one: the same thing is done for the same reasons, all of them. An approval of a call
 * beyond a limit covers calls of that very size and no larger ones.
 */
function likenessOf(
  grounds: readonly Ground[],
  verdict: Judgement["verdict"],
  meaning: Meaning,
): string {
  const rules = grounds.filter((one) => one.verdict === verdict).map((one) => one.rule);
  const size = rules.includes("floor.limit") ? ` ${meaning.blastRadius?.count ?? 1}` : "";
  return `${[...new Set(rules)].sort().join("+")} ${meaning.likeness}${size}`;
}

function unjudged(facts: CallFacts, error: unknown): Judgement {
  return {
    verdict: "hold",
    reversibility: "irreversible",
    traffic: "opaque",
    rule: "floor.unjudged",
    reason: `the policy failed on this call: ${error instanceof Error ? error.message : String(error)}`,
    summary: `${facts.method} ${facts.host}`,
  };
}
