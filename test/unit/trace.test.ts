import assert from "node:assert/strict";
import type { Entry, EntryDraft } from "../../src/core/journal/entry.ts";
import type { TraceSpan } from "../../src/core/trace/span.ts";
import { TraceFold } from "../../src/core/trace/traceFold.ts";
import { spanIdOf, traceIdOf } from "../../src/node/telemetry/otlpSpans.ts";
import { scrubSpans } from "../../src/node/telemetry/scrubSpans.ts";
import { traceDocument } from "../../src/node/telemetry/traceDocument.ts";
import { Vault } from "../../src/node/secrets/vault.ts";
import { begun, entriesOf, toolStarted } from "../support/entries.ts";
import { sampleJournal } from "../support/sampleJournal.ts";

function spansOf(entries: readonly Entry[]): readonly TraceSpan[] {
  const fold = new TraceFold();
  for (const entry of entries) fold.apply(entry);
  return fold.spans();
}

const origin = { transaction: "t20261129-150212-3fa9c1", version: "0.1.0" };
const nothingKnown = new Vault([]);

describe("a transaction as a trace", () => {
  const entries = sampleJournal("committed");
  const spans = spansOf(entries);
  const bySeq = new Map(spans.map((span) => [span.seq, span]));
  const named = (name: string): TraceSpan => {
    const found = spans.find((span) => span.name === name);
    assert.ok(found !== undefined, `no span ${name} in ${spans.map((one) => one.name).join(", ")}`);
    return found;
  };

  it("is one tree: every span hangs under one that is there, and only the agent's stands alone", () => {
    const roots = spans.filter((span) => span.parent === undefined);
    assert.deepEqual(
      roots.map(({ name, seq }) => [name, seq]),
      [["invoke_agent claude-code", 1]],
    );
    for (const { seq, parent } of spans) {
      if (parent === undefined) continue;
      assert.ok(bySeq.has(parent) && parent < seq, `${seq} under ${parent}`);
    }
  });

  it("ends nothing before it begins", () => {
    for (const { name, startAt, endAt } of spans)
      assert.ok(startAt <= endAt, `${name}: ${startAt} – ${endAt}`);
  });

  it("names agents and tools as the conventions do", () => {
    const root = named("invoke_agent claude-code");
    assert.equal(root.attributes["gen_ai.operation.name"], "invoke_agent");
    assert.equal(root.attributes["gen_ai.agent.name"], "claude-code");
    assert.equal(root.attributes["holdfast.ended"], "sealed");
    const edits = spans.filter((span) => span.name === "execute_tool Edit");
    assert.equal(edits.length, 2);
    for (const edit of edits) {
      assert.equal(edit.attributes["gen_ai.operation.name"], "execute_tool");
      assert.equal(edit.attributes["gen_ai.tool.name"], "Edit");
      assert.match(String(edit.attributes["gen_ai.tool.call.id"]), /^call-\d+$/);
    }
    assert.equal(edits[1]?.attributes["gen_ai.agent.name"], "explorer");
    assert.equal(bySeq.get(edits[1].parent ?? 0)?.name, "execute_tool Task");
  });

  it("has processes, files, requests and holds under the call that caused them", () => {
    const node = named("exec node");
    const npm = bySeq.get(node.parent ?? 0);
    assert.equal(npm?.name, "exec npm");
    assert.equal(bySeq.get(npm.parent ?? 0)?.name, "execute_tool Bash");
    assert.equal(node.status, "error");
    assert.equal(node.attributes["process.exit.code"], 1);
    assert.equal(node.attributes["error.type"], "exit code 1");
    assert.equal(bySeq.get(named("file added").parent ?? 0)?.name, "execute_tool Write");
    const held = named("POST api.hubapi.com");
    assert.equal(bySeq.get(named("hold").parent ?? 0), held);
    assert.equal(bySeq.get(held.parent ?? 0)?.name, "execute_tool crm_archive");
    assert.equal(held.kind, "client");
    assert.equal(named("hold").attributes["holdfast.decision"], "deny");
  });

  it("says of classes what the timeline says", () => {
    const push = spans.find((span) => span.attributes["holdfast.rule"] === "git-new-branch");
    const call = bySeq.get(push?.parent ?? 0);
    assert.equal(call?.attributes["holdfast.reversibility"], "recoverable");
    assert.equal(call.attributes["holdfast.effects.requests"], 1);
    assert.deepEqual(
      push?.events.map((event) => event.attributes["holdfast.secret"]),
      ["GITHUB"],
    );
    const mismatched = spans.filter((span) => "holdfast.mismatch" in span.attributes);
    assert.deepEqual(
      mismatched.map((span) => span.name),
      ["execute_tool Read"],
    );
  });

  it("has a span for what takes time without a beginning in the journal", () => {
    const check = named("check typescript");
    assert.equal(Date.parse(check.endAt) - Date.parse(check.startAt), 640);
    assert.equal(check.status, "unset");
    assert.equal(Date.parse(named("fork").endAt) - Date.parse(named("fork").startAt), 214);
    assert.equal(named("commit").attributes["holdfast.published"], 4);
  });

  it("marks what has not ended, and ends it with the last entry", () => {
    const running = spansOf(entriesOf([begun, toolStarted("call-1")]));
    assert.deepEqual(
      running.map((span) => [span.name, span.attributes["holdfast.unfinished"], span.endAt]),
      [
        ["invoke_agent scripted", true, "2026-01-01T12:00:01.000Z"],
        ["execute_tool execute", true, "2026-01-01T12:00:01.000Z"],
      ],
    );
  });

  it("keeps the names in a query and none of its values", async () => {
    const query = entriesOf([
      begun,
      {
        kind: "request.started",
        source: "broker",
        request: "r1",
        protocol: "https",
        method: "GET",
        host: "api.example",
        port: 443,
        path: "/things?key=abc123&page=2",
        reversibility: "irreversible",
        traffic: "disclosure",
      },
    ]);
    const document = await traceDocument(query, origin, nothingKnown);
    assert.match(document, /key=REDACTED&page=REDACTED/);
    assert.doesNotMatch(document, /abc123/);
  });

  it("takes known values and what looks like a secret out of every text", async () => {
    const value = "correct-horse-battery";
    const token = `ghp_${"a1B2".repeat(9)}`;
    const vault = new Vault([{ name: "DEPLOY", value, bindings: [] }]);
    const all = spansOf(
      entriesOf([
        { ...begun, task: `deploy with ${value}` } as EntryDraft,
        toolStarted(`curl https://mara:hunter22@example.com -H "x: ${token}"`),
        toolStarted("echo harmless"),
      ]),
    );
    const clean = JSON.stringify(await scrubSpans(all, vault));
    for (const secret of [value, token, "hunter22"])
      assert.ok(!clean.includes(secret), `${secret} in ${clean}`);
    assert.match(clean, /deploy with \$HOLDFAST_SECRET_DEPLOY/);
    assert.match(clean, /echo harmless/);
  });

  it("exports the same text twice, with ids that come from the transaction and the place", async () => {
    const first = await traceDocument(entries, origin, nothingKnown);
    assert.equal(first, await traceDocument(sampleJournal("committed"), origin, nothingKnown));
    const document = JSON.parse(first) as {
      resourceSpans: { scopeSpans: { spans: { traceId: string; spanId: string }[] }[] }[];
    };
    const exported = document.resourceSpans[0]?.scopeSpans[0]?.spans ?? [];
    assert.deepEqual(
      exported.map(({ spanId }) => spanId),
      spans.map(({ seq }) => spanIdOf(origin.transaction, seq)),
    );
    assert.equal(new Set(exported.map(({ spanId }) => spanId)).size, exported.length);
    assert.deepEqual(
      new Set(exported.map(({ traceId }) => traceId)),
      new Set([traceIdOf(origin.transaction)]),
    );
    assert.match(traceIdOf(origin.transaction), /^[0-9a-f]{32}$/);
    assert.match(spanIdOf(origin.transaction, 1), /^[0-9a-f]{16}$/);
  });
});
