import assert from "node:assert/strict";
import { services } from "../../src/core/policy/knowledge/services.ts";
import { methodsOf } from "../../src/core/policy/methods.ts";
import type { PolicyFile } from "../../src/core/policy/policyFile.ts";
import { compareVerdict } from "../../src/core/policy/verdict.ts";
import { compareReversibility } from "../../src/core/policy/reversibility.ts";
import { factsOf, judged, policyOf } from "../support/judged.ts";

const repository = "https://api.github.com/repos/a/b";
const multipart = (name: string, value: string): string =>
  `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n--b--\r\n`;

type Headers = readonly (readonly [string, string])[];

/** Every place where some framework reads a method that counts instead of the request line's. */
const places: readonly (readonly [string, string, (object | string | undefined)?, Headers?])[] = [
  ["a header", repository, undefined, [["x-http-method-override", "DELETE"]]],
  ["a header with underscores", repository, undefined, [["x_http_method_override", "delete"]]],
  ["OData's header", repository, undefined, [["x-http-method", "DELETE"]]],
  ["the address", `${repository}?_method=delete`],
  ["the address, as PHP reads names", `${repository}?.method=DELETE`],
  ["the address, after another one", `${repository}?_method=POST&_method=DELETE`],
  ["the address, as Facebook reads it", `${repository}?method=delete`],
  ["a form", repository, "a=1&_method=DELETE"],
  ["a form, twice", repository, "_method=put&_method=DELETE"],
  ["a form, named like the header", repository, "X-HTTP-Method-Override=DELETE"],
  ["JSON", repository, { _method: "DELETE" }],
];

describe("policy: the method that counts", () => {
  for (const [place, url, body, headers = []] of places) {
    it(`is found in ${place}`, () => {
      const facts = factsOf(`POST ${url}`, body, {}, headers);
      const open: PolicyFile = {
        version: 1,
        rules: [{ id: "open", when: { host: "api.github.com" }, verdict: "allow" }],
      };
      const judgement = judged(facts, { user: policyOf(open) });
      assert.deepEqual([judgement.verdict, judgement.rule], ["hold", "floor.delete"]);
    });
  }

  it("is found in a multipart form", () => {
    const headers = [["content-type", "multipart/form-data; boundary=b"]] as const;
    const facts = factsOf(`POST ${repository}`, undefined, {
      ...factsOf(`POST ${repository}`, multipart("_method", "DELETE")),
      bodyType: "multipart",
      body: { _method: "DELETE" },
      headers,
    });
    assert.deepEqual(methodsOf(facts), ["POST", "DELETE"]);
  });

  it("is none where the word means something else", () => {
    const jsonRpc = factsOf("POST https://a.test/", { method: "DELETE", methods: ["PUT"] });
    const flickr = factsOf("POST https://a.test/?method=flickr.photos.search&payment_method=x");
    const header = factsOf("POST https://a.test/", {}, {}, [
      ["access-control-request-method", "PUT"],
    ]);
    for (const facts of [jsonRpc, flickr, header]) assert.deepEqual(methodsOf(facts), ["POST"]);
  });

  it("is any of them for a rule that narrows, and all of them for one that allows", () => {
    const rule = (verdict: "allow" | "deny", when: PolicyFile["rules"][number]["when"]) => ({
      user: policyOf({ version: 1, rules: [{ id: "one", when, verdict }] }),
    });
    const facts = factsOf("POST https://a.test/x", "_method=DELETE");
    const verdictOf = (...rules: Parameters<typeof rule>) => judged(facts, rule(...rules)).verdict;
    const host = "a.test";
    assert.equal(verdictOf("deny", { host, method: "DELETE" }), "deny");
    assert.equal(verdictOf("deny", { host, if: "method == 'DELETE'" }), "deny");
    assert.equal(verdictOf("deny", { host, method: "PUT" }), "hold");
    assert.equal(verdictOf("allow", { host, method: "POST" }), "hold");
    assert.equal(verdictOf("allow", { host, if: "method == 'POST'" }), "hold");
    assert.equal(verdictOf("allow", { host, method: ["POST", "DELETE"] }), "allow");
    assert.equal(verdictOf("allow", { host, if: "method in ['POST', 'DELETE']" }), "allow");
  });

  it("never makes a call more harmless than its request line says", () => {
    let tried = 0;
    for (const service of services) {
      for (const call of service.calls) {
        const path = call.pattern.replaceAll("**", "x").replaceAll("*", "x");
        const host = (service.hosts[0] ?? "").replace("*", "a");
        for (const method of call.methods.filter((one) => one !== "*")) {
          const line = `${method} https://${host}${path}`;
          const said = judged(factsOf(line));
          for (const other of ["GET", "PATCH", "DELETE", "POST"]) {
            const also = judged(factsOf(line, undefined, {}, [["x-http-method-override", other]]));
            const what = `${line} as ${other}`;
            assert.ok(compareVerdict(also.verdict, said.verdict) >= 0, what);
            assert.ok(compareReversibility(also.reversibility, said.reversibility) >= 0, what);
            tried += 1;
          }
        }
      }
    }
    assert.ok(tried > 500, String(tried));
  });

  it("of a model host is one that talks, or the call is no model traffic", () => {
    const model = { modelHost: true } as const;
    const headers = [["x-http-method-override", "DELETE"]] as const;
    const facts = factsOf("POST https://api.openai.com/v1/files/f", undefined, model, headers);
    assert.equal(judged(facts).traffic, "change");
  });
});
