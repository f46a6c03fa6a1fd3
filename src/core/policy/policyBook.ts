import { classify, noBranches } from "./classify.ts";
import { compilePolicy, type PolicySources } from "./compilePolicy.ts";
import type { CallFacts, Judge, Judgement } from "./judge.ts";
import { addSpent, type Spent, spentBy } from "./limits.ts";
import { methodsOf } from "./methods.ts";
import { parsePolicy } from "./parsePolicy.ts";
import { type PolicyRule, policySchema } from "./policyFile.ts";

/** What an approval will cover, to be shown before it is given. */
export type ApprovalCover =
  | { readonly kind: "rule"; readonly rule: PolicyRule }
  | { readonly kind: "transaction"; readonly likeness: string }
  | { readonly kind: "none"; readonly why: string };

/**
 * The policy of one running transaction: a judge that learns.
 *
 * - An approval turns `hold` into `allow` for like calls; it never touches a `deny`.
 * - A rule that is added counts as one of the user's: floors and the workspace's rules still hold.
 * - What passed is counted against the limits of the task.
 */
export class PolicyBook {
  #sources: PolicySources;
  #judge: Judge;
  #spent: Spent = {};
  readonly #approved = new Set<string>();

  constructor(sources: PolicySources) {
    this.#sources = { ...sources, spent: () => this.#spent };
    this.#judge = compilePolicy(this.#sources);
  }

  /** Judges a call, with everything that was approved so far. */
  readonly judge: Judge = (facts) => {
    const judgement = this.#judge(facts);
    if (judgement.verdict !== "hold" || !this.#covers(judgement)) return judgement;
    return {
      ...judgement,
      verdict: "allow",
      rule: `approval:${judgement.rule}`,
      reason: `approved for this transaction: ${judgement.reason}`,
    };
  };

  /** Approves calls like this one until the transaction ends. */
  approve(judgement: Judgement): void {
    if (judgement.verdict === "hold" && judgement.likeness !== undefined) {
      this.#approved.add(judgement.likeness);
    }
  }

  /** Adds a rule to the user's, e.g. one that an approval became. */
  add(rule: PolicyRule): void {
    const user = this.#sources.user;
    const before = user?.policy ?? { version: 1 as const, rules: [] };
    const rules = [...before.rules.filter((one) => one.id !== rule.id), rule];
    const text = JSON.stringify(policySchema.parse({ ...before, rules }));
    this.#sources = { ...this.#sources, user: parsePolicy(text, "approval", "user") };
    this.#judge = compilePolicy(this.#sources);
  }

  /** Counts a call that went out against the limits of the task. */
  passed(facts: CallFacts): void {
    const meaning = classify(facts, this.#sources.defaultBranches ?? noBranches);
    this.#spent = addSpent(
      this.#spent,
      spentBy(facts, facts.modelHost ? { traffic: "model" } : meaning),
    );
  }

  #covers(judgement: Judgement): boolean {
    return judgement.likeness !== undefined && this.#approved.has(judgement.likeness);
  }
}

/** What an approval of a held call would cover in the given scope. */
export function approvalCover(
  facts: CallFacts,
  judgement: Judgement,
  scope: "transaction" | "rule",
): ApprovalCover {
  if (judgement.verdict !== "hold") return { kind: "none", why: "the call does not hold" };
  if (scope === "transaction") {
    return judgement.likeness === undefined
      ? { kind: "none", why: "nothing is known that makes another call like this one" }
      : { kind: "transaction", likeness: judgement.likeness };
  }
  if (judgement.rule.startsWith("floor.")) {
    return { kind: "none", why: "a built-in floor holds it; no rule can allow it" };
  }
  if (/^(user|workspace):/.test(judgement.rule)) {
    return { kind: "none", why: `the rule ${judgement.rule} holds it; the strictest rule wins` };
  }
  return { kind: "rule", rule: approvalRule(facts, judgement) };
}

/** The narrowest rule that allows this call and those that differ from it in content only. */
export function approvalRule(facts: CallFacts, judgement: Judgement): PolicyRule {
  const tools = (facts.mcp ?? []).flatMap((one) => one.tool ?? []);
  const names = [...tools, ...(facts.graphql ?? []).flatMap((one) => one.fields)];
  const refs = (facts.git?.refs ?? []).map((one) => one.ref);
  const servers = [...new Set((facts.mcp ?? []).map((one) => one.server))];
  const action = facts.aws?.action;
  const when: PolicyRule["when"] = {
    host: facts.host,
    port: facts.port,
    method: [...methodsOf(facts)],
    kind: facts.kind,
    ...(facts.kind === "tcp" ? {} : { path: facts.path }),
    ...(refs.length > 0 ? { ref: [...refs] } : {}),
    ...(servers.length > 0 ? { server: servers } : {}),
    ...(names.length > 0 ? { tool: [...names] } : {}),
    ...(action === undefined ? {} : { if: `aws.action == ${JSON.stringify(action)}` }),
  };
  return {
    id: `approved-${slugOf(`${facts.method} ${facts.host} ${facts.path} ${names.join(" ")}`)}`,
    when,
    verdict: "allow",
    reason: `approved by a person: ${judgement.summary}`,
  };
}

function slugOf(text: string): string {
  const words = text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-+|-+$/g, "");
  return words.length <= 60 ? words : `${words.slice(0, 50)}-${hashOf(text)}`;
}

/** FNV-1a, 32 bits: enough to keep two long names apart in one file. */
function hashOf(text: string): string {
  let hash = 0x811c9dc5;
  for (const character of text) {
    hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193) >>> 0;
  }
  return hash.toString(16).padStart(8, "0");
}
