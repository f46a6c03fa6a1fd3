import assert from "node:assert/strict";
import { claudeLogin, codexLogin, geminiLogin } from "../../src/node/agents/logins.ts";

const now = Date.UTC(2026, 10, 29);
const model = new URL("https://api.example.com");
const later = now + 3600_000;

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
const token = (claims: object): string => `${part({ alg: "RS256" })}.${part(claims)}.signature`;

const identity = token({
  email: "person@example.com",
  "https://api.openai.com/auth": { chatgpt_plan_type: "pro", chatgpt_account_id: "acct-1" },
});

const logins = {
  claude: (endsAt: number) =>
    claudeLogin(
      {
        claudeAiOauth: {
          accessToken: "real-access-token",
          refreshToken: "real-refresh-token",
          expiresAt: endsAt,
          scopes: ["user:inference"],
          subscriptionType: "max",
        },
      },
      [model],
      now,
    ),
  codex: (endsAt: number) =>
    codexLogin(
      {
        tokens: {
          id_token: identity,
          access_token: token({ exp: endsAt / 1000 }),
          refresh_token: "real-refresh-token",
          account_id: "acct-1",
        },
      },
      [model],
      now,
    ),
  gemini: (endsAt: number) =>
    geminiLogin(
      {
        access_token: "real-access-token",
        refresh_token: "real-refresh-token",
        id_token: identity,
        expiry_date: endsAt,
        scope: "openid",
      },
      [model, new URL("https://account.example.com")],
      now,
    ),
};

describe("logins in the sandbox", () => {
  for (const [name, login] of Object.entries(logins)) {
    it(`${name}: no token is in the seeded file, and every one is watched for`, () => {
      const seeded = login(later);
      assert.ok(seeded);
      const values = seeded.secrets.map(({ value }) => value);
      assert.ok(values.includes("real-refresh-token"));
      for (const value of values) assert.equal(seeded.content.includes(value), false);
      assert.match(seeded.content, /\$HOLDFAST_SECRET_\w+_ACCESS_TOKEN/);
      assert.match(seeded.content, /\$HOLDFAST_SECRET_\w+_REFRESH_TOKEN/);
      assert.doesNotMatch(seeded.content, /person@|cGVyc29u/);
    });

    it(`${name}: the access token goes to its hosts in a header, the others nowhere`, () => {
      const { secrets = [] } = login(later) ?? {};
      for (const { name: secret, bindings } of secrets) {
        const isAccess = secret.endsWith("_ACCESS_TOKEN");
        assert.equal(bindings.length > 0, isAccess, secret);
        for (const { positions } of bindings) assert.deepEqual(positions, ["header"]);
      }
    });

    it(`${name}: the seeded login says that it lasts, so that nothing renews it inside`, () => {
      const text = login(later)?.content ?? "";
      const times = [...text.matchAll(/"(?:expiresAt|expiry_date)":(\d+)/g)].map(([, at]) =>
        Number(at),
      );
      for (const at of times) assert.ok(at > now + 24 * 3600_000);
    });

    it(`${name}: a login that has ended is told with what to do`, () => {
      assert.throws(() => login(now - 1000), { code: "login-ended" });
    });
  }

  it("Codex's identity token can be read and says plan and account alone", () => {
    const content = JSON.parse(logins.codex(later)?.content ?? "") as {
      tokens: { id_token: string };
    };
    const payload = content.tokens.id_token.split(".")[1] ?? "";
    const claims = JSON.parse(Buffer.from(payload, "base64url").toString()) as object;
    assert.deepEqual(Object.keys(claims).sort(), ["exp", "https://api.openai.com/auth"]);
  });

  for (const odd of [undefined, null, 7, {}, { claudeAiOauth: {} }, { tokens: 1 }, []])
    it(`what is no login is none: ${JSON.stringify(odd)}`, () => {
      assert.equal(claudeLogin(odd, [model], now), undefined);
      assert.equal(codexLogin(odd, [model], now), undefined);
      assert.equal(geminiLogin(odd, [model], now), undefined);
    });
});
