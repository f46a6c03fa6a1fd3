import assert from "node:assert/strict";
import { compilePolicy, type PolicySources } from "../../src/core/policy/compilePolicy.ts";
import type { CallFacts, Judgement } from "../../src/core/policy/judge.ts";
import { type ParsedPolicy, parsePolicy } from "../../src/core/policy/parsePolicy.ts";
import type { PolicyFile } from "../../src/core/policy/policyFile.ts";
import { factsOfUrl } from "../../src/node/broker/callFacts.ts";

/** The facts of one call, made by the broker's own parsers; an object body is sent as JSON, a string as a form, and `raw` under the type
 * that the headers say. */
export function factsOf(
  line: string,
  body?: object | string,
  more: Partial<CallFacts> = {},
  headers: readonly (readonly [string, string])[] = [],
  raw?: string,
): CallFacts {
  const [method = "", url = ""] = line.split(" ");
  const text =
    raw ?? (body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body));
  const type = typeof body === "string" ? "application/x-www-form-urlencoded" : "application/json";
  const all = [...(body === undefined ? [] : [["content-type", type] as const]), ...headers];
  const facts = factsOfUrl(method, url, all, new TextEncoder().encode(text));
  assert.ok(facts, `${line} has facts`);
  return { ...facts, ...more };
}

/** A policy that must parse. */
export function policyOf(policy: PolicyFile, owner: "user" | "workspace" = "user"): ParsedPolicy {
  const parsed = parsePolicy(JSON.stringify(policy), `${owner}.json`, owner);
  assert.deepEqual(parsed.problems, []);
  return parsed;
}

/** Judges one call by the given sources; the task is empty when none is given. */
export function judged(facts: CallFacts, sources: Partial<PolicySources> = {}): Judgement {
  return compilePolicy({ task: {}, ...sources })(facts);
}

/** Facts of a git push of the given refs to a GitHub repository. */
export function pushOf(
  ...refs: readonly (readonly [
    ref: string,
    change: "create" | "update" | "delete",
    ancestry?: "fastForward" | "forced" | "unknown",
  ])[]
): CallFacts {
  return factsOf("POST https://github.com/ada/engine.git/git-receive-pack", undefined, {
    kind: "git",
    bodyType: "git",
    git: {
      action: "push",
      service: "git-receive-pack",
      repository: "ada/engine",
      refs: refs.map(([ref, change, ancestry]) => ({
        ref,
        change,
        ancestry: ancestry ?? "fastForward",
        from: change === "create" ? "0".repeat(40) : "a".repeat(40),
        to: change === "delete" ? "0".repeat(40) : "b".repeat(40),
      })),
    },
  });
}
