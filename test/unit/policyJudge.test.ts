import assert from "node:assert/strict";
import type { PolicySources } from "../../src/core/policy/compilePolicy.ts";
import type { CallFacts, Judgement } from "../../src/core/policy/judge.ts";
import type { PolicyFile } from "../../src/core/policy/policyFile.ts";
import { factsOf, judged, policyOf, pushOf } from "../support/judged.ts";

const records = (count: number) => ({
  inputs: Array.from({ length: count }, (_, at) => ({ id: String(at) })),
});

const crm = "POST https://api.hubapi.com/crm/v3/objects/deals/batch/archive";

const crmPolicy: PolicyFile = {
  version: 1,
  rules: [
    {
      id: "crm-archive",
      when: {
        host: "api.hubapi.com",
        method: ["POST"],
        path: "/crm/v3/objects/*/batch/archive",
        if: "size(body.inputs) > task.limits.records",
      },
      verdict: "hold",
      reversibility: "irreversible",
      reason: "archives more records than the task allows",
    },
  ],
};

function allowing(when: PolicyFile["rules"][number]["when"]): Partial<PolicySources> {
  return { user: policyOf({ version: 1, rules: [{ id: "open", when, verdict: "allow" }] }) };
}

function check(
  title: string,
  facts: CallFacts,
  sources: Partial<PolicySources>,
  expected: Partial<Judgement>,
): void {
  it(title, () => {
    const judgement = judged(facts, sources);
    assert.deepEqual({ ...judgement, ...expected }, judgement);
  });
}

describe("policy: what happens without rules", () => {
  check(
    "reads of a registry pass",
    factsOf("GET https://registry.npmjs.org/zod"),
    {},
    {
      verdict: "allow",
      traffic: "disclosure",
      reversibility: "irreversible",
      rule: "preset.registries",
    },
  );
  const ofLogin = {
    reads: [],
    logins: [{ host: "oauth2.googleapis.com", path: "/token" }],
    account: [{ host: "oauth2.googleapis.com", path: "/tokeninfo" }],
  };
  check(
    "what an agent's login asks about itself passes",
    factsOf("POST https://oauth2.googleapis.com/tokeninfo"),
    { agent: ofLogin },
    { verdict: "allow", traffic: "model", rule: "default.model" },
  );
  check(
    "a rule of the user's comes before what a login asks about itself",
    factsOf("POST https://oauth2.googleapis.com/tokeninfo"),
    {
      agent: ofLogin,
      user: policyOf({
        version: 1,
        rules: [{ id: "never", when: { host: "oauth2.googleapis.com" }, verdict: "deny" }],
      }),
    },
    { verdict: "deny", rule: "user:never" },
  );
  check(
    "nothing else at that host passes",
    factsOf("POST https://oauth2.googleapis.com/revoke"),
    { agent: ofLogin },
    { verdict: "hold" },
  );
  check(
    "new tokens are denied beside it",
    factsOf("POST https://oauth2.googleapis.com/token"),
    { agent: ofLogin },
    { verdict: "deny", rule: "floor.login" },
  );
  check(
    "reads of an unknown host hold",
    factsOf("GET https://example.org/"),
    {},
    {
      verdict: "hold",
      rule: "default.unmatched",
      likeness: "default.unmatched read example.org",
    },
  );
  check(
    "no preset, no read",
    factsOf("GET https://registry.npmjs.org/zod"),
    { presets: [] },
    {
      verdict: "hold",
    },
  );
  check(
    "a change of an unknown host cannot be undone",
    factsOf("PUT https://example.org/a", {}),
    {},
    {
      verdict: "hold",
      reversibility: "irreversible",
      traffic: "change",
    },
  );
  check(
    "a read with a body is a change",
    factsOf("GET https://pypi.org/simple", { a: 1 }),
    {},
    {
      verdict: "hold",
      traffic: "change",
    },
  );
  check(
    "a read whose address carries content holds",
    factsOf(`GET https://github.com/search?q=${"x".repeat(3000)}`),
    {},
    { verdict: "hold", rule: "default.long-read" },
  );
  check(
    "a read that uses a secret holds",
    factsOf("GET https://api.github.com/user", undefined, { secrets: ["GITHUB"] }),
    {},
    { verdict: "hold", rule: "default.secret", reason: "it uses the secret GITHUB" },
  );
  check(
    "the agent's model passes",
    factsOf(
      "POST https://api.anthropic.com/v1/messages",
      { messages: [1, 2] },
      { modelHost: true },
    ),
    {},
    { verdict: "allow", traffic: "model", namesHost: true },
  );
  check(
    "what cannot be inspected holds, the model too",
    factsOf("CONNECT https://api.anthropic.com/", undefined, {
      kind: "tcp",
      scheme: "tcp",
      modelHost: true,
    }),
    {},
    { verdict: "hold", traffic: "opaque" },
  );
  check(
    "a WebSocket holds",
    factsOf("GET wss://github.com/live"),
    {},
    {
      verdict: "hold",
      traffic: "opaque",
    },
  );
  check(
    "telemetry is refused",
    factsOf("POST https://statsig.anthropic.com/v1/rgstr", {}),
    {},
    {
      verdict: "deny",
      rule: "default.telemetry",
    },
  );
  check(
    "an overridden method counts",
    factsOf("GET https://api.github.com/repos/a/b", undefined, {}, [
      ["x-http-method-override", "DELETE"],
    ]),
    {},
    { verdict: "hold", rule: "floor.delete" },
  );
  check(
    "of several overriding methods the one that is no read counts",
    factsOf("GET https://api.github.com/repos/a/b?_method=get", undefined, {}, [
      ["x-http-method", "GET"],
      ["x-http-method-override", "HEAD"],
      ["x-method-override", " delete "],
    ]),
    {},
    { verdict: "hold", rule: "floor.delete" },
  );
  check(
    "an overriding parameter counts beside a header that says a read",
    factsOf("GET https://api.github.com/repos/a/b?_method=DELETE", undefined, {}, [
      ["x-http-method-override", "GET"],
    ]),
    {},
    { verdict: "hold", rule: "floor.delete" },
  );
});

describe("policy: a shape does not make a read", () => {
  const issues = "POST https://api.github.com/repos/ada/engine/issues";
  const forged = [
    [
      "authorization",
      "AWS4-HMAC-SHA256 Credential=AK/20260101/us-east-1/ec2/aws4_request, Signature=0",
    ],
    ["x-amz-target", "A.DescribeInstances"],
  ] as const;
  check(
    "a GraphQL query elsewhere",
    factsOf(issues, { query: "{ viewer { id } }", title: "x" }),
    {},
    {
      verdict: "hold",
      traffic: "change",
    },
  );
  check(
    "a ping of MCP",
    factsOf(issues, { jsonrpc: "2.0", id: 1, method: "ping", title: "x" }),
    {},
    {
      verdict: "hold",
      traffic: "change",
    },
  );
  check(
    "a signed read",
    factsOf(issues, { title: "x" }, {}, forged),
    {},
    {
      verdict: "hold",
      traffic: "change",
    },
  );
  check(
    "two AWS actions in one request",
    factsOf("POST https://ec2.us-east-1.amazonaws.com/", "Action=TerminateInstances", {}, forged),
    allowing({ host: "ec2.us-east-1.amazonaws.com" }),
    { verdict: "hold", rule: "floor.unparsable" },
  );
});

describe("policy: git", () => {
  const open = allowing({ host: "github.com" });
  check(
    "a new branch is recoverable",
    pushOf(["refs/heads/fix", "create"]),
    {},
    {
      verdict: "hold",
      reversibility: "recoverable",
      wayBack: "delete the branch fix",
      rule: "default.recoverable",
    },
  );
  check("… and a rule can allow it", pushOf(["refs/heads/fix", "create"]), open, {
    verdict: "allow",
    rule: "user:open",
  });
  const floors = [
    ["the default branch", "default-branch", ["refs/heads/main", "update"]],
    ["another name for it", "default-branch", ["refs/heads/Master", "create"]],
    ["a release branch", "default-branch", ["refs/heads/release/2", "update"]],
    ["a forced update", "force-push", ["refs/heads/fix", "update", "forced"]],
    ["an update that may be forced", "force-push", ["refs/heads/fix", "update", "unknown"]],
    ["a deleted branch", "delete-branch", ["refs/heads/fix", "delete"]],
    ["a tag", "tag", ["refs/tags/v1", "create"]],
    ["a ref of another kind", "other-ref", ["refs/notes/commits", "update"]],
  ] as const;
  for (const [title, floor, ref] of floors) {
    check(`${title} holds whatever a rule says`, pushOf(ref), open, {
      verdict: "hold",
      reversibility: "irreversible",
      rule: `floor.${floor}`,
    });
  }
  check(
    "one bad ref among good ones decides",
    pushOf(["refs/heads/a", "create"], ["refs/heads/main", "update"]),
    open,
    {
      verdict: "hold",
      rule: "floor.default-branch",
      blastRadius: { count: 2, unit: "refs" },
    },
  );
  check("a push without readable refs holds", pushOf(), open, {
    verdict: "hold",
    rule: "floor.unparsable",
  });
  check(
    "an allow of refs must match all of them",
    pushOf(["refs/heads/agent/a", "create"], ["refs/heads/b", "create"]),
    allowing({ host: "github.com", ref: "agent/*" }),
    { verdict: "hold", rule: "default.recoverable" },
  );
  check(
    "the workspace's own default branch",
    pushOf(["refs/heads/next", "update"]),
    { ...open, defaultBranches: ["next"] },
    { verdict: "hold", rule: "floor.default-branch" },
  );
  check(
    "fetching from a code host passes",
    factsOf("GET https://github.com/ada/engine.git/info/refs?service=git-upload-pack"),
    {},
    { verdict: "allow", traffic: "disclosure" },
  );
});

describe("policy: tasks and their limits", () => {
  const task = { text: "close the stale opportunities", limits: { records: "50" } };
  const open = allowing({ host: "api.hubapi.com" });
  check(
    "the rule of the manual",
    factsOf(crm, records(214)),
    { user: policyOf(crmPolicy), task },
    {
      verdict: "hold",
      rule: "user:crm-archive",
      reversibility: "irreversible",
      reason: "archives more records than the task allows",
      blastRadius: { count: 214, unit: "records", limit: 50 },
      summary: "Archives records on HubSpot (214 records, the task allows 50)",
    },
  );
  check(
    "a condition that cannot be evaluated holds",
    factsOf(crm, records(3)),
    { user: policyOf(crmPolicy) },
    {
      verdict: "hold",
      rule: "user:crm-archive",
      reason: "the condition of the rule crm-archive could not be evaluated: No such key: records",
    },
  );
  check(
    "a limit needs no rule",
    factsOf(crm, records(214)),
    { ...open, task },
    {
      verdict: "hold",
      rule: "floor.limit",
      reason: "it is 214 records; the task allows 50",
    },
  );
  check(
    "within the limit a rule allows",
    factsOf(crm, records(50)),
    { ...open, task },
    {
      verdict: "allow",
    },
  );
  check(
    "what went before counts",
    factsOf(crm, records(20)),
    { ...open, task, spent: () => ({ records: 40 }) },
    {
      verdict: "hold",
      reason: "it is 20 records after 40 earlier in this transaction; the task allows 50",
    },
  );
  check(
    "other hosts than the task names hold",
    factsOf("GET https://registry.npmjs.org/zod"),
    { task: { limits: { hosts: "api.hubapi.com, *.github.com" } } },
    { verdict: "hold", rule: "floor.limit" },
  );
  check(
    "a workspace lowers a limit",
    factsOf(crm, records(20)),
    {
      ...open,
      task,
      workspace: policyOf({ version: 1, limits: { records: 10 }, rules: [] }, "workspace"),
    },
    { verdict: "hold", rule: "floor.limit" },
  );
  check(
    "… and cannot raise it",
    factsOf(crm, records(60)),
    {
      ...open,
      task,
      workspace: policyOf({ version: 1, limits: { records: 500 }, rules: [] }, "workspace"),
    },
    { verdict: "hold", rule: "floor.limit" },
  );
});
