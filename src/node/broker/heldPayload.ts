import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readFile } from "node:fs/promises";
import type { WholeBody } from "./bodyIntake.ts";
import type { Header } from "./headers.ts";

/** Exactly what will be sent once a person approves it; secrets are still placeholders. */
export interface HeldPayload {
  readonly method: string;
  readonly url: string;
  readonly headers: readonly Header[];
  readonly body: WholeBody;
}

/** A larger body is shown by its beginning and the file that holds it. */
const shownWhole = 1024 * 1024;

/** The head as text: request line and headers as they go out, then an empty line. */
export function headText(payload: HeldPayload): string {
  const lines = payload.headers.map(([name, value]) => `${name}: ${value}`);
  return [`${payload.method} ${payload.url}`, ...lines, "", ""].join("\r\n");
}

/** What makes two calls the same call: everything but headers that clients change with each attempt. */
export function sameCallKey(payload: HeldPayload): string {
  const type = payload.headers.find(([name]) => name.toLowerCase() === "content-type")?.[1] ?? "";
  return createHash("sha256")
    .update(JSON.stringify([payload.method, payload.url, type, payload.body.sha256]))
    .digest("hex");
}

/** SHA-256 over the head's text and the body's bytes, read again from where they are. */
export async function payloadHash(payload: HeldPayload): Promise<string> {
  const hash = createHash("sha256").update(headText(payload));
  if (payload.body.file === undefined) return hash.update(payload.body.start).digest("hex");
  for await (const chunk of createReadStream(payload.body.file)) hash.update(chunk as Buffer);
  return hash.digest("hex");
}

/** What the journal and the card hold: one text when all of it is text, else the body as Base64; of a body larger than
 * 1 MiB the beginning, its size and the file of ours where all of it is. */
export async function shownPayload(payload: HeldPayload): Promise<unknown> {
  const head = headText(payload);
  const { body } = payload;
  if (body.bytes > shownWhole) {
    return {
      head,
      bodyBytes: body.bytes,
      bodySha256: body.sha256,
      bodyFile: body.file,
      bodyStart: body.start.toString("latin1"),
    };
  }
  const whole = body.file === undefined ? body.start : await readFile(body.file);
  const text = whole.toString("utf8");
  return Buffer.from(text, "utf8").equals(whole)
    ? head + text
    : { head, bodyBase64: whole.toString("base64") };
}
