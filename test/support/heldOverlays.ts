import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import type { Readable } from "node:stream";
import type { Fork } from "../../src/runtime/ports.ts";

/** A fork's overlays, mounted over its shadow as a sandbox has them, until it is disposed of. */
export class HeldOverlays {
  /** As `Sandbox.hostView`. */
  readonly hostView: string;
  /** The shadow as it is seen there. */
  readonly root: string;
  readonly #holder: ChildProcess;

  private constructor(holder: ChildProcess, fork: Fork) {
    this.#holder = holder;
    this.hostView = `/proc/${holder.pid}/root`;
    this.root = this.hostView + fork.shadow;
  }

  static async mount(nativePath: string, fork: Fork): Promise<HeldOverlays> {
    const layers = fork.overlays.flatMap(({ at, lower, upper, work }) => [
      path.join(fork.shadow, at),
      ...[lower, upper, work],
    ]);
    const holder = spawn(nativePath, ["overlay-hold", "--report-fd", "3", ...layers], {
      stdio: ["pipe", "ignore", "inherit", "pipe"],
    });
    await once(holder.stdio[3] as Readable, "data");
    return new HeldOverlays(holder, fork);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#holder.exitCode !== null || this.#holder.signalCode !== null) return;
    const ended = once(this.#holder, "close");
    this.#holder.stdin?.end();
    await ended;
  }
}
