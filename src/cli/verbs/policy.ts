import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { Failure } from "../../base/errors.ts";
import { problemLine } from "../../node/state/configFile.ts";
import { printJson, text, workspaceOf, type Verb } from "../context.ts";

export const policyCheckVerb: Verb = {
  usage: "holdfast policy check [FILE]",
  summary: "Checks a policy file (default: your own): every problem with its line and column.",
  options: {},
  positionals: [0, 1],
  run: async (context) => {
    // The policy's reader is loaded when it reads: no other command waits for it.
    const { checkPolicyFile, userPolicyPath } = await import("../../node/policy/policyFiles.ts");
    const named = context.positionals[0];
    const file =
      named === undefined ? userPolicyPath(context.env) : path.resolve(context.cwd, named);
    if (named === undefined && !existsSync(file)) {
      if (context.json) printJson(context, { file, problems: [] });
      else context.print(`${file}: there is none; the built-in policy is in force\n`);
      return 0;
    }
    const problems = checkPolicyFile(file, "user");
    if (context.json) printJson(context, { file, problems });
    if (problems.length > 0) {
      for (const problem of context.json ? [] : problems) context.say(problemLine(problem));
      throw new Failure("failed", "policy-invalid", `${problems.length} problems in ${file}`);
    }
    if (!context.json) context.print(`${file}: valid\n`);
    return 0;
  },
};

export const policyExplainVerb: Verb = {
  usage: "holdfast policy explain METHOD URL [--body FILE] [--json]",
  summary: "Tells what the policy in force would say about a call, and why; nothing is sent.",
  options: { body: "string", policy: "string" },
  positionals: [2, 2],
  run: async (context) => {
    const { readPolicies } = await import("../../node/policy/policyFiles.ts");
    const { compilePolicy } = await import("../../core/policy/compilePolicy.ts");
    const { explainCall } = await import("../../node/policy/explainCall.ts");
    const [method = "", url = ""] = context.positionals;
    const workspace = workspaceOf(context);
    const file = text(context, "policy");
    const policies = readPolicies({
      workspace,
      env: context.env,
      file: file === undefined ? undefined : path.resolve(context.cwd, file),
    });
    const judge = compilePolicy({ ...policies, task: { limits: {} } });
    const bodyFile = text(context, "body");
    const body =
      bodyFile === undefined ? undefined : readFileSync(path.resolve(context.cwd, bodyFile));
    const { verdict, reversibility, rule, reason, wayBack } = explainCall(judge, method, url, body);
    if (context.json) printJson(context, { verdict, reversibility, rule, reason });
    else {
      context.print(`${verdict} (${reversibility}) by ${rule}: ${reason}\n`);
      if (wayBack !== undefined) context.print(`way back: ${wayBack}\n`);
    }
    return 0;
  },
};
