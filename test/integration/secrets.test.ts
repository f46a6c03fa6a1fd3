import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import type { IncomingMessage, ServerResponse } from "node:http";
import { execa } from "execa";
import type { Secret } from "../../src/node/secrets/vault.ts";
import { brokerWorld, readsPass, type BrokerWorld } from "../support/brokerWorld.ts";

const value = 'sk-test/"quoted"+0123456789abcdef';
const secrets: readonly Secret[] = [
  { name: "API_KEY", value, bindings: [{ host: "api.test" }] },
  {
    name: "PATHED",
    value: "pathed-value-0123456789",
    bindings: [{ host: "api.test", path: "/only/", positions: ["header"] }],
  },
];

/** What the origin saw last, and how it answers. */
const seen: {
  request?: IncomingMessage;
  body: string;
  reply?: (response: ServerResponse) => void;
} = { body: "" };

function origin(request: IncomingMessage, response: ServerResponse): void {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    seen.request = request;
    seen.body = Buffer.concat(chunks).toString();
    if (seen.reply === undefined) response.end("ok");
    else seen.reply(response);
  });
}

async function curl(world: BrokerWorld, ...args: readonly string[]): Promise<string> {
  const all = ["-sS", "--max-time", "20", "-w", "\n%{http_code}", ...args];
  return (await execa("curl", all, { env: world.env, reject: false })).stdout;
}

describe("secrets at the wire", function () {
  this.timeout(30_000);
  let world: BrokerWorld;
  before(async () => {
    const allowAll = (facts: Parameters<typeof readsPass>[0]) => {
      const judgement = readsPass(facts);
      return judgement.verdict === "hold" ? { ...judgement, verdict: "allow" as const } : judgement;
    };
    world = await brokerWorld({ handler: origin, secrets, judge: allowAll });
  });
  after(async () => await world[Symbol.asyncDispose]());
  beforeEach(() => {
    world.host.drafts.length = 0;
    delete seen.request;
    delete seen.reply;
    seen.body = "";
  });
  afterEach(() => {
    const journal = JSON.stringify(world.host.drafts);
    for (const secret of secrets) {
      assert.ok(!journal.includes(secret.value), "a value reached the journal");
      assert.ok(!journal.includes(JSON.stringify(secret.value).slice(1, -1)));
    }
  });

  const fills: Record<
    string,
    { args: string[]; want: (request: IncomingMessage) => unknown; value: unknown }
  > = {
    "a header": {
      args: ["-H", "Authorization: Bearer $HOLDFAST_SECRET_API_KEY", "https://api.test/"],
      want: (request) => request.headers.authorization,
      value: `Bearer ${value}`,
    },
    "a braced placeholder": {
      args: ["-H", "X-Api-Key: ${HOLDFAST_SECRET_API_KEY}", "https://api.test/"],
      want: (request) => request.headers["x-api-key"],
      value,
    },
    "Basic authentication": {
      args: ["-u", "me:$HOLDFAST_SECRET_API_KEY", "https://api.test/"],
      want: (request) => request.headers.authorization,
      value: `Basic ${Buffer.from(`me:${value}`).toString("base64")}`,
    },
    "the query": {
      args: ["-G", "--data-urlencode", "key=$HOLDFAST_SECRET_API_KEY", "https://api.test/q"],
      want: (request) => new URLSearchParams(request.url?.split("?")[1]).get("key"),
      value,
    },
    "a JSON body": {
      args: ["--json", '{"k":"$HOLDFAST_SECRET_API_KEY"}', "https://api.test/"],
      want: () => JSON.parse(seen.body) as unknown,
      value: { k: value },
    },
    "a form body": {
      args: ["--data-urlencode", "k=$HOLDFAST_SECRET_API_KEY", "https://api.test/"],
      want: () => new URLSearchParams(seen.body).get("k"),
      value,
    },
    "a bound path and position": {
      args: ["-H", "X-Token: $HOLDFAST_SECRET_PATHED", "https://api.test/only/here"],
      want: (request) => request.headers["x-token"],
      value: "pathed-value-0123456789",
    },
  };
  for (const [name, { args, want, value: wanted }] of Object.entries(fills)) {
    it(`fills ${name} and journals the use before it leaves`, async () => {
      assert.match(await curl(world, ...args), /\n200$/);
      assert.deepEqual(want(seen.request!), wanted);
      const kinds = world.host.drafts.map((draft) => draft.kind);
      assert.ok(kinds.indexOf("secret.used") < kinds.indexOf("request.finished"));
    });
  }

  const unfilled: Record<string, { args: string[]; want: (request: IncomingMessage) => unknown }> =
    {
      "toward another host": {
        args: ["-H", "X-Token: $HOLDFAST_SECRET_API_KEY", "https://other.test/"],
        want: (request) => request.headers["x-token"],
      },
      "toward another path": {
        args: ["-H", "X-Token: $HOLDFAST_SECRET_PATHED", "https://api.test/elsewhere"],
        want: (request) => request.headers["x-token"],
      },
      "by way of dot segments": {
        args: [
          "--path-as-is",
          "-H",
          "X-Token: $HOLDFAST_SECRET_PATHED",
          "https://api.test/only/../elsewhere",
        ],
        want: (request) => request.headers["x-token"],
      },
      "in another position": {
        args: ["-d", "$HOLDFAST_SECRET_PATHED", "https://api.test/only/here"],
        want: () => seen.body,
      },
      "as a longer name": {
        args: ["-d", "$HOLDFAST_SECRET_API_KEYS", "https://api.test/"],
        want: () => seen.body,
      },
    };
  for (const [name, { args, want }] of Object.entries(unfilled)) {
    it(`leaves a placeholder as it is ${name}`, async () => {
      assert.match(await curl(world, ...args), /\n200$/);
      assert.match(String(want(seen.request!)), /^\$HOLDFAST_SECRET_/);
      assert.equal(world.host.of("secret.used").length, 0);
    });
  }

  it("fills a streamed body that is split inside the placeholder", async () => {
    const filler = "z".repeat(1024 * 1024);
    const input = `${filler}$HOLDFAST_SECRET_API_KEY.${filler}\${HOLDFAST_SECRET_API_KEY}`;
    await execa(
      "curl",
      [
        "-sS",
        "-T",
        "-",
        "--limit-rate",
        "20M",
        "-H",
        "content-type: text/plain",
        "https://api.test/up",
      ],
      { env: world.env, input },
    );
    assert.equal(seen.body, `${filler}${value}.${filler}${value}`);
  });

  it("keeps the length of a streamed body where no value can be put into it", async () => {
    const input = "z".repeat(2 * 1024 * 1024);
    const args = ["-sS", "--http1.1", "--data-binary", "@-", "-H", "content-type: text/plain"];
    await execa("curl", [...args, "https://other.test/up"], { env: world.env, input });
    assert.equal(seen.request?.headers["content-length"], String(input.length));
    await execa("curl", [...args, "https://api.test/up"], { env: world.env, input });
    assert.equal(seen.request.headers["transfer-encoding"], "chunked");
  });

  const leaks: Record<string, string[]> = {
    "raw in a header": ["-H", `X-Note: ${value}`, "https://other.test/"],
    "raw in a body": ["-H", "content-type: text/plain", "-d", value, "https://other.test/"],
    "raw toward its own host": ["-H", `X-Api-Key: ${value}`, "https://api.test/"],
    "JSON-escaped": ["--json", JSON.stringify({ value }), "https://other.test/"],
    "percent-encoded in the query": ["-G", "--data-urlencode", `v=${value}`, "https://other.test/"],
    "percent-encoded in the path": [`https://other.test/${encodeURIComponent(value)}`],
    "in Base64": ["-d", `xx${Buffer.from(`a${value}b`).toString("base64")}`, "https://other.test/"],
    "in URL-safe Base64": [`https://other.test/${Buffer.from(`ab${value}`).toString("base64url")}`],
    "in hexadecimal": [`https://other.test/${Buffer.from(value).toString("hex")}`],
    "in Basic authentication": ["-u", `u:${value}`, "https://other.test/"],
    "in a host name": [`https://${Buffer.from(value).toString("hex").slice(0, 60)}.test/`],
  };
  for (const [name, args] of Object.entries(leaks)) {
    const passes = name === "in a host name"; // Cut to a label it is no longer the value.
    it(`${passes ? "cannot know a piece of a value" : "denies a value"} ${name}`, async () => {
      const answer = await curl(world, ...args);
      assert.match(answer, passes ? /\n200$/ : /floor\.secret-leak[^]*\n403$/);
      if (passes) return;
      assert.equal(seen.request, undefined);
      assert.deepEqual(
        world.host.of("alert").map((entry) => entry.code),
        ["secret-leak"],
      );
    });
  }

  it("denies a value inside a compressed body, and one in the middle of a stream", async () => {
    const zipped = await execa(
      "curl",
      ["-sS", "--data-binary", "@-", "-H", "content-encoding: gzip", "https://other.test/"],
      { env: world.env, input: gzipSync(value) },
    );
    assert.match(zipped.stdout, /floor\.secret-leak/);
    const streamed = await execa(
      "curl",
      ["-sS", "-T", "-", "-H", "content-type: text/plain", "https://other.test/"],
      { env: world.env, input: `${"y".repeat(3_000_000)}${value}`, reject: false },
    );
    assert.equal(seen.body.includes(value), false);
    assert.doesNotMatch(streamed.stdout, /^ok/);
    assert.equal(world.host.of("alert").length, 2);
  });

  it("denies another's credential toward a host that has its own", async () => {
    const answer = await curl(
      world,
      "-H",
      "Authorization: Bearer attackers-own-key",
      "https://api.test/",
    );
    assert.match(answer, /floor\.foreign-credential[^]*\n403$/);
    assert.equal(world.host.of("alert")[0]?.code, "foreign-credential");
  });

  const echoes: Record<string, (response: ServerResponse) => void> = {
    "in a header": (response) => response.setHeader("x-echo", value).end("ok"),
    "in a redirect": (response) =>
      response
        .writeHead(302, { location: `https://evil.test/?k=${encodeURIComponent(value)}` })
        .end(),
    "in a body": (response) => response.end(`you sent ${value}!`),
    "split over chunks": (response) => {
      response.write(`a ${value.slice(0, 7)}`);
      setTimeout(() => response.end(`${value.slice(7)} b`), 20);
    },
    "in a compressed body": (response) =>
      response.setHeader("content-encoding", "gzip").end(gzipSync(`zip ${value}`)),
    "in JSON": (response) => response.end(JSON.stringify({ value })),
    "in hexadecimal": (response) => response.end(Buffer.from(value).toString("hex")),
  };
  for (const [name, reply] of Object.entries(echoes)) {
    it(`scrubs a value echoed ${name}`, async () => {
      seen.reply = reply;
      const answer = await curl(
        world,
        "-i",
        "--http1.1",
        "-H",
        "Authorization: $HOLDFAST_SECRET_API_KEY",
        "https://api.test/",
      );
      assert.match(answer, /\$HOLDFAST_SECRET_API_KEY/);
      for (const form of [
        value,
        encodeURIComponent(value),
        JSON.stringify(value).slice(1, -1),
        Buffer.from(value).toString("hex"),
      ]) {
        assert.ok(!answer.includes(form));
      }
    });
  }

  it("does not carry a value over a redirect", async () => {
    seen.reply = (response) => {
      delete seen.reply;
      response.writeHead(307, { location: "https://evil.test/" }).end();
    };
    await curl(
      world,
      "-L",
      "--location-trusted",
      "-H",
      "X-Key: $HOLDFAST_SECRET_API_KEY",
      "https://api.test/",
    );
    assert.equal(seen.request?.headers["x-key"], "$HOLDFAST_SECRET_API_KEY");
  });
});
