import type { CallFacts, Judgement } from "../../core/policy/judge.ts";
import type { BrokerHost } from "../../runtime/ports.ts";
import type { Vault } from "../secrets/vault.ts";
import type { BodyIntake, Taken } from "./bodyIntake.ts";
import { callFacts } from "./callFacts.ts";
import { canDecode, decodeBody } from "./contentDecoding.ts";
import type { Exchange, ExchangeParts } from "./exchangeState.ts";
import { foreignCredential } from "./foreignCredential.ts";
import { encodingOf } from "./headers.ts";
import type { IncomingCall } from "./incomingCall.ts";
import { authorityText } from "./names.ts";
import { targetText } from "./target.ts";

/** Bodies are read this far before they are judged; a push further, because its commits come first in the pack. */
const inspectBytes = 1024 * 1024;
const inspectPushBytes = 8 * 1024 * 1024;
/** A body without a length that pauses this long is a stream: it is judged by what is known. */
const stallMs = 2000;

const nothingTaken: Taken = { state: "complete", bytes: Buffer.alloc(0) };

/** Reads as much of a call as its judgement needs, and judges it: our own floors first, then the policy. */
export async function judgeCall(
  id: string,
  call: IncomingCall,
  intake: BodyIntake,
  parts: ExchangeParts,
  startedMs: number,
): Promise<Exchange> {
  const modelHost = parts.isModelHost(call.authority);
  const push = call.target.path.endsWith("/git-receive-pack");
  // The model's own traffic streams: it is not read before it goes.
  const cap = modelHost ? 0 : push ? inspectPushBytes : inspectBytes;
  const whole = call.declaredBytes !== undefined && call.declaredBytes <= cap;
  const taken = call.hasBody
    ? await intake.peek(cap, whole ? Number.POSITIVE_INFINITY : stallMs)
    : nothingTaken;
  const head = headForScan(call);
  const decoded = decodedBody(call, taken, intake, parts);
  const facts = callFacts({
    scheme: call.webSocket === undefined ? call.scheme : call.scheme === "https" ? "wss" : "ws",
    method: call.method,
    authority: call.authority,
    target: call.target,
    headers: call.headers,
    body: taken.bytes,
    decoded,
    complete: taken.state === "complete",
    declaredBytes: call.declaredBytes,
    secrets: parts.vault.empty ? [] : parts.vault.placeholdersIn(head, taken.bytes),
    modelHost,
  });
  const judgement =
    secretFloor(call, parts, head, taken, decoded, facts) ??
    searchFloor(call, parts, taken, facts, addressFloor(facts, parts.judge(facts)));
  // Counted before anything is awaited: of calls that come together each sees the one before.
  if (judgement.verdict === "allow") parts.onPassed?.(facts);
  const tool = await causeOf(parts.host, judgement);
  return {
    id,
    call,
    parts,
    intake,
    taken,
    facts,
    judgement,
    parent: tool === undefined ? {} : { parent: tool },
    startedMs,
    counted: { sent: 0, received: 0 },
  };
}

/** The `seq` of the tool call that a request is made for. */
export async function causeOf(
  host: BrokerHost,
  { traffic, verdict }: Judgement,
): Promise<number | undefined> {
  const current = host.currentToolCall();
  if (current !== undefined || traffic === "model") return current;
  return await host.toolCallToCome?.(verdict === "hold");
}

/** The body without its content encoding; `undefined` where that cannot be undone, or there is no memory for it. */
function decodedBody(
  call: IncomingCall,
  taken: Taken,
  intake: BodyIntake,
  parts: ExchangeParts,
): Uint8Array | undefined {
  const encoding = encodingOf(call.headers);
  if (encoding === "" || taken.bytes.length === 0) return taken.bytes;
  if (parts.memory.full) return undefined;
  const decoded = decodeBody(taken.bytes, encoding, taken.state === "complete");
  intake.count(decoded?.length ?? 0);
  return decoded;
}

function headForScan(call: IncomingCall): string {
  const lines = call.headers.map(([name, value]) => `${name}: ${value}`).join("\n");
  return `${call.authority.host}\n${targetText(call.target)}\n${lines}\n`;
}

/** Denies what would give a secret away, and a credential that is not the bound one. */
function secretFloor(
  call: IncomingCall,
  parts: ExchangeParts,
  head: string,
  taken: Taken,
  decoded: Uint8Array | undefined,
  facts: CallFacts,
): Judgement | undefined {
  const { vault } = parts;
  if (vault.empty) return undefined;
  const leaked =
    vault.leakIn(head) ??
    // Bytes beyond ASCII are read one a character: as such they go out.
    (/[\x80-\xff]/.test(head) ? vault.leakIn(Buffer.from(head, "latin1")) : undefined) ??
    vault.leakInBasic(call.headers) ??
    vault.leakIn(taken.bytes) ??
    (decoded === undefined || decoded === taken.bytes ? undefined : vault.leakIn(decoded)) ??
    // Escapes can be spelled in endless ways; what they mean cannot.
    (facts.query.length === 0 && facts.body === undefined
      ? undefined
      : leakBehindPercent(vault, JSON.stringify([facts.query, facts.body ?? null]))) ??
    leakBehindPercent(vault, facts.path);
  const place = authorityText(call.authority);
  if (leaked !== undefined) {
    return floor(
      "floor.secret-leak",
      `the value of the secret ${leaked} was about to leave`,
      place,
    );
  }
  const foreign = foreignCredential(vault, facts);
  return foreign === undefined
    ? undefined
    : floor(
        "floor.foreign-credential",
        `${foreign} is not the credential bound to ${place}`,
        place,
      );
}

/** A body that passes without having been read must be one that can be searched while it does. The agent's own model is
 * told everything anyway, and some agents compress for it in ways that not every Node undoes. */
function searchFloor(
  call: IncomingCall,
  parts: ExchangeParts,
  taken: Taken,
  facts: CallFacts,
  judgement: Judgement,
): Judgement {
  if (judgement.verdict !== "allow" || taken.state === "complete" || facts.modelHost)
    return judgement;
  const encoding = encodingOf(call.headers);
  if (parts.vault.empty || canDecode(encoding)) return judgement;
  return {
    ...judgement,
    verdict: "hold",
    rule: "floor.unsearchable",
    reason: `the body is encoded as ${encoding}, which cannot be searched for secrets`,
  };
}

/** Origins decode what proxies have decoded before: each time something else may stand there. */
const mostDecodings = 3;

function leakBehindPercent(vault: Vault, text: string): string | undefined {
  let decoded = text;
  for (let turn = 0; turn <= mostDecodings; turn += 1) {
    const leaked = vault.leakIn(decoded);
    if (leaked !== undefined || !decoded.includes("%")) return leaked;
    decoded = percentDecoded(decoded);
  }
  return undefined;
}

function percentDecoded(text: string): string {
  return text.replaceAll(/(?:%[0-9A-F]{2})+/gi, (escapes) =>
    Buffer.from(escapes.replaceAll("%", ""), "hex").toString("utf8"),
  );
}

function floor(rule: string, reason: string, place: string): Judgement {
  return {
    verdict: "deny",
    reversibility: "irreversible",
    traffic: "change",
    rule,
    reason,
    summary: `call to ${place}`,
  };
}

/** Addresses that are not public may be dialled only where a rule, or the agent's configuration, names the host. */
export function addressFloor(facts: CallFacts, judgement: Judgement): Judgement {
  const harmless = facts.address === "public" || facts.address === "unresolved";
  if (harmless || facts.modelHost || judgement.namesHost === true) return judgement;
  if (judgement.verdict === "deny") return judgement;
  return {
    ...judgement,
    verdict: "deny",
    rule: "floor.address",
    reason: `${facts.host} is a ${addressWords[facts.address]} address and no rule names it`,
  };
}

const addressWords: Readonly<Record<CallFacts["address"], string>> = {
  public: "public",
  loopback: "loopback",
  private: "private",
  linkLocal: "link-local",
  metadata: "cloud metadata",
  unresolved: "unknown",
};
