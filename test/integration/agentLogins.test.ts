import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import http from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { agentProgram, type RealAgent } from "../../.config/setupAgents.mjs";
import type { EntryOf } from "../../src/core/journal/entry.ts";
import { agentSessions } from "../support/agentSessions.ts";
import { commandWorlds, eventually, type CommandWorld } from "../support/holdfastCommand.ts";
import { startScriptedModel } from "../support/scriptedModel.ts";

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
const token = (claims: object): string => `${part({ alg: "RS256" })}.${part(claims)}.c2lnbmF0dXJl`;
const endsAt = Date.now() + 3600_000;

const claudeAccess = "sk-ant-oat01-a-real-access-token-of-nobody";
const codexAccess = token({ exp: endsAt / 1000, sub: "a-real-access-token-of-nobody" });
const geminiAccess = "ya29.a-real-access-token-of-nobody";
const refresh = "a-real-refresh-token-of-nobody";
const identity = token({
  email: "person@example.com",
  "https://api.openai.com/auth": { chatgpt_plan_type: "pro", chatgpt_account_id: "acct-1" },
});

interface Login {
  readonly agent: RealAgent;
  /** The file of the person's home, and what the agent's own login put there. */
  readonly file: string;
  readonly content: object;
  readonly access: string;
  /** Where new tokens come from. */
  readonly endpoint: string;
  readonly args: readonly string[];
}

const logins: readonly Login[] = [
  {
    agent: "claude-code",
    file: ".claude/.credentials.json",
    content: {
      claudeAiOauth: {
        accessToken: claudeAccess,
        refreshToken: refresh,
        expiresAt: endsAt,
        scopes: ["user:inference", "user:profile"],
        subscriptionType: "max",
      },
    },
    access: claudeAccess,
    endpoint: "https://console.anthropic.com/v1/oauth/token",
    args: [],
  },
  {
    agent: "codex",
    file: ".codex/auth.json",
    content: {
      OPENAI_API_KEY: null,
      tokens: {
        id_token: identity,
        access_token: codexAccess,
        refresh_token: refresh,
        account_id: "acct-1",
      },
      last_refresh: new Date().toISOString(),
    },
    access: codexAccess,
    endpoint: "https://auth.openai.com/oauth/token",
    // The scripted model reads plain bodies.
    args: ["--disable", "enable_request_compression"],
  },
];

describe("logins of agents", () => {
  const newWorld = commandWorlds();

  function personWith(
    world: CommandWorld,
    { file, content }: Pick<Login, "file" | "content">,
  ): string {
    const home = path.join(world.home, "..", "person");
    mkdirSync(path.dirname(path.join(home, file)), { recursive: true });
    writeFileSync(path.join(home, file), JSON.stringify(content), { mode: 0o600 });
    return home;
  }

  it("gemini: its login asks its maker about itself, and nobody is asked about that", async () => {
    const world = newWorld({ "hello.txt": "hello\n" });
    const content = {
      access_token: geminiAccess,
      refresh_token: refresh,
      token_type: "Bearer",
      expiry_date: endsAt,
    };
    const home = personWith(world, { file: ".gemini/oauth_creds.json", content });
    const { variable } = agentSessions.gemini;
    const begun = await world.run(["run", "--agent", "gemini", "--prompt", "Go.", "--detach"], {
      env: { HOME: home, [variable]: agentProgram("gemini"), GEMINI_API_KEY: undefined },
    });
    assert.equal(begun.code, 0, begun.stderr);
    // Its maker is not there in tests: what comes then is its own error.
    const { asked, verdict } = await eventually(
      async () => {
        const entries = await world.entries();
        const request = entries.find(
          (entry): entry is EntryOf<"request.started"> =>
            entry.kind === "request.started" && entry.path === "/tokeninfo",
        );
        const found = entries.find(
          (entry): entry is EntryOf<"verdict"> =>
            entry.kind === "verdict" && entry.request === request?.request,
        );
        return request && found && { asked: request, verdict: found };
      },
      "the question about the login",
      60_000,
    );
    assert.deepEqual([asked.host, asked.traffic], ["oauth2.googleapis.com", "model"]);
    assert.equal(verdict.verdict, "allow");
    assert.deepEqual(await world.json(["holds"]), []);
    await world.run(["stop", "latest"]);
    assert.equal(JSON.stringify(await world.entries()).includes(geminiAccess), false);
    assert.deepEqual(
      JSON.parse(readFileSync(path.join(home, ".gemini/oauth_creds.json"), "utf8")),
      content,
      "the person's own file is as it was",
    );
  }).timeout(120_000);

  /** A model for which every token has ended. */
  async function startRefusing(): Promise<{ readonly url: string; close(): void }> {
    const message = "OAuth token has expired";
    const error = { type: "authentication_error", code: "token_expired", message };
    const server = http.createServer((request, response) => {
      request.resume();
      response.writeHead(401, { "content-type": "application/json" });
      response.end(JSON.stringify({ type: "error", error }));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const close = (): void => server.close().closeAllConnections();
    return { url: `http://127.0.0.1:${port}`, close };
  }

  for (const login of logins)
    it(`${login.agent}: a token that ends meanwhile is not renewed inside, and nobody is logged out`, async () => {
      const { agent, file, content } = login;
      const { args, env, variable } = agentSessions[agent];
      const world = newWorld({ "hello.txt": "hello\n" });
      const home = personWith(world, login);
      const model = await startRefusing();
      const addresses = Object.entries(env(model.url, "")).filter(([name]) =>
        name.endsWith("_BASE_URL"),
      );
      const { code } = await world.run(["run", "--agent", agent, "--prompt", "Go.", ...args], {
        env: {
          HOME: home,
          [variable]: agentProgram(agent),
          ...Object.fromEntries(addresses),
          ANTHROPIC_API_KEY: undefined,
          OPENAI_API_KEY: undefined,
        },
      });
      model.close();
      assert.equal(code, 1, "the agent gives up");
      const verdicts = (await world.entries()).filter((entry) => entry.kind === "verdict");
      assert.ok(verdicts.some(({ rule }) => rule === "floor.login"));
      const own = readFileSync(path.join(home, file), "utf8");
      assert.deepEqual(JSON.parse(own), content, "the tokens outside are still the person's own");
    }).timeout(120_000);

  for (const login of logins)
    it(`${login.agent}: works with placeholders, and gets no new tokens`, async () => {
      const { agent, file, access, endpoint } = login;
      const { shell, args, env, variable } = agentSessions[agent];
      const world = newWorld({ "hello.txt": "hello\n" });
      const home = personWith(world, login);
      const script = [
        shell(`cat ~/${file} > seen.txt; env > env.txt`),
        shell(
          `curl --silent --max-time 20 --data grant_type=refresh_token ${endpoint} > answer.txt`,
        ),
        { text: "All done." },
      ];
      const model = await startScriptedModel({ main: script });
      const addresses = Object.entries(env(model.url, "")).filter(([name]) =>
        name.endsWith("_BASE_URL"),
      );
      // What the login asks of its maker besides the model stays here.
      const policy = path.join(home, "policy.json");
      const host = ["api.anthropic.com", "chatgpt.com"];
      const rules = [{ id: "not-from-tests", when: { host }, verdict: "deny" }];
      writeFileSync(policy, JSON.stringify({ version: 1, rules }), { mode: 0o600 });
      const { code, stdout, stderr } = await world.run(
        [
          ...["run", "--agent", agent, "--prompt", "Do the work.", "--policy", policy],
          ...args,
          ...login.args,
        ],
        {
          env: {
            HOME: home,
            [variable]: agentProgram(agent),
            ...Object.fromEntries(addresses),
            ANTHROPIC_API_KEY: undefined,
            OPENAI_API_KEY: undefined,
          },
        },
      );
      await model.close();
      assert.equal(code, 0, stderr);
      assert.match(stdout, /All done\./);
      const asked = model.requests.map(({ credential = "" }) => credential);
      assert.ok(asked.includes(`Bearer ${access}`), "the model got the real token");

      const entries = await world.entries();
      assert.deepEqual(
        entries.filter((entry) => entry.kind === "alert").map(({ code: one }) => one),
        [],
        "nobody takes what a login asks before the session for a silent agent",
      );
      const refused = entries.filter((entry) => entry.kind === "verdict");
      assert.ok(refused.some(({ verdict, rule }) => verdict === "deny" && rule === "floor.login"));
      const { stdout: patch } = await world.run(["diff", "latest"]);
      assert.match(patch, /HOLDFAST_SECRET_\w+_ACCESS_TOKEN/);
      for (const text of [JSON.stringify(entries), patch])
        for (const real of [access, refresh, "person@example.com", identity])
          assert.equal(text.includes(real), false, "no token, and nobody's name");
      assert.deepEqual(
        JSON.parse(readFileSync(path.join(home, file), "utf8")),
        login.content,
        "the person's own file is as it was",
      );
    }).timeout(120_000);
});

describe("an agent of the person's own", () => {
  const newWorld = commandWorlds();

  it("runs by its name with its prompt, files and hooks, and sees a placeholder", async () => {
    const world = newWorld({ "hello.txt": "hello\n" });
    const folder = path.join(world.home, "config", "holdfast");
    mkdirSync(folder, { recursive: true });
    const started =
      '{"event":"tool.started","call":"1","tool":"Edit","toolKind":"edit","title":"Edit","input":{}}';
    const finished = '{"event":"tool.finished","call":"1","status":"ok","output":null}';
    const tell = (event: string): string => `echo '${event}' | "$HOLDFAST_NATIVE" hook`;
    const work = `${tell(started)}; echo "$MODEL_KEY" > key.txt; cat ~/.own > own.txt; echo "$1" > prompt.txt; ${tell(finished)}`;
    const own = {
      name: "own",
      command: ["sh", "-c", work, "sh"],
      files: [{ path: "~/.own", content: "seeded\n" }],
      keys: [{ variable: "MODEL_KEY", hosts: ["api.example.com"] }],
      hooks: "plain",
    };
    writeFileSync(path.join(folder, "agents.json"), JSON.stringify({ agents: [own] }), {
      mode: 0o600,
    });
    const { code, stderr } = await world.run(["run", "--agent", "own", "--prompt", "do it"], {
      env: { MODEL_KEY: "a-real-key-of-nobody" },
    });
    assert.equal(code, 0, stderr);
    const entries = await world.entries();
    const calls = entries.filter((entry) => entry.kind === "tool.started");
    assert.deepEqual(
      calls.map(({ tool, source }) => `${tool} ${source}`),
      ["Edit hook"],
    );
    const status = await world.json<{ coverage: string; agent: string }>(["status", "latest"]);
    assert.deepEqual([status.agent, status.coverage], ["own", "full"]);
    const { stdout: patch } = await world.run(["diff", "latest"]);
    assert.match(patch, /^\+\$HOLDFAST_SECRET_MODEL_KEY$/m);
    assert.match(patch, /^\+seeded$/m);
    assert.match(patch, /^\+do it$/m);
  });

  it("a mistake in the file is told with its line", async () => {
    const world = newWorld({ "hello.txt": "hello\n" });
    const folder = path.join(world.home, "config", "holdfast");
    mkdirSync(folder, { recursive: true });
    writeFileSync(path.join(folder, "agents.json"), '{"agents": [\n{"name":"own"}]}', {
      mode: 0o600,
    });
    const { code, stderr } = await world.run(["run", "--agent", "own", "--prompt", "do it"]);
    assert.equal(code, 1);
    assert.match(stderr, /agents\.json:2:1: /);
  });
});
