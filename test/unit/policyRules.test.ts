import assert from "node:assert/strict";
import type { PolicySources } from "../../src/core/policy/compilePolicy.ts";
import type { CallFacts, Judgement } from "../../src/core/policy/judge.ts";
import type { PolicyFile } from "../../src/core/policy/policyFile.ts";
import { callFacts } from "../../src/node/broker/callFacts.ts";
import { factsOf, judged, policyOf, pushOf } from "../support/judged.ts";

function allowing(when: PolicyFile["rules"][number]["when"]): Partial<PolicySources> {
  return { user: policyOf({ version: 1, rules: [{ id: "open", when, verdict: "allow" }] }) };
}

/** Facts of a PUT without a length, of which only the beginning is known. */
function unread(type: string, beginning: string, path = "/a"): CallFacts {
  const bytes = new TextEncoder().encode(beginning);
  return callFacts({
    scheme: "https",
    method: "PUT",
    authority: { host: "example.org", port: 443 },
    target: { path, query: undefined, pairs: [] },
    headers: [["Content-Type", type]],
    body: bytes,
    decoded: bytes,
    complete: false,
    declaredBytes: undefined,
    secrets: [],
    modelHost: false,
  });
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

describe("policy: rules", () => {
  const rule = (verdict: "allow" | "hold" | "deny", more = {}) => ({
    id: verdict,
    when: { host: "example.org" },
    verdict,
    ...more,
  });
  const get = factsOf("GET https://example.org/a");
  const post = factsOf("POST https://example.org/a", { amount: 3, note: "x" });
  const both = (...rules: PolicyFile["rules"]) => ({ user: policyOf({ version: 1, rules }) });
  check("the strictest wins", get, both(rule("allow"), rule("deny"), rule("hold")), {
    verdict: "deny",
    rule: "user:deny",
  });
  check(
    "a workspace cannot loosen",
    get,
    { workspace: policyOf({ version: 1, rules: [rule("allow")] }, "workspace") },
    { verdict: "hold", rule: "default.unmatched" },
  );
  check(
    "a workspace can narrow",
    get,
    {
      ...both(rule("allow")),
      workspace: policyOf({ version: 1, rules: [rule("deny")] }, "workspace"),
    },
    { verdict: "deny", rule: "workspace:deny" },
  );
  check("an empty list matches nothing", get, allowing({ host: [] }), { verdict: "hold" });
  check(
    "a user says what an unknown call is",
    post,
    both(rule("allow", { reversibility: "recoverable", wayBack: "undo it" })),
    {
      verdict: "allow",
      reversibility: "recoverable",
      wayBack: "undo it",
    },
  );
  check(
    "a user cannot make a known call harmless",
    factsOf("DELETE https://api.github.com/repos/a/b"),
    both({ ...rule("allow", { reversibility: "reversible" }), when: { host: "api.github.com" } }),
    { verdict: "hold", reversibility: "irreversible", rule: "floor.delete" },
  );
  check(
    "conditions see the body",
    post,
    allowing({ host: "example.org", if: "body.amount < 5 && body.note == 'x'" }),
    {
      verdict: "allow",
    },
  );
  check(
    "a body of another shape holds",
    post,
    allowing({ host: "example.org", if: "body.amount.x" }),
    {
      verdict: "hold",
      rule: "user:open",
    },
  );
  check(
    "HEAD goes with GET",
    factsOf("HEAD https://example.org/a"),
    allowing({ host: "example.org", method: "GET" }),
    {
      verdict: "allow",
    },
  );
  check("a host pattern does not match its own apex", get, allowing({ host: "*.example.org" }), {
    verdict: "hold",
  });
  check(
    "a strict rule ignores case",
    factsOf("GET https://example.org/ADMIN/x"),
    both(rule("allow"), { ...rule("deny"), when: { path: "/admin/**" } }),
    {
      verdict: "deny",
    },
  );
  for (const path of ["/a//b", "/a/..;/b", "/a/.;x/b", "/a%252fb", "/a%255cb", "/%c0%ae", "/%FF"])
    check(
      `a path that can be read in two ways holds: ${path}`,
      factsOf(`GET https://example.org${path}`),
      both(rule("allow")),
      { verdict: "hold", rule: "floor.odd-path" },
    );
  for (const path of ["/a;v=1/b", "/a.b;c", "/100%25", "/%C3%A9", "/@x%2Fy"])
    check(
      `a path with unusual letters passes: ${path}`,
      factsOf(`GET https://example.org${path}`),
      both(rule("allow")),
      { verdict: "allow" },
    );
  check(
    "malformed bodies hold",
    factsOf("POST https://example.org/a", undefined, {
      bodyType: "opaque",
      bodyBytes: 9,
      bodyProblem: "malformed JSON",
    }),
    both(rule("allow")),
    { verdict: "hold", rule: "floor.unparsable" },
  );
  check(
    "a long upload passes where the host is open",
    unread("application/octet-stream", "\u007FELF"),
    both(rule("allow")),
    { verdict: "allow" },
  );
  check("one that has not begun", unread("application/grpc", ""), both(rule("allow")), {
    verdict: "allow",
  });
  check(
    "a long upload holds where the task limits what may be sent",
    unread("application/octet-stream", "\u007FELF"),
    { ...both(rule("allow")), task: { limits: { bytes: "1000" } } },
    { verdict: "hold", rule: "floor.unparsable" },
  );
  for (const [title, facts] of [
    ["JSON", unread("application/json", '{"a":')],
    ["JSON that has not begun", unread("application/json", "")],
    ["JSON under another type", unread("application/octet-stream", "\uFEFF\n [1")],
    ["what may be JSON behind space", unread("text/plain", " ".repeat(5000))],
    ["a form", unread("application/x-www-form-urlencoded", "a=1&")],
    ["a multipart form", unread("multipart/form-data; boundary=b", "--b\r\n")],
    ["GraphQL", unread("text/plain", "#", "/graphql")],
  ] as const) {
    check(`a body hides nothing by being long: ${title}`, facts, both(rule("allow")), {
      verdict: "hold",
      rule: "floor.unparsable",
    });
  }
  check(
    "opening a host does not switch inspection off",
    factsOf("CONNECT https://example.org/", undefined, { kind: "tcp", scheme: "tcp" }),
    both(rule("allow")),
    { verdict: "hold", traffic: "opaque" },
  );
  check(
    "… asking for it does",
    factsOf("CONNECT https://example.org/", undefined, { kind: "tcp", scheme: "tcp" }),
    allowing({ host: "example.org", kind: "tcp" }),
    { verdict: "allow", uninspected: true, traffic: "opaque" },
  );
});

describe("policy: addresses", () => {
  const local = factsOf("GET http://127.0.0.1:8080/");
  check("inside addresses are denied", local, {}, { verdict: "deny", rule: "floor.address" });
  check("a rule that names it opens it", local, allowing({ host: "127.0.0.1" }), {
    verdict: "allow",
    namesHost: true,
  });
  check(
    "a pattern does not",
    factsOf("GET https://db.corp.example/", undefined, { address: "private" }),
    allowing({ host: "*.corp.example" }),
    { verdict: "deny", rule: "floor.address" },
  );
  check(
    "the metadata service",
    factsOf("GET http://169.254.169.254/latest/meta-data"),
    { presets: ["registries"] },
    { verdict: "deny", rule: "floor.address" },
  );
});

describe("policy: presets", () => {
  check(
    "recoverable crossings",
    pushOf(["refs/heads/fix", "create"]),
    { presets: ["recoverable"] },
    {
      verdict: "allow",
      rule: "preset.recoverable",
    },
  );
  check(
    "comments",
    factsOf("POST https://api.github.com/repos/a/b/issues/1/comments", { body: "x" }),
    { presets: ["comments"] },
    { verdict: "allow", rule: "preset.comments" },
  );
  check(
    "merges stay held",
    factsOf("PUT https://api.github.com/repos/a/b/pulls/1/merge", {}),
    { presets: ["recoverable", "comments"] },
    { verdict: "hold", rule: "floor.merge" },
  );
});
