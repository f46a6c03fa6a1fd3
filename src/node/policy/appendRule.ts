import { readFileSync } from "node:fs";
import { applyEdits, modify } from "jsonc-parser";
import { Failure } from "../../base/errors.ts";
import { parsePolicy } from "../../core/policy/parsePolicy.ts";
import type { PolicyRule } from "../../core/policy/policyFile.ts";
import { problemLine } from "../state/configFile.ts";
import { replaceFile } from "../state/replaceFile.ts";

const emptyPolicy = '{\n  "version": 1,\n  "rules": []\n}\n';

/**
 * Adds a rule to the user's policy, or takes the place of the one with its id; comments and layout stay. The file is
 * replaced as a whole, private to its owner.
 *
 * @throws Failure `policy-invalid` when the file, or what would become of it, is not a valid policy.
 */
export function appendRule(file: string, rule: PolicyRule): void {
  const before = readOrEmpty(file);
  const current = parsePolicy(before, file, "user");
  if (current.policy === undefined) throw invalid(current.problems.map(problemLine));
  const at = current.policy.rules.findIndex((one) => one.id === rule.id);
  const place = at < 0 ? current.policy.rules.length : at;
  const edits = modify(before, ["rules", place], rule, {
    formattingOptions: { insertSpaces: true, tabSize: 2, insertFinalNewline: true },
    isArrayInsertion: at < 0,
  });
  const after = applyEdits(before, edits);
  const checked = parsePolicy(after, file, "user");
  if (checked.policy === undefined) throw invalid(checked.problems.map(problemLine));
  replaceFile(file, after);
}

function readOrEmpty(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return emptyPolicy;
    throw error;
  }
}

function invalid(lines: readonly string[]): Failure {
  return new Failure("failed", "policy-invalid", lines.join("; "), "correct the policy file");
}
