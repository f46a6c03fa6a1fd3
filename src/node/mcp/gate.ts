import { createHash } from "node:crypto";
import type { JsonValue } from "../../core/journal/entry.ts";
import type { CallFacts, Judge, Judgement } from "../../core/policy/judge.ts";
import { approvalCover } from "../../core/policy/policyBook.ts";
import type { PolicyRule } from "../../core/policy/policyFile.ts";
import type { BrokerHost } from "../../runtime/ports.ts";
import { likenessOf, newRequestId } from "../broker/exchangeState.ts";
import type { HeldCalls, Opening } from "../broker/heldCalls.ts";
import type { HeldPayload } from "../broker/heldPayload.ts";
import type { Vault } from "../secrets/vault.ts";
import type { McpServer } from "./mcpSettings.ts";
import { pinDifference, samePin, type Pin, type PinFile } from "./toolPins.ts";

/** What every gated call works with. */
export interface GateParts {
  /** Journals under the source `mcp`. */
  readonly host: BrokerHost;
  readonly judge: Judge;
  readonly vault: Vault;
  readonly held: HeldCalls;
  readonly pins: PinFile;
  readonly onPassed: (facts: CallFacts) => void;
  /** A person approved such calls as a rule from now on. */
  readonly onRuleApproved: (rule: PolicyRule) => void;
}

/** A request that the agent makes of a server: a tool call, or a read of a resource, prompt or completion. */
export interface GatedCall {
  readonly server: McpServer;
  readonly method: string;
  /** What is called or read: a tool's name, a resource's address. */
  readonly target: string;
  /** For tools: what it is called with; for reads: all of the parameters but `_meta`. */
  readonly input: unknown;
  /** What the agent calls its own tool call, where it says so. */
  readonly ids: readonly string[];
  readonly pin: Pin;
  readonly destructive: boolean;
  /** Aborted when the agent gives the call up. */
  readonly signal: AbortSignal;
}

export type GateOutcome =
  | {
      readonly kind: "go";
      /** What may be sent: exactly what was judged, or approved. */
      readonly input: unknown;
      /** Journals the end, once. */
      readonly finish: (end: CallEnd) => Promise<void>;
    }
  | { readonly kind: "refused"; readonly message: string };

export interface CallEnd {
  readonly output?: unknown;
  readonly error?: string;
  readonly bytes: number;
}

/** Milliseconds to wait for the agent's hook, which tells of the tool call just before it is made. */
const hookMs = 150;

/**
 * Judges calls to MCP servers, as the broker judges requests.
 *
 * - The policy decides; a server's word that a tool destroys tightens, its word that it only reads loosens nothing.
 * - A server whose command, environment or tools no person has approved yet holds every call, whatever the policy allows.
 * - A held call waits without limit; what is sent is what was shown; one approval sends once.
 */
export class Gate {
  readonly #parts: GateParts;
  readonly #trusted = new Map<string, Pin[]>();

  constructor(parts: GateParts) {
    this.#parts = parts;
  }

  /** Decides on one call. Rejects with the signal's reason when the agent gives it up meanwhile; a hold stays open. */
  async decide(call: GatedCall): Promise<GateOutcome> {
    const { vault, held } = this.#parts;
    const startedMs = performance.now();
    const request = newRequestId();
    const text = call.input === undefined ? "" : JSON.stringify(call.input, undefined, 2);
    const bytes = Buffer.byteLength(text);
    const facts = factsOf(call, vault.placeholdersIn(text), bytes);
    const untrusted = this.#untrusted(call);
    const judgement = this.#judge(call, facts, text, untrusted);
    const parent = await this.#parentOf(call);
    await this.#announce(request, call, judgement, parent, bytes);
    const finish = async (end: CallEnd): Promise<void> =>
      await this.#finish(request, parent, startedMs, bytes, end);
    if (judgement.verdict === "deny") {
      await this.#alertLeak(judgement, parent);
      await finish({ error: "denied", bytes: 0 });
      return { kind: "refused", message: deniedText(judgement) };
    }
    const waits =
      untrusted !== undefined ||
      (judgement.verdict === "hold" && !held.isApproved(likenessOf(facts, judgement)));
    if (!waits) {
      this.#parts.onPassed(facts);
      return { kind: "go", input: call.input, finish };
    }
    const rule = ruleToAdd(facts, judgement);
    const outcome = await held.decide(
      payloadOf(call, text),
      openingOf(request, parent, facts, judgement, rule, vault),
      request,
      call.signal,
    );
    if (outcome.kind !== "approved") {
      const error = outcome.kind === "spent" ? "already-sent" : "hold-denied";
      await finish({ error, bytes: 0 });
      return { kind: "refused", message: refusedText(judgement, outcome) };
    }
    if (outcome.scope !== "call") this.#trust(call, outcome.scope === "rule");
    if (outcome.scope === "rule" && rule !== undefined) this.#parts.onRuleApproved(rule);
    this.#parts.onPassed(facts);
    await outcome.done();
    const approved = outcome.payload.body.start.toString("utf8");
    const input = approved === "" ? undefined : (JSON.parse(approved) as unknown);
    return { kind: "go", input, finish };
  }

  /** Why the server's calls are not trusted yet; undefined when a person has approved just this tool set. */
  #untrusted(call: GatedCall): { readonly rule: string; readonly reason: string } | undefined {
    const { name } = call.server;
    const kept = this.#parts.pins.of(name);
    const before = [...(kept === undefined ? [] : [kept]), ...(this.#trusted.get(name) ?? [])];
    if (before.some((pin) => samePin(pin, call.pin))) return undefined;
    const [latest] = before.slice(-1);
    if (latest === undefined) {
      const count = Object.keys(call.pin.tools).length;
      const reason = `the first use of the MCP server ${name}, which offers ${count} tools`;
      return { rule: "mcp.first-use", reason };
    }
    const what = pinDifference(latest, call.pin);
    const reason = `the MCP server ${name} is not what was approved: ${what}`;
    return { rule: "mcp.changed", reason };
  }

  #trust(call: GatedCall, forGood: boolean): void {
    const { name } = call.server;
    this.#trusted.set(name, [...(this.#trusted.get(name) ?? []), call.pin]);
    if (forGood) this.#parts.pins.keep(name, call.pin);
  }

  #judge(
    call: GatedCall,
    facts: CallFacts,
    text: string,
    untrusted: { readonly rule: string; readonly reason: string } | undefined,
  ): Judgement {
    const leaked = this.#parts.vault.leakIn(`${call.target}\n${text}`);
    const judged = readsPass(call, this.#parts.judge(facts));
    const does = `Calls ${call.target} on the MCP server ${call.server.name}`;
    const words = call.method === "tools/call" ? does : `${call.method} ${call.target}`;
    const summary = judged.blastRadius === undefined ? words : judged.summary;
    if (leaked !== undefined) {
      return {
        ...judged,
        summary,
        verdict: "deny",
        reversibility: "irreversible",
        rule: "floor.secret-leak",
        reason: `the value of the secret ${leaked} was about to leave`,
      };
    }
    if (untrusted === undefined || judged.verdict === "deny") return { ...judged, summary };
    const also = judged.verdict === "hold" ? `; also: ${judged.reason}` : "";
    return {
      ...judged,
      summary,
      verdict: "hold",
      rule: untrusted.rule,
      reason: `${untrusted.reason}${also}`,
    };
  }

  /** The tool call that this is made for: by the agent's own id, by its input, else the one that began last. */
  async #parentOf(call: GatedCall): Promise<number | undefined> {
    const { host } = this.#parts;
    const end = performance.now() + hookMs;
    for (;;) {
      const found = host.toolCallOf?.(call.ids, call.input);
      if (found !== undefined) return found;
      if (call.ids.length === 0 || performance.now() > end)
        return host.currentToolCall() ?? (await host.toolCallToCome?.(false));
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  /** Journals the call and its verdict; durable before anything is sent. */
  async #announce(
    request: string,
    call: GatedCall,
    judgement: Judgement,
    parent: number | undefined,
    bytes: number,
  ): Promise<void> {
    const { host, vault } = this.#parts;
    const { verdict, reversibility, rule, traffic, wayBack } = judgement;
    const under = parent === undefined ? {} : { parent };
    await Promise.all([
      host.record({
        kind: "request.started",
        source: "mcp",
        ...under,
        request,
        protocol: "mcp",
        method: call.method,
        host: call.server.name,
        port: 0,
        path: `/${vault.scrub(call.target)}`,
        reversibility,
        traffic,
        ...(wayBack === undefined ? {} : { wayBack }),
        bytes,
        input: this.#kept(call.input),
      }),
      host.record({
        kind: "verdict",
        source: "mcp",
        ...under,
        request,
        verdict,
        reversibility,
        rule,
        reason: vault.scrub(judgement.reason),
      }),
    ]);
  }

  async #finish(
    request: string,
    parent: number | undefined,
    startedMs: number,
    sent: number,
    end: CallEnd,
  ): Promise<void> {
    const { host, vault } = this.#parts;
    const { output, error, bytes } = end;
    await host.record({
      kind: "request.finished",
      source: "mcp",
      ...(parent === undefined ? {} : { parent }),
      request,
      bytesSent: error === "denied" || error === "hold-denied" ? 0 : sent,
      bytesReceived: bytes,
      durationMs: Math.round(performance.now() - startedMs),
      ...(error === undefined ? {} : { error: vault.scrub(error) }),
      ...(output === undefined ? {} : { output: this.#kept(output) }),
    });
  }

  #kept(value: unknown): ReturnType<BrokerHost["keep"]> {
    const { host, vault } = this.#parts;
    return host.keep(JSON.parse(vault.scrub(JSON.stringify(value ?? null))) as unknown);
  }

  async #alertLeak(judgement: Judgement, parent: number | undefined): Promise<void> {
    if (judgement.rule !== "floor.secret-leak") return;
    const { reason: message } = judgement;
    const under = parent === undefined ? {} : { parent };
    const code = "secret-leak";
    await this.#parts.host.record({ kind: "alert", source: "mcp", ...under, code, message });
  }
}

/** What the policy sees of a call. Only an address that the person configured is a host that built-in knowledge is of. */
function factsOf(call: GatedCall, secrets: readonly string[], bytes: number): CallFacts {
  const url = "url" in call.server ? new URL(call.server.url) : undefined;
  const secure = url?.protocol !== "http:";
  const input = (call.input ?? null) as JsonValue;
  const isTool = call.method === "tools/call";
  return {
    kind: "mcp",
    scheme: secure ? "https" : "http",
    method: "POST",
    host: url?.hostname ?? `mcp:${call.server.name.toLowerCase()}`,
    port: url === undefined ? 0 : Number(url.port === "" ? (secure ? 443 : 80) : url.port),
    path: url?.pathname ?? "/",
    query: [],
    headers: [],
    bodyBytes: bytes,
    bodyType: "json",
    body: input,
    mcp: [
      {
        server: call.server.name,
        method: call.method,
        ...(isTool ? { tool: call.target } : {}),
        arguments: input,
        ...(call.destructive ? { destructive: true as const } : {}),
      },
    ],
    secrets,
    modelHost: false,
    // The person's own configuration names it.
    address: "public",
  };
}

/** Reading from a server that the person configured passes where nobody's rule says otherwise. */
function readsPass(call: GatedCall, judgement: Judgement): Judgement {
  if (call.method === "tools/call" || !judgement.rule.startsWith("default.")) return judgement;
  const reason = "reads from an MCP server of the person's own";
  return { ...judgement, verdict: "allow", rule: "mcp.read", reason };
}

/** The rule that an approval as a rule adds: this tool of this server, whatever it is called with. */
function ruleToAdd(facts: CallFacts, judgement: Judgement): PolicyRule | undefined {
  const isTrust = judgement.rule.startsWith("mcp.");
  const asked = isTrust ? { ...judgement, rule: "default.unmatched" } : judgement;
  const cover = approvalCover(facts, asked, "rule");
  const [mcp] = facts.mcp ?? [];
  if (cover.kind !== "rule" || mcp?.tool === undefined) return undefined;
  const name = `${mcp.server}-${mcp.tool}`.toLowerCase().replaceAll(/[^a-z0-9_-]+/g, "-");
  const short = createHash("sha256").update(`${mcp.server}/${mcp.tool}`).digest("hex").slice(0, 6);
  return {
    ...cover.rule,
    id: `approved-mcp-${name.slice(0, 50)}-${short}`,
    when: { kind: "mcp", server: mcp.server, tool: mcp.tool },
  };
}

function payloadOf(call: GatedCall, text: string): HeldPayload {
  const start = Buffer.from(text);
  const sha256 = createHash("sha256").update(start).digest("hex");
  return {
    method: call.method,
    url: `mcp:${call.server.name}/${encodeURIComponent(call.target)}`,
    headers: [],
    body: { bytes: start.length, sha256, start },
  };
}

function openingOf(
  request: string,
  parent: number | undefined,
  facts: CallFacts,
  judgement: Judgement,
  rule: PolicyRule | undefined,
  vault: Vault,
): Opening {
  const { wayBack, blastRadius } = judgement;
  return {
    request,
    source: "mcp",
    ...(parent === undefined ? {} : { parent }),
    summary: vault.scrub(judgement.summary),
    rule: judgement.rule,
    reason: vault.scrub(judgement.reason),
    reversibility: judgement.reversibility,
    ...(wayBack === undefined ? {} : { wayBack }),
    ...(blastRadius === undefined ? {} : { blastRadius }),
    ...(rule === undefined ? {} : { ruleToAdd: JSON.stringify(rule) }),
    likeness: likenessOf(facts, judgement),
  };
}

function deniedText(judgement: Judgement): string {
  const advice = "Do not retry; say what you need so that a person can change the policy.";
  return `Holdfast: denied by ${judgement.rule}: ${judgement.reason}. ${advice}`;
}

function refusedText(
  judgement: Judgement,
  outcome:
    | { readonly kind: "spent" }
    | {
        readonly kind: "refused";
        readonly decision: { readonly decision: string; readonly reason?: string };
      },
): string {
  if (outcome.kind === "spent") {
    return "Holdfast: this very call was approved once and has been made. Check its effect before you make it again.";
  }
  const { decision, reason } = outcome.decision;
  const because = reason === undefined ? "" : `: ${reason}`;
  const what =
    decision === "abort" ? "the call was given up" : "a person looked at this call and denied it";
  return `Holdfast: ${what}${because} (${judgement.rule}). Do not retry the same call.`;
}
