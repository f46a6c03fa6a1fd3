import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import path from "node:path";

/** Where the built files are and how to run them; the composition root knows. */
export interface Installation {
  /** The directory with `supervisor.cjs`, `native/…`. */
  readonly dist: string;
  /** The Node program (`process.execPath`; in VS Code it runs with ELECTRON_RUN_AS_NODE). */
  readonly node: string;
}

export function supervisorProgram({ dist }: Installation): string {
  return path.join(dist, "supervisor.cjs");
}

/**
 * Starts a supervisor's process, detached, with these words. Node gets no flags: with one that V8 counts among what its code
 * depends on (a bound of its heap is enough) it compiles its own modules anew, 0.1 s of processor time a start.
 */
export function startProcess(
  installation: Installation,
  words: readonly string[],
): ChildProcessWithoutNullStreams {
  return spawn(installation.node, [supervisorProgram(installation), ...words], {
    cwd: "/",
    detached: true,
    stdio: ["pipe", "pipe", "pipe"],
    env: { ...process.env, ELECTRON_RUN_AS_NODE: "1" },
  });
}

/** The starter and the command are programs apart in one process: what the one began the other finds here. */
const early = Symbol.for("holdfast.earlySupervisor");
const shared = globalThis as { [early]?: ChildProcessWithoutNullStreams | undefined };

/**
 * Starts the process of a supervisor before it is known what it shall begin: it comes up while the command does. It is told by
 * its standard input; when that ends without a word it ends too.
 */
export function startEarly(installation: Installation): void {
  const child = startProcess(installation, ["begin"]);
  child.on("error", () => undefined); // it has no pid then, and nobody takes it
  shared[early] = child;
}

/** The process that was started early, once. */
export function takeEarly(): ChildProcessWithoutNullStreams | undefined {
  const child = shared[early];
  shared[early] = undefined;
  return child?.pid === undefined ? undefined : child;
}
