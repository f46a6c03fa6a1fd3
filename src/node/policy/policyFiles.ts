import path from "node:path";
import { Failure } from "../../base/errors.ts";
import type { ConfigProblem } from "../../core/config/readConfig.ts";
import { type ParsedPolicy, parsePolicy, type PolicyOwner } from "../../core/policy/parsePolicy.ts";
import { configText, problemLine, userConfigPath } from "../state/configFile.ts";

/** The policies of one transaction, read once at its start; a file that does not exist is absent. */
export interface Policies {
  readonly user: ParsedPolicy | undefined;
  readonly workspace: ParsedPolicy | undefined;
}

/** Where a workspace keeps its policy; it can only narrow. */
export const workspacePolicyPath = ".holdfast/policy.json";

/** The user's policy: `$XDG_CONFIG_HOME/holdfast/policy.json`, else `~/.config/holdfast/policy.json`. */
export function userPolicyPath(env: NodeJS.ProcessEnv): string {
  return userConfigPath(env, "policy.json");
}

/**
 * Reads both policies. `file` is `--policy FILE` and must exist; without it the user's own file is taken when it is
 * there. The workspace's is read from the host's folder before the agent runs: what the agent writes there later counts
 * for nothing.
 *
 * @throws Failure `policy-invalid` naming file, line and column; `policy-missing`; `policy-unreadable`.
 */
export function readPolicies(options: {
  readonly workspace: string;
  readonly env: NodeJS.ProcessEnv;
  readonly file?: string | undefined;
}): Policies {
  const user = options.file ?? userPolicyPath(options.env);
  return {
    user: readPolicy(user, "user", options.file !== undefined),
    workspace: readPolicy(path.join(options.workspace, workspacePolicyPath), "workspace", false),
  };
}

/** Reads and checks one policy file; `undefined` when it does not exist and need not. */
export function readPolicy(
  file: string,
  owner: PolicyOwner,
  required: boolean,
): ParsedPolicy | undefined {
  const text = configText(file, owner, "policy");
  if (text === undefined) {
    if (!required) return undefined;
    throw new Failure("failed", "policy-missing", `${file} does not exist`, "name a policy file");
  }
  const parsed = parsePolicy(text, file, owner);
  if (parsed.policy === undefined) {
    const lines = parsed.problems.map(problemLine).join("; ");
    throw new Failure("failed", "policy-invalid", lines, "correct the policy file");
  }
  return parsed;
}

/** Everything that is wrong with a policy file, for `holdfast policy check`. */
export function checkPolicyFile(file: string, owner: PolicyOwner): readonly ConfigProblem[] {
  const text = configText(file, owner, "policy");
  if (text === undefined) {
    throw new Failure("failed", "policy-missing", `${file} does not exist`, "name a policy file");
  }
  return parsePolicy(text, file, owner).problems;
}
