import assert from "node:assert/strict";
import type { CallFacts } from "../../src/core/policy/judge.ts";
import { factsOf, judged, policyOf } from "../support/judged.ts";

const opened = (host: string) => ({
  user: policyOf({ version: 1, rules: [{ id: "open", when: { host }, verdict: "allow" }] }),
});
const read = "{ viewer { login } }";
const merge = 'mutation { mergePullRequest(input: {pullRequestId: "x"}) { clientMutationId } }';
const graphql = "POST https://api.github.com/graphql";
const typed = (type: string) => [["content-type", type]] as const;

/** Facts of a call whose body is not what its type says. */
function bodyOf(line: string, type: string, text: string): CallFacts {
  return factsOf(line, undefined, {}, typed(type), text);
}

describe("policy: what one server reads in this way and another in that", () => {
  const boundary = "multipart/form-data; boundary=b";
  const field = (name: string, text: string) =>
    `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${text}\r\n--b--\r\n`;
  const inAddress = `${graphql}?query=${encodeURIComponent(merge)}`;
  const two = `query A ${read} ${merge.replace("mutation", "mutation B")}`;
  const mutations: Record<string, CallFacts> = {
    "in the address, beside a read in the body": factsOf(inAddress, { query: read }),
    "in the second of two documents of the address": factsOf(
      `GET https://api.github.com/graphql?query=${encodeURIComponent(read)}&query=${encodeURIComponent(merge)}`,
    ),
    "that the address names and the body does not": factsOf(`${graphql}?operationName=B`, {
      query: two,
      operationName: "A",
    }),
    "in a form": bodyOf(
      graphql,
      "application/x-www-form-urlencoded",
      `query=${encodeURIComponent(merge)}`,
    ),
    "in a multipart request": bodyOf(
      graphql,
      boundary,
      field("operations", JSON.stringify({ query: merge })),
    ),
    "in a field of a multipart form": bodyOf(graphql, boundary, field("query", merge)),
    "in JSON that says that it is text": bodyOf(
      graphql,
      "text/plain",
      JSON.stringify({ query: merge }),
    ),
    "in JSON of two types": bodyOf(
      graphql,
      "application/json, text/plain",
      JSON.stringify({ query: merge }),
    ),
    "in JSON behind a byte order mark": bodyOf(
      graphql,
      "application/json",
      `\uFEFF${JSON.stringify({ query: merge })}`,
    ),
  };
  for (const [place, facts] of Object.entries(mutations)) {
    it(`finds a mutation ${place}`, () => {
      const judgement = judged(facts, opened("api.github.com"));
      assert.deepEqual([judgement.verdict, judgement.rule], ["hold", "floor.merge"]);
    });
  }

  it("finds a published package in JSON that says that it is text", () => {
    const packument = JSON.stringify({ name: "x", versions: { "1.0.0": {} }, _attachments: {} });
    const facts = bodyOf("PUT https://registry.npmjs.org/x", "text/plain", packument);
    assert.equal(judged(facts, opened("registry.npmjs.org")).rule, "floor.publish");
  });

  it("takes a character set that hides letters for unreadable, and no other", () => {
    const form = "application/x-www-form-urlencoded; charset=";
    const json = "application/json; charset=";
    for (const charset of ["ibm037", "utf-7", '"UTF-16"', "utf-8; charset=ibm500", "x'"]) {
      for (const type of [form, json, "multipart/form-data; boundary=b; charset="]) {
        const facts = bodyOf("POST https://a.test/", type + charset, "{}");
        assert.equal(facts.bodyType, "opaque", type + charset);
      }
    }
    for (const charset of ["utf-8", "UTF-8", '"utf8"', "us-ascii", "iso-8859-1"]) {
      assert.equal(bodyOf("POST https://a.test/", json + charset, "{}").bodyType, "json", charset);
    }
  });

  it("takes two boundaries for unreadable", () => {
    const facts = bodyOf("POST https://a.test/", `${boundary}; boundary=c`, field("a", "b"));
    assert.equal(facts.bodyType, "opaque");
  });

  it("leaves text that only begins like JSON as it is", () => {
    for (const text of ["[INFO] started", "{{ template }}", "{ a: 1 }"]) {
      const facts = bodyOf("POST https://a.test/", "text/plain", text);
      assert.deepEqual([facts.bodyType, facts.body], ["text", text]);
    }
  });

  const get = (name: string, value: string) =>
    judged(
      factsOf("GET https://a.test/public?x=1", undefined, {}, [[name, value]]),
      opened("a.test"),
    );
  for (const [name, value] of [
    ["x-original-url", "/admin"],
    ["x_rewrite_url", "/admin"],
    ["x-forwarded-host", "b.test"],
    ["x-forwarded-host", "a.test, b.test"],
    ["x-host", "b.test:443"],
    ["forwarded", 'for=1.2.3.4; host="b.test"'],
    ["forwarded", "host=a.test, host=b.test"],
  ] as const) {
    it(`holds a call in which a header names another place: ${name}: ${value}`, () => {
      assert.deepEqual(
        [get(name, value).verdict, get(name, value).rule],
        ["hold", "floor.other-place"],
      );
    });
  }
  for (const [name, value] of [
    ["x-original-url", "/public?x=1"],
    ["x-forwarded-host", "A.test:443"],
    ["forwarded", "for=1.2.3.4;proto=https;host=a.test"],
    ["x-forwarded-for", "1.2.3.4"],
    ["x-forwarded-proto", "https"],
  ] as const) {
    it(`lets a header pass that names the same: ${name}: ${value}`, () =>
      assert.equal(get(name, value).verdict, "allow"));
  }
});
