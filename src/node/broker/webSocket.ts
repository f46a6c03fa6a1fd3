import type { Duplex } from "node:stream";
import { SecretLeak } from "../secrets/vault.ts";
import type { CheckedAddresses } from "./addresses.ts";
import { recordFinished, type Exchange } from "./exchangeState.ts";
import { withHeader, withoutHeaders, type Header } from "./headers.ts";
import type { HeldPayload } from "./heldPayload.ts";
import { relayAnswer } from "./relayAnswer.ts";
import { prepareCall } from "./sendCall.ts";
import { UsedSecrets } from "./usedSecrets.ts";
import type { Switched } from "./outgoingCall.ts";
import { webSocketFilter } from "./webSocketFrames.ts";

/** Sends an opening handshake, and when the origin agrees passes frames both ways until one side closes. With secrets
 * about, frames are looked into: placeholders filled, leaks stopped, values scrubbed. */
export async function sendWebSocket(
  one: Exchange,
  checked: CheckedAddresses,
  held: HeldPayload | undefined,
  client: Duplex,
): Promise<void> {
  const { call, parts } = one;
  const { vault } = parts;
  const used = new UsedSecrets(one);
  const outgoing = prepareCall(one, held, used, true);
  await used.durable();
  const answer = await parts.upstream.upgrade({
    ...outgoing,
    destination: { authority: call.authority, addresses: checked.addresses },
    headers: handshake(outgoing.headers, vault.empty),
    body: { kind: "none" },
  });
  if (!("switched" in answer)) {
    const scrubs = vault.isBound(one.facts) ? vault : undefined;
    const error = await relayAnswer(answer, call, scrubs, (bytes) => {
      one.counted.received += bytes;
    });
    await recordFinished(one, {
      status: answer.status,
      ...(error === undefined ? {} : { error: vault.scrub(error) }),
    });
    return;
  }
  client.write(switchingHead(answer.headers.map(([name, value]) => [name, vault.scrub(value)])));
  if (answer.head.length > 0) answer.socket.unshift(answer.head);
  const error = await relay(one, client, answer, used);
  await recordFinished(one, {
    status: 101,
    ...(error === undefined ? {} : { error: vault.scrub(error) }),
  });
}

/** The handshake's own headers are this connection's and had been taken off. Compressed frames cannot be searched, so
 * the extension is not offered when there are secrets. */
function handshake(headers: readonly Header[], keepsExtensions: boolean): readonly Header[] {
  const upgraded = withHeader(withHeader(headers, "Connection", "Upgrade"), "Upgrade", "websocket");
  return keepsExtensions ? upgraded : withoutHeaders(upgraded, "sec-websocket-extensions");
}

function switchingHead(headers: readonly Header[]): string {
  const lines = headers.map(([name, value]) => `${name}: ${value}`);
  return ["HTTP/1.1 101 Switching Protocols", ...lines, "", ""].join("\r\n");
}

async function relay(
  one: Exchange,
  client: Duplex,
  origin: Switched,
  used: UsedSecrets,
): Promise<string | undefined> {
  const { vault, memory } = one.parts;
  const { socket } = origin;
  const destination = one.facts;
  client.on("data", (chunk: Buffer) => (one.counted.sent += chunk.length));
  socket.on("data", (chunk: Buffer) => (one.counted.received += chunk.length));
  const outward = vault.empty
    ? client
    : client.pipe(
        webSocketFilter(
          {
            message: (first) => {
              const json = /^\s*[[{"]/.test(first.toString("latin1", 0, 16));
              const escape = json ? "json" : "none";
              return vault.outgoing(destination, "body", escape, used.at("websocket"));
            },
            control: (payload) => {
              const leaked = vault.leakIn(payload);
              if (leaked !== undefined) throw new SecretLeak(leaked);
              return payload;
            },
            // The use is durable before the bytes that carry the value go on.
            ready: () => (used.isPending ? used.durable() : undefined),
          },
          memory,
        ),
      );
  const inward = vault.isBound(destination)
    ? socket.pipe(
        webSocketFilter(
          {
            message: () => vault.scrubber(),
            // A placeholder may be longer than such a frame: one that echoes a value goes on empty.
            control: (payload) =>
              vault.leakIn(payload) === undefined ? payload : payload.subarray(0, 0),
          },
          memory,
        ),
      )
    : socket;
  outward.pipe(socket);
  inward.pipe(client);
  return await new Promise((resolve, reject) => {
    const stop = (error?: Error): void => {
      for (const stream of [client, socket, outward, inward]) stream.destroy();
      if (error instanceof SecretLeak) reject(error);
      else resolve(error?.message);
    };
    for (const stream of [client, socket, outward, inward]) {
      stream.on("error", stop);
      stream.once("close", () => stop());
    }
  });
}
