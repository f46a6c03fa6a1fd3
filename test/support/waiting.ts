import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";

/** Whether a process of that pid lives (zombies count as gone). */
export function lives(pid: number): boolean {
  if (!existsSync(`/proc/${pid}/stat`)) return false;
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false; // gone between the two looks
  }
}

/** Waits until it holds, ten seconds at most. */
export async function until(what: string, holds: () => boolean): Promise<void> {
  for (let turn = 0; turn < 1000; turn++) {
    if (holds()) return;
    await wait(10);
  }
  assert.fail(`never: ${what}`);
}

/** Reads a stream until the text has come. */
export function expecter(stream: NodeJS.ReadableStream): (text: string) => Promise<void> {
  let heard = "";
  stream.on("data", (bytes: Buffer) => (heard += bytes.toString("utf8")));
  return (text) =>
    until(`${JSON.stringify(text)} in ${JSON.stringify(heard)}`, () => heard.includes(text));
}
