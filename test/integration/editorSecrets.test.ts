import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import path from "node:path";
import { setSecret } from "../../src/node/secrets/secretStore.ts";
import { givenValues } from "../../src/node/secrets/keyring.ts";
import { makeTransaction, newTransactionId } from "../../src/node/state/home.ts";
import { openHome } from "../../src/node/state/homeDirectory.ts";
import { connectSupervisor, spawnSupervisor } from "../../src/supervisor/client.ts";
import type { StartSpec } from "../../src/supervisor/startSpec.ts";
import { listen } from "../support/brokerWorld.ts";
import { root as repository } from "../support/repository.ts";
import { temporaryFolders } from "../support/temporaryFolder.ts";

const value = "sk-kept-by-the-editor-4711";
const installation = { dist: path.join(repository, "dist"), node: process.execPath };

describe("a secret whose value the editor keeps", function () {
  this.timeout(90_000);
  const folder = temporaryFolders();
  let home = "";
  let workspace = "";
  let seen: (string | undefined)[] = [];
  let origin: ReturnType<typeof createServer>;
  let port = 0;
  /** What the editor's storage is to the store. */
  const kept = givenValues({});

  beforeEach(async () => {
    const base = realpathSync(folder());
    home = openHome({ HOLDFAST_HOME: path.join(base, "home") });
    workspace = path.join(base, "project");
    mkdirSync(workspace);
    seen = [];
    origin = createServer((request: IncomingMessage, response) => {
      seen.push(request.headers.authorization);
      response.end(`you sent ${request.headers.authorization ?? ""}\n`);
    });
    port = await listen(origin);
    const hosts = [`127.0.0.1:${port}`];
    await setSecret(home, "API_KEY", hosts, { keep: "editor", value }, { editor: kept });
  });
  afterEach(() => void origin.close());

  /** Files of the state directory that have a text in them. */
  function filesHolding(text: string): string[] {
    return readdirSync(home, { recursive: true, withFileTypes: true })
      .filter((one) => one.isFile())
      .filter((one) => readFileSync(path.join(one.parentPath, one.name)).includes(text))
      .map(({ name }) => name);
  }

  /** Begins a transaction in which a program sends the variable to the origin; ends when it is sealed. */
  async function run(more: Partial<StartSpec>): Promise<{ inside: string; holding: string[] }> {
    const policyFile = path.join(path.dirname(workspace), "policy.json");
    const rules = [{ id: "own", when: { host: "127.0.0.1" }, verdict: "allow" }];
    writeFileSync(policyFile, JSON.stringify({ version: 1, rules }), { mode: 0o600 });
    const { root } = makeTransaction(home, newTransactionId(new Date()));
    const send = `curl -sS --noproxy '' -x "$HTTP_PROXY" -H "authorization: Bearer $API_KEY"`;
    const command = `printenv > seen; ${send} http://127.0.0.1:${port}/ >> seen`;
    const spec: StartSpec = {
      workspace,
      agent: "command",
      command: ["bash", "-c", command],
      backend: "auto",
      policyFile,
      limits: {},
      secrets: ["API_KEY"],
      onExit: "review",
      cwd: workspace,
      waitForClient: false,
      unsafeNoSandbox: false,
      checks: { disabled: [], commands: [], limits: {} },
      ...more,
    };
    await spawnSupervisor(root, installation, spec, () => undefined);
    const connection = await connectSupervisor(root, "test");
    const sealed = new Promise<void>((resolve) => {
      connection.caller.on("entries", (entries) => {
        if (entries.some(({ kind }) => kind === "transaction.sealed")) resolve();
      });
    });
    await connection.caller.call("subscribe", { after: 0 });
    await sealed;
    const { content = "" } = await connection.caller.call("file", { path: "seen", side: "shadow" });
    const holding = filesHolding(value);
    await connection.caller.call("discard", {});
    await connection.closed;
    return { inside: Buffer.from(content, "base64").toString(), holding };
  }

  it("reaches its host, and neither the sandbox nor any file of ours", async () => {
    const { inside, holding } = await run({ editorSecrets: { API_KEY: value } });
    assert.deepEqual(seen, [`Bearer ${value}`]);
    assert.match(inside, /^API_KEY=\$HOLDFAST_SECRET_API_KEY$/m);
    assert.match(inside, /^you sent Bearer \$HOLDFAST_SECRET_API_KEY$/m);
    assert.doesNotMatch(inside, new RegExp(value));
    assert.deepEqual(holding, []);
    assert.ok(filesHolding("API_KEY").includes("secrets.json"), "the search finds what is there");
  });

  it("is refused with the way out where the editor has not given it", async () => {
    const refused = { code: "no-secret-storage", fix: /start the transaction from the editor/ };
    await assert.rejects(run({}), refused);
    await assert.rejects(run({ editorSecrets: {} }), { code: "secret-missing" });
    assert.deepEqual(seen, []);
  });
});
