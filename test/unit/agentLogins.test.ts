import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { symlinkSync, truncateSync, writeFileSync } from "node:fs";
import path from "node:path";
import {
  claudeLogin,
  codexLogin,
  geminiLogin,
  readCredentials,
} from "../../src/node/agents/logins.ts";
import { temporaryFolders } from "../support/temporaryFolder.ts";

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

  it("a time that no date can say has ended all the same", () => {
    for (const login of Object.values(logins))
      assert.throws(() => login(-1e300), { code: "login-ended", message: /ended$/ });
  });

  for (const odd of [null, 7, [], {}])
    it(`what is ${JSON.stringify(odd)} beside the access token counts as left out`, () => {
      const claude = { accessToken: "real-access-token", refreshToken: odd };
      const told = { scopes: odd, subscriptionType: odd, rateLimitTier: odd };
      const gemini = { access_token: "real-access-token", refresh_token: odd, id_token: odd };
      const codex = { access_token: "real-access-token", refresh_token: odd, account_id: odd };
      const strange = token({ exp: "soon", "https://api.openai.com/auth": odd });
      const seeded = [
        claudeLogin({ claudeAiOauth: { ...claude, ...told, expiresAt: null } }, [model], now),
        geminiLogin({ ...gemini, scope: odd, expiry_date: null }, [model], now),
        codexLogin({ tokens: { ...codex, id_token: strange } }, [model], now),
      ];
      for (const one of seeded) {
        assert.equal(one?.secrets[0]?.value, "real-access-token");
        assert.equal(one.content.includes("real-access-token"), false);
      }
    });
});

describe("credential files", () => {
  const newFolder = temporaryFolders();

  it("are read through a link, as people keep them", () => {
    const folder = newFolder();
    writeFileSync(path.join(folder, "kept.json"), '{"access_token":"a"}');
    symlinkSync("kept.json", path.join(folder, "creds.json"));
    assert.deepEqual(readCredentials(path.join(folder, "creds.json")), { access_token: "a" });
  });

  it("that are no files of a few kilobytes are none, and nobody waits for them", () => {
    const folder = newFolder();
    const pipe = path.join(folder, "pipe");
    execFileSync("mkfifo", [pipe]);
    const large = path.join(folder, "large");
    writeFileSync(large, '"a"');
    truncateSync(large, 8 * 1024 * 1024);
    const broken = path.join(folder, "broken");
    writeFileSync(broken, '{"access_token":');
    for (const file of [pipe, large, broken, folder, path.join(folder, "missing")])
      assert.equal(readCredentials(file), undefined, file);
  });
});
