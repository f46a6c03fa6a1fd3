import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { Failure } from "../../src/base/errors.ts";
import { agentsJsonSchema } from "../../src/core/agents/agentsFile.ts";
import { adapterOf, agentsOf, builtInAgents } from "../../src/node/agents/registry.ts";
import { programVersion } from "../../src/node/agents/findProgram.ts";
import type { LaunchRequest } from "../../src/runtime/agent.ts";
import type { AgentLaunch } from "../../src/runtime/ports.ts";
import { temporaryFolders } from "../support/temporaryFolder.ts";

describe("agents of the person's own", () => {
  const folder = temporaryFolders();

  /** A configuration folder with this agents file, and the environment that names it. */
  function configured(text: string, mode = 0o600): { env: LaunchRequest["env"]; file: string } {
    const base = folder();
    const file = path.join(base, "holdfast", "agents.json");
    fs.mkdirSync(path.dirname(file));
    fs.writeFileSync(file, text, { mode });
    fs.chmodSync(file, mode);
    return { env: { ...process.env, XDG_CONFIG_HOME: base, MODEL_KEY: "the-real-key" }, file };
  }

  function failureOf(text: string, workspace?: string): Failure {
    const { env } = configured(text);
    try {
      agentsOf(env, workspace);
    } catch (error) {
      assert.ok(error instanceof Failure);
      return error;
    }
    throw new assert.AssertionError({ message: `taken: ${text}` });
  }

  const request = (env: LaunchRequest["env"]): LaunchRequest => ({
    workspace: "/workspace",
    command: ["--more"],
    prompt: "do $& it",
    env,
    interactive: false,
  });

  async function launched(definition: object): Promise<AgentLaunch> {
    const { env } = configured(JSON.stringify({ agents: [{ name: "own", ...definition }] }));
    return adapterOf("own", env, "/workspace").launch(request(env));
  }

  it("become a launch: command, prompt, environment, files, hosts, placeholders for keys", async () => {
    const launch = await launched({
      command: ["sh", "-c", "true"],
      promptArguments: ["--message", "{prompt}"],
      environment: { OWN_MODE: "fast" },
      modelHosts: ["api.example.com"],
      hosts: ["docs.example.com"],
      keys: [{ variable: "MODEL_KEY", hosts: ["api.example.com:8443"] }],
      secrets: ["CRM_KEY"],
      files: [
        { path: "~/.own/config", content: "a" },
        { path: "/etc/own.json", content: "{}" },
      ],
    });
    assert.deepEqual(launch.argv.slice(1), ["-c", "true", "--more", "--message", "do $& it"]);
    assert.equal(launch.env["OWN_MODE"], "fast");
    assert.equal(launch.env["MODEL_KEY"], "$HOLDFAST_SECRET_MODEL_KEY");
    assert.doesNotMatch(
      JSON.stringify({ ...launch, secrets: undefined }),
      /the-real-key/,
      "the value is with the secrets alone",
    );
    assert.deepEqual(launch.secrets, [
      {
        name: "MODEL_KEY",
        value: "the-real-key",
        bindings: [{ host: "api.example.com", port: 8443, positions: ["header"] }],
      },
    ]);
    assert.deepEqual(
      launch.files.map(({ path: place, mode }) => `${place} ${mode.toString(8)}`),
      ["/home/agent/.own/config 600", "/etc/own.json 644"],
    );
    assert.deepEqual(launch.modelHosts, ["api.example.com"]);
    assert.deepEqual(launch.readHosts, ["docs.example.com"]);
    assert.deepEqual(launch.secretNames, ["CRM_KEY"]);
  });

  it("a key that is not set is said", async () => {
    const launch = await launched({
      command: ["true"],
      keys: [{ variable: "ABSENT_KEY", hosts: ["a.example"] }],
    });
    assert.match(launch.notes?.join() ?? "", /ABSENT_KEY is not set/);
  });

  it("a folder that is not there is said", async () => {
    const launch = await launched({ command: ["true"], readOnly: ["/usr", "/not/there"] });
    assert.deepEqual(launch.notes, ["own cannot read /not/there: it is not there"]);
  });

  for (const [what, text, place, message] of [
    ["a broken file", '{\n  "agents": [\n}', "3:1", /not valid JSON/],
    ["an unknown key", '{"agents": [\n{"name":"a","command":["a"],"colour":1}]}', "2:29", /colour/],
    [
      "a name in capitals",
      '{"agents":[{"name":"Aider","command":["a"]}]}',
      "1:20",
      /small letters/,
    ],
    ["a built-in name", '{"agents":[{"name":"codex","command":["a"]}]}', "1:20", /built-in/],
    [
      "a name twice",
      '{"agents":[{"name":"a","command":["a"]},\n{"name":"a","command":["b"]}]}',
      "2:9",
      /used twice/,
    ],
    ["no command", '{"agents":[{"name":"a","command":[]}]}', "1:34", /command/],
    [
      "a key among the variables",
      '{"agents":[{"name":"a","command":["a"],\n"environment":{"A_KEY":"k"}}]}',
      "2:24",
      /"keys"/,
    ],
    [
      "a key among those passed on",
      '{"agents":[{"name":"a","command":["a"],\n"passOn":["A_MODE","A_TOKEN"]}]}',
      "2:20",
      /A_TOKEN looks like a key/,
    ],
    [
      "a variable in small letters",
      '{"agents":[{"name":"a","command":["a"],\n"environment":{"mode":"k"}}]}',
      "2:16",
      /environment\.mode: a variable is written in capitals/,
    ],
    [
      "a port that there is not",
      '{"agents":[{"name":"a","command":["a"],\n"hosts":["a.example:99999"]}]}',
      "2:10",
      /at most 65535/,
    ],
    [
      "a file under another one",
      '{"agents":[{"name":"a","command":["a"],"files":[{"path":"~/a","content":""},\n{"path":"~/a/b","content":""}]}]}',
      "2:9",
      /~\/a\/b and ~\/a cannot both be files/,
    ],
    [
      "a file that is a folder",
      '{"agents":[{"name":"a","command":["a"],\n"files":[{"path":"~/a/","content":""}]}]}',
      "2:18",
      /names a file/,
    ],
    [
      "a file outside of home and etc",
      '{"agents":[{"name":"a","command":["a"],\n"files":[{"path":"/usr/bin/a","content":""}]}]}',
      "2:18",
      /home/,
    ],
    [
      "a file that climbs out",
      '{"agents":[{"name":"a","command":["a"],\n"files":[{"path":"~/../a","content":""}]}]}',
      "2:18",
      /\.\./,
    ],
  ] as const)
    it(`${what} is told with its place`, () => {
      const failure = failureOf(text);
      assert.equal(failure.code, "agents-invalid");
      assert.match(failure.message, new RegExp(`agents\\.json:${place}: `));
      assert.match(failure.message, message);
    });

  it("a mistake there does not stop the built-in agents", () => {
    const { env } = configured("{");
    assert.equal(adapterOf("codex", env, "/workspace").name, "codex");
  });

  it("a file that others can write is refused", () => {
    const { env } = configured('{"agents":[]}', 0o666);
    assert.throws(() => agentsOf(env, undefined), { code: "agents-foreign" });
  });

  it("a workspace defines none, neither in its own folder nor through a link", () => {
    const { env, file } = configured('{"agents":[{"name":"a","command":["a"]}]}');
    const workspace = path.dirname(path.dirname(file));
    assert.throws(() => agentsOf(env, fs.realpathSync(workspace)), { code: "agents-in-workspace" });

    const linked = configured("");
    fs.rmSync(linked.file);
    fs.symlinkSync(file, linked.file);
    assert.throws(() => agentsOf(linked.env, fs.realpathSync(workspace)), {
      code: "agents-in-workspace",
    });
  });

  it("without a file there are the built-in ones", () => {
    const env = { XDG_CONFIG_HOME: folder() };
    assert.deepEqual(agentsOf(env, undefined), builtInAgents);
    assert.throws(() => adapterOf("nobody", env, undefined), { code: "unknown-agent" });
  });

  it("media/agents.schema.json is what the code says (npm run schema)", () => {
    const file = new URL("../../media/agents.schema.json", import.meta.url);
    assert.deepEqual(JSON.parse(fs.readFileSync(file, "utf8")), agentsJsonSchema());
  });
});

describe("the launch of an agent", () => {
  const folder = temporaryFolders();

  /** An installed program that does nothing, of this version. */
  function installed(version: string): string {
    const place = path.join(folder(), "lib");
    fs.mkdirSync(path.join(place, "bin"), { recursive: true });
    fs.writeFileSync(path.join(place, "package.json"), JSON.stringify({ version }));
    const program = path.join(place, "bin", "agent");
    fs.writeFileSync(program, "#!/bin/sh\n", { mode: 0o755 });
    return program;
  }

  const variables: Readonly<Record<string, string>> = {
    "claude-code": "HOLDFAST_CLAUDE_CODE",
    codex: "HOLDFAST_CODEX",
    opencode: "HOLDFAST_OPENCODE",
    gemini: "HOLDFAST_GEMINI",
  };

  function launch(
    agent: string,
    env: LaunchRequest["env"],
    more: Partial<LaunchRequest> = {},
  ): Promise<AgentLaunch> {
    return adapterOf(agent, {}, undefined).launch({
      workspace: "/workspace",
      command: [],
      env: {
        PATH: process.env["PATH"],
        HOME: folder(),
        [variables[agent] ?? ""]: installed("7.8.9"),
        ...env,
      },
      interactive: false,
      ...more,
    });
  }

  for (const agent of Object.keys(variables)) {
    it(`${agent}: version without running it, and a word where there is no key`, async () => {
      const { program, notes } = await launch(agent, {});
      assert.equal(program?.version, "7.8.9");
      assert.match(notes?.join() ?? "", /has no key/);
    });

    it(`${agent}: not installed is told with what to do`, async () => {
      const env = { PATH: "/nowhere", [variables[agent] ?? ""]: undefined };
      await assert.rejects(async () => launch(agent, env), { code: "agent-missing" });
    });

    it(`${agent}: keys are placeholders everywhere but in the supervisor's memory`, async () => {
      const key = "a-real-key-of-the-person";
      const names = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"];
      const env = Object.fromEntries(names.map((name) => [name, key]));
      const { secrets = [], ...rest } = await launch(agent, env);
      assert.ok(secrets.some(({ value }) => value === key));
      assert.ok(secrets.every(({ bindings }) => bindings.length === 1));
      assert.doesNotMatch(JSON.stringify(rest), new RegExp(key));
      assert.match(JSON.stringify(rest), /HOLDFAST_SECRET_/);
    });

    it(`${agent}: nobody at its input: it reads nothing`, async () => {
      const { argv } = await launch(agent, {}, { prompt: "work", unattended: true });
      assert.deepEqual(argv.slice(0, 2), ["/bin/sh", "-c"]);
      assert.match(argv[2] ?? "", /<\/dev\/null/);
    });
  }

  for (const [agent, command] of [
    ["claude-code", ["--bare"]],
    ["codex", ["-c", "features.hooks=false"]],
    ["codex", ["--config=features.codex_hooks=false"]],
    ["codex", ["--disable", "hooks"]],
    ["codex", ["-chooks.PreToolUse=[]"]],
    ["opencode", ["--pure"]],
  ] as const)
    it(`${agent} ${command.join(" ")} is refused: it would switch the hooks off`, async () => {
      await assert.rejects(async () => launch(agent, {}, { command }), { code: "hooks-off" });
    });

  it("a model's address that is none is told", async () => {
    const env = { ANTHROPIC_BASE_URL: "not an address" };
    await assert.rejects(async () => launch("claude-code", env), { code: "bad-model-address" });
  });

  it("a program in a folder named after its version has that version", () => {
    const program = path.join(folder(), "versions", "2.1.3");
    fs.mkdirSync(path.dirname(program));
    fs.writeFileSync(program, "");
    assert.equal(programVersion(program), "2.1.3");
  });
});
