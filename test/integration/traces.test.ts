import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { commandWorlds, eventually, type CommandWorld } from "../support/holdfastCommand.ts";
import {
  ExportTraceServiceRequest,
  otlpReceiver,
  type OtlpReceiver,
} from "../support/otlpReceiver.ts";

interface JsonSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
}

const files = { "a.txt": "one\n", ".env": "API_KEY=hidden-value-0815\n" };
const edit = ["--", "sh", "-c", "cat a.txt; echo two >> a.txt; sleep 0.1"];

/** What the user's own file says: `settings` over what is customary. */
function configure(world: CommandWorld, endpoint: string, settings: object = {}): void {
  const folder = path.join(world.home, "config", "holdfast");
  mkdirSync(folder, { recursive: true });
  const text = JSON.stringify({ version: 1, endpoint, ...settings });
  writeFileSync(path.join(folder, "traces.json"), text, { mode: 0o600 });
}

async function exported(world: CommandWorld, transaction: string): Promise<readonly JsonSpan[]> {
  const { code, stdout, stderr } = await world.run([
    ...["journal", "export", transaction, "--format", "otlp"],
  ]);
  assert.equal(code, 0, stderr);
  const document = JSON.parse(stdout) as {
    resourceSpans: { scopeSpans: { spans: JsonSpan[] }[] }[];
  };
  return document.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((one) => one.spans));
}

describe("traces", () => {
  const newWorld = commandWorlds();
  const receivers: OtlpReceiver[] = [];
  afterEach(async () => {
    for (const receiver of receivers.splice(0)) await receiver.close();
  });
  const receive = async (mode?: "take" | "refuse" | "hang"): Promise<OtlpReceiver> => {
    const receiver = await otlpReceiver(mode);
    receivers.push(receiver);
    return receiver;
  };
  const run = async (world: CommandWorld, env: NodeJS.ProcessEnv = {}): Promise<string> => {
    const { code, stdout, stderr } = await world.run(["run", "--json", ...edit], { env });
    assert.equal(code, 0, stderr);
    return (JSON.parse(stdout) as { transaction: string }).transaction;
  };
  const alerts = async (world: CommandWorld): Promise<readonly string[]> =>
    (await world.entries()).flatMap((entry) =>
      entry.kind === "alert" && entry.code === "traces-not-sent" ? [entry.message] : [],
    );

  it("export is OTLP/JSON that the official definitions take, and twice the same", async () => {
    const world = newWorld(files);
    const transaction = await run(world);
    await world.run(["check", transaction]); // the last that writes into its journal by itself
    const args = ["journal", "export", transaction, "--format", "otlp"];
    const first = await world.run(args);
    assert.equal(first.stdout, (await world.run(args)).stdout);
    // The JSON form writes ids in hex where protobuf's own has Base64: that alone is put right before it is checked.
    const document = JSON.parse(first.stdout, (key, value: unknown) =>
      /^(trace|span|parentSpan)Id$/.test(key) && typeof value === "string"
        ? Buffer.from(value, "hex").toString("base64")
        : value,
    ) as object;
    const message = ExportTraceServiceRequest.fromObject(document);
    assert.equal(ExportTraceServiceRequest.verify(message), null);
    const spans = await exported(world, transaction);
    const names = spans.map((span) => span.name);
    for (const name of [
      "invoke_agent command",
      "fork",
      "execute_tool cat",
      "exec cat",
      "file modified",
    ])
      assert.ok(names.includes(name), `${name} in ${names.join(", ")}`);
  });

  it("live spans are those of the export: same ids, same parents", async () => {
    const receiver = await receive();
    const world = newWorld(files);
    configure(world, receiver.endpoint);
    const transaction = await run(world);
    await world.run(["commit", transaction]);
    const shape = (one: JsonSpan): string =>
      `${one.traceId} ${one.spanId} ${one.parentSpanId ?? ""} ${one.name}`;
    const received = (): string[] => [...new Set(receiver.spans.map((one) => shape(one)))].sort();
    // A check may end after the commit: the journal grows once more.
    const wanted = await eventually(async () => {
      const all = (await exported(world, transaction)).map(shape).sort();
      return all.length === received().length ? all : undefined;
    }, "all spans");
    assert.deepEqual(received(), wanted);
    const root = receiver.spans.find((one) => one.name === "invoke_agent command");
    assert.equal(root?.attributes["holdfast.changes.modified"], 1);
    assert.deepEqual(await alerts(world), []);
  });

  it("sends no secret: neither one that the fork hides nor one in the command line", async () => {
    const receiver = await receive();
    const world = newWorld(files);
    configure(world, receiver.endpoint);
    const token = `ghp_${"Zx9y".repeat(9)}`;
    const script = `echo hidden-value-0815 ${token} > /dev/null; true ${token}`;
    await world.run(["run", "--task", `use ${token}`, "--", "sh", "-c", script]);
    await eventually(
      () => receiver.spans.find((one) => one.name === "invoke_agent command"),
      "the span of the transaction",
    );
    const text = receiver.bytes.toString("latin1");
    assert.ok(!text.includes(token));
    assert.ok(!text.includes("hidden-value-0815"));
    assert.match(text, /\$HOLDFAST_SECRET_API_KEY/);
  });

  it("sends the header whose value is a secret bound to that host, and no other", async () => {
    const receiver = await receive();
    const world = newWorld(files);
    const headers = { authorization: { secret: "COLLECTOR" } };
    configure(world, receiver.endpoint, { headers });
    const set = ["secret", "set", "COLLECTOR", "--host"];
    await world.run([...set, "elsewhere.example"], { input: "Bearer abc-123" });
    await run(world);
    assert.deepEqual(await alerts(world), [
      "traces are not sent: COLLECTOR is not bound to 127.0.0.1",
    ]);
    assert.equal(receiver.headers.length, 0);
    await world.run([...set, "127.0.0.1"], { input: "Bearer abc-123" });
    await run(world);
    await eventually(() => receiver.headers[0], "spans");
    assert.equal(receiver.headers[0]?.["authorization"], "Bearer abc-123");
  });

  it("is off by default, and nothing but the user's own file or setting turns it on", async () => {
    const receiver = await receive();
    const settings = JSON.stringify({ version: 1, endpoint: receiver.endpoint });
    const editor = JSON.stringify({ "holdfast.traceEndpoint": receiver.endpoint });
    const world = newWorld({
      ...files,
      ".holdfast/traces.json": settings,
      ".holdfast/policy.json": JSON.stringify({ version: 1, rules: [] }),
      ".vscode/settings.json": editor,
    });
    await run(world, { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint });
    await world.run(["discard", "latest"]);
    await new Promise((resolve) => setTimeout(resolve, 3000));
    assert.equal(receiver.headers.length, 0);
  });

  const troubles: readonly (readonly [
    what: string,
    mode: "refuse" | "hang" | "gone",
    told: RegExp | undefined,
  ])[] = [
    ["that refuses", "refuse", /^traces could not be sent to 127\.0\.0\.1:\d+: /],
    ["that is not there", "gone", /^traces could not be sent to 127\.0\.0\.1:\d+: /],
    ["that never answers", "hang", undefined],
  ];
  for (const [what, mode, told] of troubles)
    it(`a receiver ${what} neither stops nor fails a transaction, and is told of once at most`, async () => {
      const receiver = await receive(mode === "gone" ? "take" : mode);
      if (mode === "gone") await receiver.close();
      const world = newWorld(files);
      configure(world, receiver.endpoint);
      const transaction = await run(world);
      if (told !== undefined) {
        const [alert] = await eventually(async () => {
          const found = await alerts(world);
          return found.length > 0 ? found : undefined;
        }, "the alert");
        assert.match(alert ?? "", told);
      }
      const begun = performance.now();
      assert.equal((await world.run(["commit", transaction])).code, 0);
      assert.equal((await world.run(["journal", "verify", transaction])).code, 0);
      assert.ok(performance.now() - begun < 20_000);
      assert.ok((await alerts(world)).length <= 1);
    });

  const mistakes: readonly (readonly [what: string, text: string, told: RegExp])[] = [
    ["is not JSON", "{", /traces\.json cannot be used/],
    ["names no address", '{"version":1,"endpoint":"collector"}', /no endpoint: "collector"/],
    [
      "has a member too many",
      '{"version":1,"endpoint":"http://x","on":true}',
      /cannot be used: .*on/,
    ],
  ];
  for (const [what, text, told] of mistakes)
    it(`a file that ${what} is told of, and the transaction runs`, async () => {
      const world = newWorld(files);
      configure(world, "http://127.0.0.1:1");
      writeFileSync(path.join(world.home, "config", "holdfast", "traces.json"), text);
      await run(world);
      const found = await alerts(world);
      assert.equal(found.length, 1);
      assert.match(found[0] ?? "", told);
    });
});
