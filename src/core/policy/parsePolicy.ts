import { findNodeAtLocation, type Node } from "jsonc-parser";
import { type ConfigProblem, readConfig, type ReportProblem } from "../config/readConfig.ts";
import { compileCondition, type Condition } from "./condition.ts";
import { type PolicyFile, type PolicyRule, policySchema } from "./policyFile.ts";

/** Whose policy it is: a workspace's only narrows, and its conditions may not use regular expressions. */
export type PolicyOwner = "user" | "workspace";

/** A rule that is ready to be asked. */
export interface CompiledRule {
  readonly rule: PolicyRule;
  readonly condition?: Condition;
}

export interface ParsedPolicy {
  readonly policy?: PolicyFile;
  readonly rules: readonly CompiledRule[];
  readonly problems: readonly ConfigProblem[];
}

/** Reads a policy file: JSON with comments and trailing commas. `policy` is absent when there is any problem. */
export function parsePolicy(text: string, file: string, owner: PolicyOwner): ParsedPolicy {
  const { found, problems, report } = readConfig(text, file, policySchema);
  if (found === undefined) return { rules: [], problems };
  const rules = compileRules(found.value, found.tree, owner, found.text, report);
  return problems.length > 0 ? { rules: [], problems } : { policy: found.value, rules, problems };
}

function compileRules(
  policy: PolicyFile,
  tree: Node,
  owner: PolicyOwner,
  text: string,
  report: ReportProblem,
): readonly CompiledRule[] {
  const offsetOf = (...path: (string | number)[]) => findNodeAtLocation(tree, path)?.offset ?? 0;
  if (owner === "workspace" && policy.waiting !== undefined) {
    report(offsetOf("waiting"), "how clients wait is for the user's own policy");
  }
  if (owner === "workspace" && policy.presets !== undefined) {
    report(
      offsetOf("presets"),
      "presets are for the user's own policy: a workspace can only narrow",
    );
  }
  const seen = new Set<string>();
  return policy.rules.map((rule, at) => {
    if (seen.has(rule.id)) report(offsetOf("rules", at, "id"), `the id ${rule.id} is used twice`);
    seen.add(rule.id);
    if (rule.verdict === "allow" && !namesTarget(rule)) {
      report(
        offsetOf("rules", at, "when"),
        "a rule that allows must name a host, a server or a tool",
      );
    }
    if (rule.when.if === undefined) return { rule };
    const condition = compileCondition(rule.when.if, owner === "user");
    if (typeof condition === "function") return { rule, condition };
    const node = findNodeAtLocation(tree, ["rules", at, "when", "if"]);
    report(offsetInString(node, condition.offset, text), `in "if": ${condition.message}`);
    return { rule };
  });
}

/** An allow that names no target would open everything. */
function namesTarget(rule: PolicyRule): boolean {
  return (["host", "server", "tool"] as const).some((key) => rule.when[key] !== undefined);
}

/** Where a character of a decoded string stands in the text: escapes are longer than what they stand for. */
function offsetInString(node: Node | undefined, offset: number, text: string): number {
  if (node === undefined) return 0;
  let at = node.offset + 1;
  for (let decoded = 0; decoded < offset && at < node.offset + node.length - 1; decoded++) {
    if (text[at] !== "\\") at++;
    else at += text[at + 1] === "u" ? 6 : 2;
  }
  return at;
}
