import { open, readdir, readFile, rm } from "node:fs/promises";
import path from "node:path";
import { z } from "zod";
import type { HeldPayload } from "./heldPayload.ts";

const record = z.object({
  request: z.string(),
  likeness: z.string(),
  sha256: z.string(),
  method: z.string(),
  url: z.string(),
  headers: z.array(z.tuple([z.string(), z.string()])),
  body: z.object({
    bytes: z.number(),
    sha256: z.string(),
    start: z.string(),
    file: z.string().optional(),
  }),
});

/** A held call as a later process finds it again. */
export interface SavedHold {
  readonly request: string;
  readonly likeness: string;
  readonly sha256: string;
  readonly payload: HeldPayload;
}

function fileOf(directory: string, request: string): string {
  return path.join(directory, `${request}.json`);
}

/** Writes a held call down, synced, before anybody can decide it. Secrets are still placeholders in it. */
export async function saveHold(directory: string, hold: SavedHold): Promise<void> {
  const { request, likeness, sha256, payload } = hold;
  const { method, url, headers, body } = payload;
  const handle = await open(fileOf(directory, request), "wx", 0o600);
  try {
    const start = body.file === undefined ? body.start.toString("base64") : "";
    await handle.writeFile(
      JSON.stringify({
        request,
        likeness,
        sha256,
        method,
        url,
        headers,
        body: { ...body, start },
      }),
    );
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** All held calls that are written down. One that cannot be read is left out: its approval then sends nothing. */
export async function savedHolds(directory: string): Promise<readonly SavedHold[]> {
  const holds: SavedHold[] = [];
  for (const name of await readdir(directory)) {
    if (!name.endsWith(".json")) continue;
    const parsed = record.safeParse(parsedJson(await readFile(path.join(directory, name), "utf8")));
    if (!parsed.success) continue;
    const { request, likeness, sha256, method, url, headers, body } = parsed.data;
    const { file, ...kept } = body;
    const whole = {
      ...kept,
      start: Buffer.from(body.start, "base64"),
      ...(file === undefined ? {} : { file }),
    };
    holds.push({ request, likeness, sha256, payload: { method, url, headers, body: whole } });
  }
  return holds;
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // Torn by a crash before its hold was opened.
  }
}

/** Removes what is written down of a hold; its body has a file of its own. */
export async function dropHold(directory: string, request: string): Promise<void> {
  await rm(fileOf(directory, request), { force: true });
}

/** Removes a spooled body. */
export async function dropBody(file: string): Promise<void> {
  await rm(file, { force: true });
}

/** Removes the bodies that no written hold has: a process ended while they came in. */
export async function dropOrphans(directory: string, saved: readonly SavedHold[]): Promise<void> {
  const owned = new Set(saved.map(({ payload }) => payload.body.file));
  for (const name of await readdir(directory)) {
    const file = path.join(directory, name);
    if (name.endsWith(".body") && !owned.has(file)) await dropBody(file);
  }
}
