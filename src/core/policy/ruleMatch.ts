import type { ConditionVariables } from "./condition.ts";
import { matchesHost, matchesName, matchesPath } from "./glob.ts";
import type { CallFacts } from "./judge.ts";
import { methodsOf } from "./methods.ts";
import type { CompiledRule } from "./parsePolicy.ts";
import type { PolicyRule, When } from "./policyFile.ts";

/** Whether a rule matches a call; `failed` when its condition could not be evaluated: then the call holds. */
export type RuleMatch =
  | { readonly kind: "no" }
  | { readonly kind: "yes" }
  | { readonly kind: "failed"; readonly message: string };

/**
 * Matches one rule. A request can do several things at once (refs of a push, tools of a batch, fields of a mutation), or
 * be read in several ways (the method that the origin takes for the one that counts): a rule that allows must match all of
 * them, a rule that holds or denies needs to match one.
 */
export function matchRule(
  compiled: CompiledRule,
  facts: CallFacts,
  variables: () => ConditionVariables,
): RuleMatch {
  if (!matchesWhen(compiled.rule, facts)) return { kind: "no" };
  const { condition } = compiled;
  if (condition === undefined) return { kind: "yes" };
  const isAllow = compiled.rule.verdict === "allow";
  let matches = isAllow;
  for (const method of methodsOf(facts)) {
    const result = condition({ ...variables(), method });
    if (result.kind === "failed") return { kind: "failed", message: result.message };
    if (result.value !== isAllow) matches = result.value;
  }
  return { kind: matches ? "yes" : "no" };
}

/** Whether one of the rule's hosts is this very host, not a pattern over it. */
export function namesHostExactly(rule: PolicyRule, host: string): boolean {
  return listOf(rule.when.host).some((one) => one === host);
}

function matchesWhen(rule: PolicyRule, facts: CallFacts): boolean {
  const { when, verdict } = rule;
  const isAllow = verdict === "allow";
  return (
    any(when.host, (one) => matchesHost(one, facts.host)) &&
    any(when.port, (one) => one === facts.port) &&
    // Passing without inspection is asked for by name, never a by-product of opening a host.
    !(isAllow && facts.kind === "tcp" && when.kind === undefined) &&
    any(when.kind, (one) => one === facts.kind) &&
    (when.method === undefined || several(when.method, methodsOf(facts), coversMethod, isAllow)) &&
    any(when.path, (one) => matchesRulePath(one, facts.path, isAllow)) &&
    several(
      when.ref,
      (facts.git?.refs ?? []).map((one) => one.ref),
      matchesRef,
      isAllow,
    ) &&
    several(
      when.server,
      (facts.mcp ?? []).map((one) => one.server),
      matchesName,
      isAllow,
    ) &&
    several(when.tool, namesOf(facts), matchesName, isAllow) &&
    !(isAllow && destroys(facts, when))
  );
}

/** A tool that says of itself that it destroys is allowed by its own name only, not by a pattern over many. */
function destroys(facts: CallFacts, when: When): boolean {
  return (facts.mcp ?? []).some(
    (one) => one.destructive === true && !listOf(when.tool).some((name) => name === one.tool),
  );
}

function coversMethod(wanted: string, method: string): boolean {
  return wanted === method || (wanted === "GET" && method === "HEAD");
}

/** What may be stricter compares without regard to case: some servers do. */
function matchesRulePath(pattern: string, path: string, isAllow: boolean): boolean {
  if (matchesPath(pattern, path)) return true;
  return !isAllow && matchesPath(pattern.toLowerCase(), path.toLowerCase());
}

/** `main` means `refs/heads/main`. */
function matchesRef(pattern: string, ref: string): boolean {
  return matchesPath(pattern.startsWith("refs/") ? pattern : `refs/heads/${pattern}`, ref);
}

/** Tools that are called and root fields that are asked for. */
function namesOf(facts: CallFacts): readonly string[] {
  const tools = (facts.mcp ?? []).filter((one) => one.method === "tools/call");
  return [
    ...tools.map((one) => one.tool ?? ""),
    ...(facts.graphql ?? []).flatMap((one) => one.fields),
  ];
}

function any<T>(wanted: T | readonly T[] | undefined, matches: (one: T) => boolean): boolean {
  return wanted === undefined || listOf(wanted).some(matches);
}

function several(
  wanted: When["tool"],
  found: readonly string[],
  matches: (pattern: string, text: string) => boolean,
  isAllow: boolean,
): boolean {
  if (wanted === undefined) return true;
  if (found.length === 0) return false;
  const isWanted = (text: string) => listOf(wanted).some((pattern) => matches(pattern, text));
  return isAllow ? found.every(isWanted) : found.some(isWanted);
}

function listOf<T>(value: T | readonly T[] | undefined): readonly T[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? (value as readonly T[]) : [value as T];
}
