import assert from "node:assert/strict";
import fc from "fast-check";
import type { BodyFacts, BodyInput } from "../../src/core/policy/body/bodyFacts.ts";
import { parseBody } from "../../src/core/policy/body/parseBody.ts";
import { fuzzRuns } from "../support/fuzzRuns.ts";

interface Given {
  readonly method?: string;
  readonly host?: string;
  readonly path?: string;
  readonly query?: readonly (readonly [string, string])[];
  readonly type?: string;
  readonly headers?: readonly (readonly [string, string])[];
  readonly body?: string | Uint8Array;
  readonly complete?: boolean;
}

function textOf(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function parse(given: Given): BodyFacts {
  const bytes =
    typeof given.body === "string"
      ? new TextEncoder().encode(given.body)
      : (given.body ?? new Uint8Array());
  const input: BodyInput = {
    method: given.method ?? "POST",
    host: given.host ?? "api.test",
    path: given.path ?? "/x",
    query: given.query ?? [],
    headers: [
      ...(given.type === undefined ? [] : [["content-type", given.type] as const]),
      ...(given.headers ?? []),
    ],
    bytes,
    text: textOf(bytes),
    complete: given.complete ?? true,
  };
  return parseBody(input);
}

/** Objects without a prototype compare as plain ones. */
function plain(value: unknown): unknown {
  return value === undefined ? undefined : (JSON.parse(JSON.stringify(value)) as unknown);
}

const json = "application/json";
const form = "application/x-www-form-urlencoded";
const zero = "0".repeat(40);
const one = "1".repeat(40);
const two = "2".repeat(40);
const line = (text: string): string => (text.length + 4).toString(16).padStart(4, "0") + text;
const multipart = (...parts: string[]): string =>
  `${parts.map((part) => `--B\r\n${part}\r\n`).join("")}--B--\r\n`;
const sigV4 = (service: string): [string, string] => [
  "authorization",
  `AWS4-HMAC-SHA256 Credential=AKID/20260101/eu-west-1/${service}/aws4_request, SignedHeaders=host, Signature=x`,
];

const cases: Record<string, [Given, Record<string, unknown>]> = {
  "no body": [{ method: "GET" }, { kind: "http", bodyType: "none" }],
  JSON: [
    { type: json, body: '{"a":[1]}' },
    { kind: "http", bodyType: "json", body: { a: [1] } },
  ],
  "JSON with a vendor's type": [
    { type: "application/vnd.api+json; charset=utf-8", body: "{}" },
    { bodyType: "json", body: {} },
  ],
  "JSON without a type": [{ body: " [1]" }, { bodyType: "json", body: [1] }],
  "JSON lines": [
    { type: "application/x-ndjson", body: '{"a":1}\n{"b":2}\n' },
    { bodyType: "json", body: [{ a: 1 }, { b: 2 }] },
  ],
  "malformed JSON": [
    { type: json, body: '{"a":' },
    { bodyType: "opaque", bodyProblem: "malformed JSON" },
  ],
  "cut-off JSON": [
    { type: json, body: '{"a":1}', complete: false },
    { bodyType: "opaque", bodyProblem: "larger or slower than what is inspected" },
  ],
  "JSON that is not UTF-8": [
    { type: json, body: new Uint8Array([0x22, 0xff, 0x22]) },
    { bodyType: "opaque", bodyProblem: "not valid UTF-8" },
  ],
  "a form": [
    { type: form, body: "a=1&b=x+y%21&a=2&c" },
    { bodyType: "form", body: { a: ["1", "2"], b: "x y!", c: "" } },
  ],
  "a form with a broken escape": [{ type: form, body: "a=%zz" }, { bodyType: "opaque" }],
  text: [
    { type: "text/plain", body: "hi" },
    { bodyType: "text", body: "hi" },
  ],
  bytes: [{ type: "image/png", body: new Uint8Array([1, 255]) }, { bodyType: "binary" }],
  "a multipart form": [
    {
      type: "multipart/form-data; boundary=B",
      body: multipart(
        'Content-Disposition: form-data; name="to"\r\n\r\na@example.com',
        'Content-Disposition: form-data; name="f"; filename="a.txt"\r\nContent-Type: text/plain\r\n\r\nfile',
      ),
    },
    {
      bodyType: "multipart",
      body: { to: "a@example.com", f: "a.txt" },
      multipart: [
        { name: "to", bytes: 13, text: "a@example.com" },
        { name: "f", bytes: 4, fileName: "a.txt", contentType: "text/plain" },
      ],
    },
  ],
  "a multipart form with a second reading": [
    { type: "multipart/form-data; boundary=B", body: `junk\r\n${multipart("x: y\r\n\r\n")}` },
    { bodyType: "opaque", bodyProblem: "malformed multipart form" },
  ],
  "a GraphQL query": [
    { path: "/graphql", type: json, body: JSON.stringify({ query: "{ me { id } }" }) },
    {
      kind: "graphql",
      bodyType: "graphql",
      graphql: [{ operation: "query", fields: ["me"], variables: null }],
    },
  ],
  "a GraphQL mutation with alias, arguments, directive and fragment": [
    {
      path: "/api/graphql",
      type: json,
      body: JSON.stringify({
        query:
          'mutation Go($i: I = {a: {b: "}"}}) @x(y: {z: 1}) { ok: deleteIssue(input: $i) @skip(if: false) { id } ...F ... on M { z } } fragment F on M { archive { id } }',
        variables: { i: 1 },
      }),
    },
    {
      graphql: [
        {
          operation: "mutation",
          name: "Go",
          fields: ["deleteIssue", "archive", "z"],
          variables: { i: 1 },
        },
      ],
    },
  ],
  "a GraphQL document of which one operation is named": [
    {
      path: "/graphql",
      type: json,
      body: JSON.stringify({ query: "query A { a } mutation B { b }", operationName: "A" }),
    },
    { graphql: [{ operation: "query", name: "A", fields: ["a"], variables: null }] },
  ],
  "a GraphQL document of which no operation is named: the strictest counts": [
    {
      path: "/graphql",
      type: json,
      body: JSON.stringify({ query: "query A { a } mutation B { b }" }),
    },
    { graphql: [{ operation: "mutation", name: "B", fields: ["b"], variables: null }] },
  ],
  "a GraphQL batch": [
    {
      path: "/graphql",
      type: json,
      body: JSON.stringify([{ query: "{a}" }, { query: "mutation {b}" }]),
    },
    {
      graphql: [
        { operation: "query", fields: ["a"], variables: null },
        { operation: "mutation", fields: ["b"], variables: null },
      ],
    },
  ],
  "a persisted GraphQL query": [
    { path: "/graphql", type: json, body: '{"extensions":{"persistedQuery":{"sha256Hash":"x"}}}' },
    { kind: "graphql", graphql: [{ operation: "unknown", fields: [], variables: null }] },
  ],
  "a GraphQL query by GET": [
    { method: "GET", path: "/graphql", query: [["query", "mutation { x }"]] },
    { kind: "graphql", graphql: [{ operation: "mutation", fields: ["x"], variables: null }] },
  ],
  "malformed GraphQL": [
    { path: "/graphql", type: json, body: JSON.stringify({ query: "mutation { x " }) },
    { bodyType: "opaque", bodyProblem: "malformed GraphQL document" },
  ],
  "GraphQL nested too deep": [
    { path: "/graphql", type: json, body: JSON.stringify({ query: `{${"...{".repeat(20_000)}` }) },
    { bodyType: "opaque" },
  ],
  "a search that has a member query": [
    { path: "/search", type: json, body: '{"query":"status:open"}' },
    { kind: "http", bodyType: "json" },
  ],
  "git discovery": [
    { method: "GET", path: "/o/r.git/info/refs", query: [["service", "git-receive-pack"]] },
    {
      kind: "git",
      git: { action: "discover", service: "git-receive-pack", repository: "o/r", refs: [] },
    },
  ],
  "a git push": [
    {
      path: "/o/r.git/git-receive-pack",
      body: `${line(`${zero} ${one} refs/heads/new\0report-status\n`)}${line(`${one} ${zero} refs/heads/old\n`)}${line(`${one} ${two} refs/heads/main`)}0000PACK`,
    },
    {
      kind: "git",
      bodyType: "git",
      git: {
        action: "push",
        service: "git-receive-pack",
        repository: "o/r",
        refs: [
          { ref: "refs/heads/new", change: "create", ancestry: "unknown", from: zero, to: one },
          { ref: "refs/heads/old", change: "delete", ancestry: "unknown", from: one, to: zero },
          { ref: "refs/heads/main", change: "update", ancestry: "unknown", from: one, to: two },
        ],
      },
    },
  ],
  "a git push whose commands are cut off": [
    {
      path: "/o/r.git/git-receive-pack",
      body: line(`${zero} ${one} refs/heads/x\0`),
      complete: false,
    },
    { kind: "git", bodyType: "opaque" },
  ],
  "a git push with a control character in its ref": [
    { path: "/o/r.git/git-receive-pack", body: `${line(`${zero} ${one} refs/heads/x\r\0`)}0000` },
    { kind: "git", bodyType: "opaque" },
  ],
  "an npm publish": [
    {
      method: "PUT",
      host: "registry.npmjs.org",
      path: "/@scope%2Fname",
      type: json,
      body: '{"versions":{"1.0.0":{}},"_attachments":{"x":{}}}',
    },
    { kind: "npm", npm: { action: "publish", package: "@scope/name", versions: ["1.0.0"] } },
  ],
  "an npm publish larger than what is inspected": [
    {
      method: "PUT",
      host: "registry.npmjs.org",
      path: "/name",
      type: json,
      body: '{"versions":{"2.0.0":{}},"_attach',
      complete: false,
    },
    { kind: "npm", npm: { action: "publish", package: "name", versions: ["2.0.0"] } },
  ],
  "an npm deprecation": [
    {
      method: "PUT",
      host: "registry.npmjs.org",
      path: "/name",
      type: json,
      body: '{"versions":{"1.0.0":{"deprecated":"old"}}}',
    },
    { npm: { action: "deprecate", package: "name", versions: ["1.0.0"] } },
  ],
  "an npm unpublish": [
    { method: "DELETE", host: "registry.npmjs.org", path: "/name/-rev/1-x" },
    { npm: { action: "unpublish", package: "name", versions: [] } },
  ],
  "an npm dist-tag": [
    {
      method: "PUT",
      host: "registry.npmjs.org",
      path: "/-/package/name/dist-tags/latest",
      type: json,
      body: '"1.0.0"',
    },
    { npm: { action: "distTag", package: "name", versions: [] } },
  ],
  "an AWS call by target": [
    {
      type: "application/x-amz-json-1.0",
      headers: [sigV4("dynamodb"), ["x-amz-target", "DynamoDB_20120810.DeleteItem"]],
      body: "{}",
    },
    { kind: "aws", aws: { service: "dynamodb", region: "eu-west-1", action: "DeleteItem" } },
  ],
  "an AWS call by form": [
    { type: form, headers: [sigV4("ec2")], body: "Action=TerminateInstances&Version=1" },
    { aws: { service: "ec2", region: "eu-west-1", action: "TerminateInstances" } },
  ],
  "an S3 delete": [
    {
      method: "DELETE",
      host: "b.s3.eu-west-1.amazonaws.com",
      path: "/key",
      headers: [sigV4("s3")],
    },
    { aws: { service: "s3", region: "eu-west-1", action: "DeleteObject" } },
  ],
  "an S3 bucket policy": [
    {
      method: "PUT",
      host: "s3.eu-west-1.amazonaws.com",
      path: "/bucket",
      query: [["policy", ""]],
      headers: [sigV4("s3")],
    },
    { aws: { service: "s3", region: "eu-west-1", action: "PutBucketPolicy" } },
  ],
  "an MCP tool call": [
    {
      host: "mcp.test",
      path: "/mcp",
      type: json,
      body: '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"send","arguments":{"to":"x"}}}',
    },
    {
      kind: "mcp",
      mcp: [{ server: "mcp.test/mcp", method: "tools/call", tool: "send", arguments: { to: "x" } }],
    },
  ],
  "other JSON-RPC": [
    { type: json, body: '{"jsonrpc":"2.0","id":1,"method":"eth_sendTransaction"}' },
    { kind: "http", bodyType: "json" },
  ],
};

describe("policy: bodies", () => {
  for (const [name, [given, wanted]] of Object.entries(cases)) {
    it(`understands ${name}`, () => {
      const facts = parse(given) as unknown as Record<string, unknown>;
      for (const [key, value] of Object.entries(wanted)) {
        assert.deepEqual(plain(facts[key]), plain(value), key);
      }
    });
  }

  it("does not let a field named __proto__ reach a prototype", () => {
    const facts = parse({ type: form, body: "__proto__=x&constructor=y" });
    assert.deepEqual(Object.keys(facts.body as object).sort(), ["__proto__", "constructor"]);
    assert.equal(({} as Record<string, unknown>)["x"], undefined);
  });

  it("never throw, whatever comes", () => {
    const types = fc.constantFrom(
      json,
      form,
      "multipart/form-data; boundary=B",
      "multipart/form-data",
      "application/graphql",
      "application/x-ndjson",
      "text/plain",
      "",
    );
    const paths = fc.constantFrom(
      "/graphql",
      "/r.git/git-receive-pack",
      "/@a%2Fb",
      "/-/package/x/dist-tags",
      "/",
    );
    const bodies = fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      fc.string().map((text) => new TextEncoder().encode(text)),
      fc.json().map((text) => new TextEncoder().encode(text)),
      fc
        .array(
          fc.constantFrom(
            "{",
            "}",
            "(",
            ")",
            "mutation",
            "...",
            "on",
            "x",
            ":",
            "@",
            '"',
            "fragment",
            "#",
          ),
        )
        .map((tokens) => new TextEncoder().encode(JSON.stringify({ query: tokens.join(" ") }))),
      fc
        .array(fc.constantFrom("--B", "\r\n", "Content-Disposition: form-data; name=a", "--", "x"))
        .map((pieces) => new TextEncoder().encode(pieces.join(""))),
      fc
        .array(
          fc.constantFrom(
            "0000",
            "0004",
            "0032",
            zero,
            one,
            " ",
            "refs/heads/x",
            "\0",
            "PACK",
            "ffff",
          ),
        )
        .map((pieces) => new TextEncoder().encode(pieces.join(""))),
    );
    fc.assert(
      fc.property(
        types,
        paths,
        bodies,
        fc.boolean(),
        fc.constantFrom("GET", "POST", "PUT", "DELETE"),
        (type, path, body, complete, method) => {
          const facts = parse({
            type,
            path,
            body,
            complete,
            method,
            headers: [["npm-command", "publish"], sigV4("s3")],
          });
          if (facts.bodyType === "opaque") assert.equal(typeof facts.bodyProblem, "string");
        },
      ),
      { numRuns: fuzzRuns(200) },
    );
  });

  it("reads a large form and a large multipart in no time", () => {
    const pairs = "a&".repeat(20_000);
    assert.equal((parse({ type: form, body: pairs }).body as { a: unknown[] }).a.length, 20_000);
  });
});
