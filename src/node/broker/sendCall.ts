import { createReadStream } from "node:fs";
import type { Readable } from "node:stream";
import { SecretLeak, type Destination as SecretDestination } from "../secrets/vault.ts";
import type { Vault } from "../secrets/vault.ts";
import type { CheckedAddresses } from "./addresses.ts";
import { canDecode, decodedWatch } from "./contentDecoding.ts";
import { recordFinished, type Exchange } from "./exchangeState.ts";
import { encodingOf, headerOf, withHeader, withoutHeaders, type Header } from "./headers.ts";
import type { HeldPayload } from "./heldPayload.ts";
import { emptyFraming, outgoingHeaders, type Framing } from "./outgoingHead.ts";
import { relayAnswer } from "./relayAnswer.ts";
import { fillingStream } from "./secretStream.ts";
import { targetText } from "./target.ts";
import type { OutgoingBody, OutgoingCall } from "./outgoingCall.ts";
import { UsedSecrets } from "./usedSecrets.ts";

/** A call as it goes out, but for where to, and the secrets that it uses. */
export interface PreparedCall {
  readonly outgoing: Omit<OutgoingCall, "destination">;
  readonly used: UsedSecrets;
}

/** Makes a judged call, or the payload of a hold that a person approved, ready to go: nothing leaves yet. */
export function prepareSending(one: Exchange, held: HeldPayload | undefined): PreparedCall {
  const used = new UsedSecrets(one);
  // What changes something must not be lost in a kept connection that the origin is closing.
  return { outgoing: prepareCall(one, held, used, one.judgement.traffic === "change"), used };
}

/** Sends a prepared call once the use of its secrets is durable, and relays the answer. */
export async function sendCall(
  one: Exchange,
  { addresses }: CheckedAddresses,
  { outgoing, used }: PreparedCall,
): Promise<void> {
  const { call, parts } = one;
  if (used.isPending) await used.durable();
  const destination = { authority: call.authority, addresses };
  const answer = await parts.upstream.send({ ...outgoing, destination });
  const scrubs = parts.vault.isBound(one.facts);
  const error = await relayAnswer(answer, call, scrubs ? parts.vault : undefined, (bytes) => {
    one.counted.received += bytes;
  });
  const { status } = answer;
  await recordFinished(
    one,
    error === undefined ? { status } : { status, error: parts.vault.scrub(error) },
  );
}

/** Head and body of a call as they go out, placeholders filled. */
export function prepareCall(
  one: Exchange,
  held: HeldPayload | undefined,
  used: UsedSecrets,
  fresh: boolean,
): Omit<OutgoingCall, "destination"> {
  const { call, parts } = one;
  const { body, framing } = bodyOf(one, held, used);
  const { vault } = parts;
  const plain =
    held === undefined ? outgoingHeaders(one, framing) : reframed(held.headers, framing);
  const destination = one.facts;
  const headers = vault.empty ? plain : filledHeaders(plain, vault, destination, used);
  return {
    scheme: call.scheme,
    method: call.method,
    target: filledTarget(one, vault, destination, used),
    headers,
    body,
    fresh,
    http2: call.protocol === "HTTP/2",
    gone: call.gone,
  };
}

function reframed(headers: readonly Header[], framing: Framing): readonly Header[] {
  if (framing === "none") return headers;
  if (framing !== "chunked") return withHeader(headers, "Content-Length", String(framing.bytes));
  return [...withoutHeaders(headers, "content-length"), ["Transfer-Encoding", "chunked"]];
}

function filledHeaders(
  headers: readonly Header[],
  vault: Vault,
  destination: SecretDestination,
  used: UsedSecrets,
): readonly Header[] {
  const note = used.at("header");
  const filled = headers.map(([name, value]): Header =>
    name.toLowerCase() === "host"
      ? [name, value]
      : [name, vault.fillHeader(value, destination, note)],
  );
  // What may echo a value must come back in a form that can be scrubbed.
  return vault.isBound(destination) && headerOf(filled, "accept-encoding") !== undefined
    ? withHeader(filled, "Accept-Encoding", "identity")
    : filled;
}

function filledTarget(
  one: Exchange,
  vault: Vault,
  destination: SecretDestination,
  used: UsedSecrets,
): string {
  const { target } = one.call;
  if (vault.empty) return targetText(target);
  const path = vault.fill(target.path, destination, "path", "percent", used.at("path"));
  if (target.query === undefined) return path;
  return `${path}?${vault.fill(target.query, destination, "query", "percent", used.at("query"))}`;
}

function bodyOf(
  one: Exchange,
  held: HeldPayload | undefined,
  used: UsedSecrets,
): { readonly body: OutgoingBody; readonly framing: Framing } {
  const { call, taken, intake, counted } = one;
  if (held === undefined && taken.state === "partial") {
    return streamed(one, intake.rest() ?? call.body, call.declaredBytes, false, used);
  }
  if (held?.body.file !== undefined) {
    return streamed(one, createReadStream(held.body.file), held.body.bytes, true, used);
  }
  const bytes = filledBytes(one, held?.body.start ?? taken.bytes, used);
  counted.sent = bytes.length;
  return bytes.length === 0
    ? { body: { kind: "none" }, framing: emptyFraming(call.method) }
    : { body: { kind: "bytes", bytes }, framing: { bytes: bytes.length } };
}

function filledBytes(one: Exchange, bytes: Buffer, used: UsedSecrets): Buffer {
  const { vault } = one.parts;
  if (vault.empty || bytes.length === 0) return bytes;
  const pass = vault.outgoing(one.facts, "body", bodyEscape(one), used.at("body"));
  return Buffer.concat([pass.write(bytes), pass.end()]);
}

function streamed(
  one: Exchange,
  source: Readable,
  length: number | undefined,
  isHeld: boolean,
  used: UsedSecrets,
): { readonly body: OutgoingBody; readonly framing: Framing } {
  const { vault } = one.parts;
  const destination = one.facts;
  const pass = vault.empty
    ? undefined
    : vault.outgoing(destination, "body", bodyEscape(one), used.at("body"));
  // Filling changes the length; watching alone does not.
  const keepsLength = pass === undefined || !vault.mayFill(destination, "body");
  // Trailers are no part of what a person was shown, so a held call goes out without.
  const trailers = (): readonly Header[] => (isHeld ? [] : one.call.trailers());
  const count = (bytes: number): void => void (one.counted.sent += bytes);
  const stream = fillingStream(searched(one, source), pass, used, count, () => {
    if (!isHeld && one.call.isCutOff()) throw new Error("the client broke off");
    const leaked = vault.leakIn(JSON.stringify(trailers())) ?? vault.leakInBasic(trailers());
    if (leaked !== undefined) throw new SecretLeak(leaked);
  });
  return {
    body: { kind: "stream", stream, trailers },
    framing: keepsLength && length !== undefined ? { bytes: length } : "chunked",
  };
}

/** An encoded body has nothing to fill, and is searched as what it means. */
function searched(one: Exchange, source: Readable): Readable {
  const { vault } = one.parts;
  const encoding = encodingOf(one.call.headers);
  if (vault.empty || encoding === "" || !canDecode(encoding)) return source;
  const watch = decodedWatch(encoding, vault.watch());
  source.once("error", (error) => watch.destroy(error));
  source.once("close", () => {
    if (!source.readableEnded) watch.destroy(new Error("the client broke off"));
  });
  return source.pipe(watch);
}

function bodyEscape(one: Exchange): "json" | "percent" | "none" {
  const type = headerOf(one.call.headers, "content-type") ?? "";
  if (/json/i.test(type)) return "json";
  return /x-www-form-urlencoded/i.test(type) ? "percent" : "none";
}
