import assert from "node:assert/strict";
import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { Failure } from "../../src/base/errors.ts";
import {
  acpMcp,
  claudeMcp,
  codexMcp,
  geminiMcp,
  openCodeMcp,
} from "../../src/node/mcp/mcpConfiguration.ts";
import { fillSecrets, secretsNamed, secretsWritten } from "../../src/node/mcp/mcpSecrets.ts";
import { parseMcpSettings, readMcpServers } from "../../src/node/mcp/mcpSettings.ts";
import { planOf, withInput } from "../../src/node/mcp/messages.ts";
import {
  canonicalJson,
  definitionHash,
  type Pin,
  pinDifference,
  samePin,
  toolHash,
} from "../../src/node/mcp/toolPins.ts";
import { ToolSet } from "../../src/node/mcp/toolSet.ts";
import { temporaryFolders } from "../support/temporaryFolder.ts";

function refused(text: string, message: RegExp): void {
  assert.throws(
    () => parseMcpSettings(text, "mcp.json"),
    (error) => {
      assert.ok(error instanceof Failure);
      assert.match(error.message, message);
      assert.match(error.line, /correct the file/);
      return true;
    },
  );
}

describe("MCP settings", () => {
  const folder = temporaryFolders();

  it("are programs and addresses, with comments", () => {
    const text = `{ // mine
      "mcpServers": {
        "github": { "command": "npx", "args": ["-y", "x"], "env": { "TOKEN": "$HOLDFAST_SECRET_GH" } },
        "crm": { "type": "http", "url": "https://crm.example/mcp", "headers": { "Authorization": "Bearer abcdefghij" } },
      } }`;
    const servers = parseMcpSettings(text, "mcp.json");
    assert.deepEqual(
      servers.map(({ name }) => name),
      ["github", "crm"],
    );
    assert.deepEqual(secretsNamed(servers), ["GH"]);
    assert.deepEqual(secretsWritten(servers), [
      { name: "MCP_CRM_AUTHORIZATION", value: "abcdefghij", bindings: [] },
    ]);
  });

  it("say what is wrong, and where", () => {
    refused('{ "mcpServers": { ', /^mcp\.json:1:19: not valid JSON/);
    refused('{ "servers": {} }', /mcpServers/);
    refused(
      '{ "mcpServers": { "a": { "run": "x" } } }',
      /:1:24: mcpServers\.a: a server is either/,
    );
    refused('{ "mcpServers": { "a": { "command": "x", "agrs": [] } } }', /a: unknown key "agrs"/);
    refused(
      '{ "mcpServers": { "a": { "url": "http://x", "header": {} } } }',
      /a: unknown key "header"/,
    );
    refused(
      '{ "mcpServers": { "a": { "command": "x", "url": "http://x" } } }',
      /a: a server is either/,
    );
    refused('{ "mcpServers": { "holdfast": { "command": "x" } } }', /Holdfast's own server/);
    refused('{ "mcpServers": { "a b": { "command": "x" } } }', /letters, digits/);
    refused('{ "mcpServers": { "a": { "url": "file:///etc" } } }', /a\.url: Invalid URL/);
  });

  it("may not say anything twice: the second of two equal keys would win in silence", () => {
    const one = '{ "command": "x", "env": { "A": "1" } }';
    refused(
      `{ "mcpServers": { "a": ${one},\n "\\u0061": ${one} } }`,
      /^mcp\.json:2:2: the key "a" stands twice$/,
    );
    refused(`{ "mcpServers": { "a": ${one} }, "mcpServers": {} }`, /"mcpServers" stands twice/);
    refused(
      '{ "mcpServers": { "a": { "command": "x", "command": "y" } } }',
      /"command" stands twice/,
    );
    refused(
      '{ "mcpServers": { "a": { "command": "x", "env": { "A": "1", "A": "2" } } } }',
      /"A" stands/,
    );
  });

  it("may begin with a byte order mark", () => {
    assert.deepEqual(parseMcpSettings('\uFEFF{ "mcpServers": {} }', "mcp.json"), []);
  });

  it("are for a workspace also when it is named with a last slash, or by a link", () => {
    const base = realpathSync(folder());
    const workspace = path.join(base, "sales");
    const link = path.join(base, "link");
    mkdirSync(workspace);
    symlinkSync(workspace, link);
    mkdirSync(path.join(base, "holdfast"));
    const named = { slash: `${workspace}/`, link, other: base, absent: path.join(base, "absent") };
    const mcpServers = Object.fromEntries(
      Object.entries(named).map(([name, one]) => [name, { command: "x", workspaces: [one] }]),
    );
    const file = path.join(base, "holdfast", "mcp.json");
    writeFileSync(file, JSON.stringify({ mcpServers }), { mode: 0o600 });
    const found = readMcpServers({ XDG_CONFIG_HOME: base }, workspace);
    assert.deepEqual(
      found.map(({ name }) => name),
      ["slash", "link"],
    );
  });

  it("are not taken from the workspace, by whatever link: an agent could add one", () => {
    const base = realpathSync(folder());
    const workspace = path.join(base, "dotfiles");
    mkdirSync(path.join(workspace, "holdfast"), { recursive: true });
    symlinkSync(workspace, path.join(base, "config"));
    const file = path.join(workspace, "holdfast", "mcp.json");
    writeFileSync(file, JSON.stringify({ mcpServers: { x: { command: "x" } } }), { mode: 0o600 });
    for (const home of [workspace, path.join(base, "config")]) {
      const env = { XDG_CONFIG_HOME: home };
      assert.throws(() => readMcpServers(env, workspace), { code: "mcp-in-workspace" });
      assert.equal(readMcpServers(env, path.join(base, "elsewhere")).length, 1);
    }
  });

  it("fill in the value of a secret, and of no other whose name begins alike", () => {
    const secrets = [{ name: "A", value: "v$&1", bindings: [] }];
    const text = "$HOLDFAST_SECRET_A-${HOLDFAST_SECRET_A}-$HOLDFAST_SECRET_AB";
    assert.equal(fillSecrets(text, secrets), "v$&1-v$&1-$HOLDFAST_SECRET_AB");
  });
});

describe("MCP pins", () => {
  const server = { name: "s", command: "node", args: ["a"], env: { KEY: "one" } };
  const key = Buffer.alloc(32, 1);
  const env = { PATH: "/usr/bin" };

  it("hold every tool of a name, and names of any kind", () => {
    const listed = (...descriptions: string[]): Pin => {
      const tools = new ToolSet();
      tools.replace(descriptions.map((description) => ({ name: "t", description })));
      return tools.pin("d");
    };
    assert.ok(samePin(listed("one", "two"), listed("two", "one")));
    assert.ok(!samePin(listed("one", "two"), listed("other", "two")));
    const shown = new ToolSet();
    const both = ["one", "two"].map((description) => ({ name: "t", description }));
    shown.replace(both);
    shown.show(both);
    assert.ok(shown.current, "the agent saw what we saw");
    for (const name of ["constructor", "__proto__", "toString"]) {
      const tools = new ToolSet();
      tools.replace([{ name }]);
      const none = { definition: "d", tools: {} };
      assert.equal(pinDifference(none, tools.pin("d")), `new tools ${name}`);
      assert.equal(pinDifference(tools.pin("d"), none), `tools gone ${name}`);
    }
  });

  it("do not depend on the order of members, and on everything else", () => {
    assert.equal(
      canonicalJson({ b: [1, { d: 1, c: null }], a: "x" }),
      '{"a":"x","b":[1,{"c":null,"d":1}]}',
    );
    const tool = { name: "t", description: "d", inputSchema: { type: "object" } };
    assert.equal(
      toolHash(tool),
      toolHash({ inputSchema: { type: "object" }, description: "d", name: "t" }),
    );
    for (const change of [
      { description: "e" },
      { title: "T" },
      { annotations: { readOnlyHint: true } },
    ]) {
      assert.notEqual(toolHash(tool), toolHash({ ...tool, ...change }));
    }
    const base = definitionHash(server, env, key);
    assert.equal(definitionHash({ ...server }, env, key), base);
    for (const change of [
      { args: ["b"] },
      { env: { KEY: "two" } },
      { env: { KEZ: "one" } },
      { cwd: "/" },
    ]) {
      assert.notEqual(definitionHash({ ...server, ...change }, env, key), base);
    }
    assert.notEqual(definitionHash(server, env, Buffer.alloc(32, 2)), base, "keyed");
  });

  it("compare tools as sets", () => {
    const pin = { definition: "d", tools: { a: ["1", "2"], b: ["3"] } };
    assert.ok(samePin(pin, { definition: "d", tools: { b: ["3"], a: ["2", "1"] } }));
    assert.ok(!samePin(pin, { definition: "d", tools: { a: ["1", "2"] } }));
    assert.ok(!samePin(pin, { ...pin, definition: "e" }));
  });
});

describe("MCP messages", () => {
  const request = (method: string, params: Record<string, unknown>) =>
    ({ jsonrpc: "2.0", id: 1, method, params }) as const;

  it("are judged, passed on or refused", () => {
    const call = request("tools/call", { name: "t", arguments: { a: 1 }, _meta: { x: 1 } });
    assert.deepEqual(planOf(call), { kind: "gate", target: "t", input: { a: 1 } });
    assert.deepEqual(planOf(request("resources/read", { uri: "u", _meta: {} })), {
      kind: "gate",
      target: "u",
      input: { uri: "u" },
    });
    assert.equal(planOf(request("tools/list", {})).kind, "pass");
    for (const method of ["server/discover", "tools/call", "x/y", "__proto__"]) {
      assert.equal(planOf(request(method, {})).kind, "refuse", method);
    }
  });

  it("carry what was approved, and all else as it was", () => {
    const call = request("tools/call", {
      name: "t",
      arguments: { a: 1 },
      _meta: { x: 1 },
      task: {},
    });
    assert.deepEqual(withInput(call, { a: 2 }).params, {
      name: "t",
      arguments: { a: 2 },
      _meta: { x: 1 },
      task: {},
    });
    assert.deepEqual(
      withInput(request("resources/read", { uri: "u", _meta: { p: 1 } }), { uri: "u" }).params,
      {
        uri: "u",
        _meta: { p: 1 },
      },
    );
  });
});

describe("MCP configuration of agents", () => {
  const args = ["connect", "/run/holdfast/mcp.sock", "crm"];
  const command = "/run/holdfast-native";

  it("names the gateway in each agent's own words", () => {
    assert.deepEqual(claudeMcp(["crm"]), {
      mcpServers: { crm: { type: "stdio", command, args, env: {} } },
    });
    assert.deepEqual(claudeMcp([]), { mcpServers: {} });
    assert.match(
      codexMcp(["crm"]),
      /^\[mcp_servers\."crm"\]\ncommand = "\/run\/holdfast-native"\nargs = \["connect", /,
    );
    assert.deepEqual(openCodeMcp(["crm"]), {
      crm: { type: "local", command: [command, ...args], enabled: true, timeout: 86_400_000 },
    });
    assert.deepEqual(geminiMcp(["crm"]), {
      crm: { command, args, timeout: 86_400_000, trust: true },
    });
    assert.deepEqual(acpMcp(["crm"]), [{ name: "crm", command, args, env: [] }]);
  });
});
