import assert from "node:assert/strict";
import type { CallFacts } from "../../src/core/policy/judge.ts";
import { approvalCover, approvalRule, PolicyBook } from "../../src/core/policy/policyBook.ts";
import { factsOf, policyOf, pushOf } from "../support/judged.ts";

const issue = factsOf("POST https://api.github.com/repos/ada/engine/issues", { title: "x" });
const secondIssue = factsOf("POST https://api.github.com/repos/ada/engine/issues", { title: "y" });
const otherRepository = factsOf("POST https://api.github.com/repos/eve/engine/issues", {});
const mainPush = pushOf(["refs/heads/main", "update"]);

describe("policy: approvals", () => {
  it("for the transaction covers like calls and no others", () => {
    const book = new PolicyBook({ task: {} });
    const held = book.judge(issue);
    assert.equal(held.verdict, "hold");
    book.approve(held);
    assert.equal(book.judge(secondIssue).verdict, "allow");
    assert.equal(book.judge(secondIssue).rule, "approval:default.recoverable");
    assert.equal(book.judge(otherRepository).verdict, "hold");
  });

  it("reading a host covers reads of that host only", () => {
    const book = new PolicyBook({ task: {} });
    book.approve(book.judge(factsOf("GET https://example.org/a")));
    assert.equal(book.judge(factsOf("GET https://example.org/b?c=d")).verdict, "allow");
    assert.equal(book.judge(factsOf("POST https://example.org/a", {})).verdict, "hold");
    assert.equal(book.judge(factsOf("GET https://a.example.org/")).verdict, "hold");
  });

  it("a floor that holds can be approved for the very refs, nothing else", () => {
    const book = new PolicyBook({ task: {} });
    book.approve(book.judge(mainPush));
    assert.equal(book.judge(mainPush).verdict, "allow");
    const forced = pushOf(["refs/heads/main", "update", "forced"]);
    assert.equal(book.judge(forced).verdict, "hold");
    const both = pushOf(["refs/heads/main", "update"], ["refs/tags/v1", "create"]);
    assert.equal(book.judge(both).verdict, "hold");
  });

  it("never touches a denial", () => {
    const book = new PolicyBook({ task: {} });
    const local = factsOf("GET http://127.0.0.1/");
    book.approve(book.judge(local));
    assert.equal(book.judge(local).verdict, "deny");
    const denied = policyOf(
      { version: 1, rules: [{ id: "no", when: { host: "api.github.com" }, verdict: "deny" }] },
      "workspace",
    );
    const strict = new PolicyBook({ task: {}, workspace: denied });
    strict.add(approvalRule(issue, strict.judge(issue)));
    assert.equal(strict.judge(issue).verdict, "deny");
  });

  it("an approval of a reason does not cover a new one", () => {
    const book = new PolicyBook({ task: { limits: { records: "2" } } });
    const batch = (count: number): CallFacts =>
      factsOf("POST https://api.hubapi.com/crm/v3/objects/deals/batch/archive", {
        inputs: Array.from({ length: count }, (_, id) => ({ id })),
      });
    book.approve(book.judge(batch(2)));
    assert.equal(book.judge(batch(1)).verdict, "allow");
    assert.equal(book.judge(batch(3)).verdict, "hold");
  });

  it("counts what passed against the limits", () => {
    const user = policyOf({
      version: 1,
      rules: [{ id: "open", when: { host: "api.github.com" }, verdict: "allow" }],
    });
    const book = new PolicyBook({ user, task: { limits: { calls: "2" } } });
    for (const expected of ["allow", "allow", "hold"]) {
      const { verdict } = book.judge(issue);
      assert.equal(verdict, expected);
      if (verdict === "allow") book.passed(issue);
    }
    assert.equal(
      book.judge(issue).reason,
      "it is 1 call after 2 earlier in this transaction; the task allows 2",
    );
    assert.equal(book.judge(factsOf("GET https://api.github.com/user")).verdict, "allow");
  });
});

describe("policy: approvals that become rules", () => {
  it("shows the narrowest rule, and the rule then allows", () => {
    const book = new PolicyBook({ task: {} });
    const cover = approvalCover(issue, book.judge(issue), "rule");
    assert.ok(cover.kind === "rule");
    assert.deepEqual(cover.rule, {
      id: "approved-post-api-github-com-repos-ada-engine-issues",
      when: {
        host: "api.github.com",
        port: 443,
        method: ["POST"],
        kind: "http",
        path: "/repos/ada/engine/issues",
      },
      verdict: "allow",
      reason: "approved by a person: Creates an issue on GitHub",
    });
    book.add(cover.rule);
    assert.equal(book.judge(secondIssue).rule, `user:${cover.rule.id}`);
    assert.equal(book.judge(secondIssue).verdict, "allow");
    assert.equal(book.judge(otherRepository).verdict, "hold");
  });

  const push = pushOf(["refs/heads/fix", "create"]);
  const tool = factsOf("POST https://mcp.linear.app/mcp", {
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "create_issue", arguments: {} },
  });
  for (const [title, facts] of [
    ["refs", push],
    ["tools", tool],
    ["a connection", { ...push, kind: "tcp" }],
  ] as const) {
    it(`keeps ${title} exact`, () => {
      const book = new PolicyBook({ task: {} });
      const rule = approvalRule(facts, book.judge(facts));
      book.add(rule);
      assert.equal(book.judge(facts).verdict, "allow");
      assert.equal(
        rule.when.ref !== undefined || rule.when.tool !== undefined || facts.kind === "tcp",
        true,
      );
    });
  }

  it("says why it cannot", () => {
    const held = (facts: CallFacts, more = {}) =>
      new PolicyBook({ task: {}, ...more }).judge(facts);
    const why = (facts: CallFacts, more = {}) => {
      const cover = approvalCover(facts, held(facts, more), "rule");
      return cover.kind === "none" ? cover.why : cover.kind;
    };
    const workspace = policyOf(
      { version: 1, rules: [{ id: "ask", when: { host: "api.github.com" }, verdict: "hold" }] },
      "workspace",
    );
    assert.equal(why(mainPush), "a built-in floor holds it; no rule can allow it");
    assert.equal(
      why(issue, { workspace }),
      "the rule workspace:ask holds it; the strictest rule wins",
    );
    assert.equal(why(factsOf("GET https://registry.npmjs.org/zod")), "the call does not hold");
  });
});
