import assert from "node:assert/strict";
import fc from "fast-check";
import { compilePolicy } from "../../src/core/policy/compilePolicy.ts";
import { matchesName, matchesPath } from "../../src/core/policy/glob.ts";
import type { CallFacts } from "../../src/core/policy/judge.ts";
import type { PolicyFile } from "../../src/core/policy/policyFile.ts";
import {
  compareReversibility,
  strictestReversibility,
} from "../../src/core/policy/reversibility.ts";
import { compareVerdict, strictestVerdict, verdicts } from "../../src/core/policy/verdict.ts";
import { factsOf, policyOf, pushOf } from "../support/judged.ts";

const hosts = [
  "api.github.com",
  "github.com",
  "registry.npmjs.org",
  "api.stripe.com",
  "example.org",
];
const paths = [
  "/",
  "/a",
  "/repos/a/b",
  "/repos/a/b/pulls/1/merge",
  "/v1/charges",
  "/zod",
  "/graphql",
];
const bodies: readonly (object | undefined)[] = [
  undefined,
  {},
  { inputs: [1, 2, 3] },
  { query: "mutation { mergePullRequest { id } }" },
  { query: "{ viewer { id } }" },
  { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "merge_pull_request" } },
];

const request = fc
  .record({
    method: fc.constantFrom("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "BREW"),
    host: fc.constantFrom(...hosts, "127.0.0.1"),
    path: fc.constantFrom(...paths),
    body: fc.constantFrom(...bodies),
    secrets: fc.constantFrom([], ["TOKEN"]),
    opaque: fc.boolean(),
  })
  .map(({ method, host, path, body, secrets, opaque }): CallFacts => {
    const facts = factsOf(`${method} https://${host}${path}`, body, { secrets });
    return opaque ? { ...facts, bodyType: "opaque", bodyProblem: "malformed" } : facts;
  });

const pushes = [
  pushOf(["refs/heads/main", "update"]),
  pushOf(["refs/heads/fix", "create"]),
  pushOf(["refs/tags/v1", "create"]),
];

const call = fc.oneof(request, fc.constantFrom(...pushes));

const when = fc.record(
  {
    host: fc.oneof(fc.constantFrom(...hosts, "*.github.com", "127.0.0.1"), fc.subarray(hosts)),
    method: fc.subarray(["GET", "POST", "PUT", "DELETE"]),
    path: fc.constantFrom("/**", "/repos/**", "/a", "/v1/*"),
    kind: fc.constantFrom("http" as const, "git" as const, "graphql" as const, "mcp" as const),
    ref: fc.constantFrom("main", "**", "fix"),
    tool: fc.constantFrom("*", "merge*"),
    if: fc.constantFrom("true", "false", "size(body.inputs) > 2", "count > 0", "method == 'GET'"),
  },
  { requiredKeys: ["host"] },
);

const rule = fc.record(
  {
    when,
    verdict: fc.constantFrom("allow" as const, "hold" as const, "deny" as const),
    reversibility: fc.constantFrom(
      "reversible" as const,
      "recoverable" as const,
      "irreversible" as const,
    ),
  },
  { requiredKeys: ["when", "verdict"] },
);

const rules = fc
  .array(rule, { maxLength: 4 })
  .map((all): PolicyFile["rules"] => all.map((one, at) => ({ id: `r${at}`, ...one })));

const policy = rules.map((all): PolicyFile => ({ version: 1, rules: all }));

const task = fc.constantFrom({}, { limits: { records: "2" } }, { limits: { hosts: "github.com" } });

describe("policy: what always holds", () => {
  it("a workspace can only make verdicts and classes stricter", () => {
    fc.assert(
      fc.property(call, policy, policy, task, (facts, user, workspace, declared) => {
        const sources = { user: policyOf(user), task: declared };
        const without = compilePolicy(sources)(facts);
        const narrowing = { ...sources, workspace: policyOf(workspace, "workspace") };
        const withIt = compilePolicy(narrowing)(facts);
        assert.ok(compareVerdict(withIt.verdict, without.verdict) >= 0);
        assert.ok(compareReversibility(withIt.reversibility, without.reversibility) >= 0);
        assert.equal(withIt.namesHost, without.namesHost);
      }),
      { numRuns: 60 },
    );
  });

  it("an empty allow list allows nothing", () => {
    fc.assert(
      fc.property(call, policy, (facts, some) => {
        const strict = some.rules.filter((one) => one.verdict !== "allow");
        const user = policyOf({ version: 1, presets: [], rules: strict });
        assert.notEqual(compilePolicy({ user, task: {} })(facts).verdict, "allow");
      }),
    );
    fc.assert(
      fc.property(call, rules, (facts, all) => {
        const emptied = all.map((one) => ({ ...one, when: { ...one.when, host: [] } }));
        const user = policyOf({ version: 1, presets: [], rules: emptied });
        assert.notEqual(compilePolicy({ user, task: {} })(facts).verdict, "allow");
      }),
    );
  });

  it("no policy loosens a floor", () => {
    const floored = [
      pushOf(["refs/heads/main", "update"]),
      pushOf(["refs/heads/x", "update", "forced"]),
      pushOf(["refs/heads/x", "delete"]),
      pushOf(["refs/tags/v1", "create"]),
      factsOf("PUT https://api.github.com/repos/a/b/pulls/1/merge", {}),
      factsOf("POST https://api.stripe.com/v1/charges", {}),
      factsOf("PUT https://registry.npmjs.org/zod", {
        _attachments: { a: {} },
        versions: { "1.0.0": {} },
      }),
    ];
    fc.assert(
      fc.property(fc.constantFrom(...floored), policy, (facts, user) => {
        const open = [
          ...user.rules,
          { id: "open", when: { host: facts.host }, verdict: "allow" as const },
        ];
        const judgement = compilePolicy({ user: policyOf({ ...user, rules: open }), task: {} })(
          facts,
        );
        assert.notEqual(judgement.verdict, "allow");
        assert.equal(judgement.reversibility, "irreversible");
      }),
    );
  });

  it("the order of rules does not matter", () => {
    fc.assert(
      fc.property(call, policy, (facts, user) => {
        const turned = { ...user, rules: user.rules.toReversed() };
        const [one, other] = [user, turned].map((p) =>
          compilePolicy({ user: policyOf(p), task: {} })(facts),
        );
        assert.equal(one?.verdict, other?.verdict);
        assert.equal(one?.reversibility, other?.reversibility);
      }),
    );
  });

  it("a judge never throws, and holds what makes no sense", () => {
    const judge = compilePolicy({ task: {} });
    fc.assert(
      fc.property(
        call,
        fc.anything(),
        fc.constantFrom("git", "graphql", "mcp", "npm", "aws"),
        (facts, odd, kind) => {
          const broken = {
            ...facts,
            kind,
            body: odd,
            graphql: odd,
            mcp: odd,
            git: odd,
            npm: odd,
            aws: odd,
          };
          assert.notEqual(judge(broken as unknown as CallFacts).verdict, undefined);
        },
      ),
    );
  });

  it("combining is max", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...verdicts)), (all) => {
        const strictest = strictestVerdict(all);
        assert.equal(strictest === undefined, all.length === 0);
        for (const one of all) assert.ok(compareVerdict(strictest ?? "allow", one) >= 0);
      }),
    );
    assert.equal(
      strictestReversibility("reversible", "irreversible", "recoverable"),
      "irreversible",
    );
  });
});

describe("policy: patterns", () => {
  const text = fc.string({ unit: fc.constantFrom("a", "b", "/", "*"), maxLength: 12 });
  const escape = (part: string) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");

  it("a name matches as the regular expression would", () => {
    fc.assert(
      fc.property(text, text, (pattern, name) => {
        const expression = new RegExp(`^${pattern.split("*").map(escape).join(".*")}$`);
        assert.equal(matchesName(pattern, name), expression.test(name));
      }),
    );
  });

  const cases: readonly (readonly [pattern: string, path: string, expected: boolean])[] = [
    ["/a/*", "/a/b", true],
    ["/a/*", "/a/b/", true],
    ["/a/*", "/a/b/c", false],
    ["/a/*", "/a", false],
    ["/a/**", "/a", true],
    ["/a/**/z", "/a/b/c/z", true],
    ["/a/**/z", "/a/z", true],
    ["/a/*-b", "/a/x-b", true],
    ["/**", "/", true],
    ["/v*/x", "/v10/x", true],
    ["/A", "/a", false],
  ];
  for (const [pattern, path, expected] of cases) {
    it(`${pattern} ${expected ? "matches" : "does not match"} ${path}`, () => {
      assert.equal(matchesPath(pattern, path), expected);
    });
  }

  it("takes no time on a hostile pattern", () => {
    assert.equal(matchesPath(`/${"**/a/".repeat(200)}b`, `/${"a/".repeat(400)}`), false);
    assert.equal(matchesName(`${"*a".repeat(500)}b`, "a".repeat(2_000)), false);
  });
});
