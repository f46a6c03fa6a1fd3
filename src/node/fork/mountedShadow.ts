import { spawn, type ChildProcess } from "node:child_process";
import {
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  statfsSync,
  statSync,
} from "node:fs";
import path from "node:path";
import type { Readable } from "node:stream";
import { Failure, messageOf } from "../../base/errors.ts";
import type { Fork, OverlayMount } from "../../runtime/ports.ts";
import { Beneath } from "./beneath.ts";
import { BeneathWriter } from "./beneathWriter.ts";

const openAsPlace = 0o10000000;
const overlayMagic = 0x794c7630; // OVERLAYFS_SUPER_MAGIC

/** A part of the shadow that is written through one root, and a path in it. */
export interface ShadowPlace {
  readonly tree: Beneath;
  readonly writer: BeneathWriter;
  readonly at: string;
}

interface Part {
  readonly prefix: string;
  readonly fd: number;
  readonly tree: Beneath;
  readonly writer: BeneathWriter;
}

/**
 * The shadow as the agent sees it, for whoever writes to it from outside. An upper layer must not change under a mounted
 * overlay, so what lies in overlays is written through the very mount of the agent's sandbox: it is found below
 * `/proc/<pid>/root` of a process outside the sandbox that shares its mounts, and held by a descriptor, which no end of that
 * process takes away. When no sandbox runs, the layers are mounted for the time of the writing.
 */
export class MountedShadow {
  readonly #root: string;
  readonly #tree: Beneath;
  readonly #writer: BeneathWriter;
  readonly #parts: readonly Part[];
  readonly #holder: ChildProcess | undefined;

  private constructor(
    nativePath: string,
    fork: Fork,
    parts: readonly Part[],
    holder: ChildProcess | undefined,
  ) {
    this.#root = fork.shadow;
    this.#tree = new Beneath(fork.shadow);
    this.#writer = new BeneathWriter(fork.shadow, nativePath);
    this.#parts = parts;
    this.#holder = holder;
  }

  /** `hostView`: see {@link Sandbox}; absent when no sandbox runs. Throws a Failure `shadow-not-mounted`. */
  static async open(
    nativePath: string,
    fork: Fork,
    hostView: string | undefined,
  ): Promise<MountedShadow> {
    const { overlays } = fork;
    if (overlays.length === 0) return new MountedShadow(nativePath, fork, [], undefined);
    if (hostView !== undefined && existsSync(hostView)) {
      const at = (one: OverlayMount): string => hostView + path.join(fork.shadow, one.at);
      return new MountedShadow(nativePath, fork, openParts(nativePath, overlays, at), undefined);
    }
    const at = (one: OverlayMount): string => path.join(path.dirname(one.upper), "merged");
    for (const one of overlays) mkdirSync(at(one), { recursive: true, mode: 0o700 });
    const holder = await hold(
      nativePath,
      overlays.flatMap((one) => [at(one), one.lower, one.upper, one.work]),
    );
    try {
      const seen = (one: OverlayMount): string => `/proc/${holder.pid}/root${at(one)}`;
      return new MountedShadow(nativePath, fork, openParts(nativePath, overlays, seen), holder);
    } catch (error) {
      holder.stdin?.end();
      throw error;
    }
  }

  /** Where a path of the workspace is written. */
  place(relative: string): ShadowPlace {
    const part = this.#parts.find(({ prefix }) => relative.startsWith(prefix));
    if (part === undefined) return { tree: this.#tree, writer: this.#writer, at: relative };
    const { tree, writer, prefix } = part;
    return { tree, writer, at: relative.slice(prefix.length) };
  }

  /** Where what stands at a path is seen, the top of an overlay too: as a path that our own program can open, and one in it. */
  top(relative: string): { readonly root: string; readonly at: string } {
    const part = this.#parts.find(({ prefix }) => `${relative}/`.startsWith(prefix));
    if (part === undefined) return { root: this.#root, at: relative };
    return { root: `/proc/${process.pid}/fd/${part.fd}`, at: relative.slice(part.prefix.length) };
  }

  /** Resolves when nothing of ours holds the mounts any more. */
  async close(): Promise<void> {
    for (const { fd } of this.#parts) closeSync(fd);
    const holder = this.#holder;
    if (holder === undefined) return;
    const ended = new Promise((resolve) => holder.once("close", resolve));
    holder.stdin?.end();
    await ended;
  }
}

function openParts(
  nativePath: string,
  overlays: readonly OverlayMount[],
  at: (one: OverlayMount) => string,
): readonly Part[] {
  const parts: Part[] = [];
  try {
    for (const one of overlays) {
      const fd = openMounted(at(one), one);
      const root = `/proc/self/fd/${fd}`;
      parts.push({
        prefix: one.at === "." ? "" : `${one.at}/`,
        fd,
        tree: new Beneath(root),
        writer: new BeneathWriter(root, nativePath),
      });
    }
    return parts;
  } catch (error) {
    for (const { fd } of parts) closeSync(fd);
    const fix = "`holdfast stop` ends the agent, afterwards a savepoint can be restored";
    const message = `the agent's view of its files cannot be reached: ${messageOf(error)}`;
    throw new Failure("failed", "shadow-not-mounted", message, fix, error);
  }
}

/** The top of a mounted overlay; a directory that only looks like it (the process is gone, its number taken) is refused. */
function openMounted(at: string, overlay: OverlayMount): number {
  const fd = openSync(at, openAsPlace | constants.O_DIRECTORY);
  const held = `/proc/self/fd/${fd}`;
  if (statfsSync(held).type === overlayMagic && statSync(held).dev !== statSync(overlay.upper).dev)
    return fd;
  closeSync(fd);
  throw new Error(`no overlay is mounted on ${overlay.at}`);
}

/** Starts what holds the mounts; resolves once they are there. */
async function hold(nativePath: string, layers: readonly string[]): Promise<ChildProcess> {
  const holder = spawn(nativePath, ["overlay-hold", "--report-fd", "3", ...layers], {
    stdio: ["pipe", "ignore", "ignore", "pipe"],
    env: {},
  });
  holder.stdin?.on("error", () => undefined); // it may have ended before we let it
  const reports = holder.stdio[3] as Readable;
  const told = await new Promise<string>((resolve, reject) => {
    let text = "";
    holder.once("error", reject);
    reports.setEncoding("utf8");
    reports.on("data", (piece: string) => {
      text += piece;
      if (text.endsWith("\n")) resolve(text);
    });
    reports.once("close", () => resolve(text));
  });
  const { type, message, reason } = JSON.parse(told === "" ? "{}" : told) as Record<
    string,
    unknown
  >;
  if (type === "mounted") return holder;
  const words = [message, reason].filter((one) => typeof one === "string" && one !== "").join(": ");
  throw new Failure(
    "failed",
    "shadow-not-mounted",
    `the overlays of the fork cannot be mounted: ${words}`,
  );
}
