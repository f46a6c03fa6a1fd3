import { execFile, type ChildProcess } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { Failure } from "../../../base/errors.ts";
import { limitWords } from "../../../core/transaction/resourceLimits.ts";
import type { Sandbox, SandboxEvent, SandboxLimits } from "../../../runtime/ports.ts";
import { SandboxEvents } from "../sandboxEvents.ts";
import { ProcessFamily, type ProcessRow } from "./processTable.ts";

type Exited = Awaited<Sandbox["exited"]>;

/** Milliseconds between two looks at the processes, as on Linux. */
const lookMs = 250;
/** How long processes may take to stop. */
const freezeMs = 2000;
/** Looks at how much the shadow has grown; it costs a walk over it. */
const growthEvery = 8;

const run = promisify(execFile);

/** A file that goes while it is counted makes `du` fail, and counts nothing. */
export async function bytesOf(directory: string): Promise<number> {
  const { stdout } = await run("du", ["-sk", directory]).catch((error: unknown) =>
    error instanceof Error && "stdout" in error
      ? { stdout: String(error.stdout) }
      : { stdout: "0" },
  );
  return (Number.parseInt(stdout, 10) || 0) * 1024;
}

export interface SeatbeltRun {
  readonly child: ChildProcess;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly command: readonly string[];
  readonly cwd: string;
  readonly program: string;
  readonly description: string;
  readonly notes: readonly string[];
  readonly limits: SandboxLimits;
  readonly shadow: string;
  /** What the shadow takes before the command begins. */
  readonly shadowBytes: number;
  readonly readProcesses: () => Promise<readonly ProcessRow[]>;
  /** Removes what was made for it, once nothing of it lives. */
  readonly clear: () => Promise<void>;
}

/**
 * A process group under Seatbelt, and all that stems from it. Invariants, as on Linux:
 * - `exited` settles once, when nothing of the tree that was seen is left;
 * - the agent's own exec and exit are told; what it starts is not seen, which `description` says.
 */
export class SeatbeltSandbox implements Sandbox {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly pid: number;
  readonly description: string;
  readonly notes: readonly string[];
  readonly exited: Promise<Exited>;
  readonly #run: SeatbeltRun;
  readonly #family: ProcessFamily;
  readonly #events = new SandboxEvents();
  readonly #begun = Date.now();
  #looking: Promise<readonly ProcessRow[]> = Promise.resolve([]);
  /** Of each process that was seen, also of those that are gone. */
  readonly #cpu = new Map<string, number>();
  #limit: string | undefined;
  #over = false;

  constructor(run: SeatbeltRun) {
    this.#run = run;
    this.stdin = run.stdin;
    this.stdout = run.stdout;
    this.stderr = run.stderr;
    this.pid = run.child.pid ?? 0;
    this.description = run.description;
    this.notes = run.notes;
    this.#family = new ProcessFamily(this.pid);
    this.exited = this.#end();
    this.#events.tell({
      ...{ type: "exec", pid: this.pid, ppid: process.pid, argv: run.command, cwd: run.cwd },
      ...{ program: run.program, atMs: this.#begun },
    });
    void this.#watch();
  }

  onEvent(listener: (event: SandboxEvent) => void): Disposable {
    return this.#events.listen(listener);
  }

  /** There is no terminal here. */
  resize(): void {
    return;
  }

  signal(name: "SIGINT" | "SIGTERM" | "SIGTSTP" | "SIGCONT"): void {
    this.#signal(-this.pid, name);
  }

  async freeze(): Promise<void> {
    const until = Date.now() + freezeMs;
    for (;;) {
      const running = (await this.#living()).filter(({ stopped }) => !stopped);
      if (this.#over || running.length === 0) return;
      if (Date.now() > until)
        throw new Failure(
          "failed",
          "freeze-incomplete",
          `${running.length} processes did not stop`,
        );
      for (const { pid } of running) this.#signal(pid, "SIGSTOP");
    }
  }

  async thaw(): Promise<void> {
    for (const { pid } of await this.#living()) this.#signal(pid, "SIGCONT");
  }

  async kill(): Promise<void> {
    if (this.#over) return;
    await this.#killAll();
    await this.exited;
  }

  /** One look after the other: an old one must not undo what a newer one has learned. */
  #living(): Promise<readonly ProcessRow[]> {
    const look = async (): Promise<readonly ProcessRow[]> => {
      // Its numbers may be somebody else's by now.
      if (this.#over) return [];
      try {
        return this.#family.among(await this.#run.readProcesses());
      } catch {
        // Nothing can be seen any more, so nothing could be bounded: what the group's number reaches is ended.
        this.#signal(-this.pid, "SIGKILL");
        return [];
      }
    };
    this.#looking = this.#looking.then(look);
    return this.#looking;
  }

  /** Until a look finds none: what forks while it is killed has children at the next one. Resolves to how many there were
   * at the first. */
  async #killAll(): Promise<number> {
    const first = await this.#living();
    for (let left = first; left.length > 0; left = await this.#living())
      for (const { pid } of left) this.#signal(pid, "SIGKILL");
    return first.length;
  }

  #signal(pid: number, name: NodeJS.Signals): void {
    try {
      process.kill(pid, name);
    } catch (error) {
      // Gone since it was looked at.
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
  }

  async #end(): Promise<Exited> {
    const [exitCode, signal] = await new Promise<[number | null, NodeJS.Signals | null]>(
      (resolve) => this.#run.child.once("exit", (code, name) => resolve([code, name])),
    );
    const atMs = Date.now();
    const left = await this.#killAll();
    this.#over = true;
    await this.#run.clear();
    const ended = signal === null ? { exitCode } : { exitCode, signal };
    this.#events.tell({
      type: "exit",
      pid: this.pid,
      ...ended,
      atMs,
      durationMs: atMs - this.#begun,
    });
    return { ...ended, left, ...(this.#limit === undefined ? {} : { limit: this.#limit }) };
  }

  /** Keeps the family known, and its limits. */
  async #watch(): Promise<void> {
    const { limits, shadow, shadowBytes } = this.#run;
    for (let look = 1; !this.#over; look++) {
      const living = await this.#living();
      const walk = limits.growthBytes !== undefined && look % growthEvery === 0;
      const grown = walk ? (await bytesOf(shadow)) - shadowBytes : 0;
      const passed = this.#passed(living, grown);
      if (passed !== undefined) {
        this.#limit ??= passed;
        await this.#killAll();
        return;
      }
      await delay(lookMs, undefined, { ref: false });
    }
  }

  #passed(living: readonly ProcessRow[], grown: number): string | undefined {
    const sum = (amounts: Iterable<number>): number => [...amounts].reduce((a, b) => a + b, 0);
    for (const { pid, started, cpuSeconds } of living)
      this.#cpu.set(`${pid} ${started}`, cpuSeconds);
    const used = {
      seconds: Math.floor((Date.now() - this.#begun) / 1000),
      cpuSeconds: Math.floor(sum(this.#cpu.values())),
      memoryBytes: sum(living.map(({ residentBytes }) => residentBytes)),
      growthBytes: grown,
    };
    for (const name of ["seconds", "cpuSeconds", "memoryBytes", "growthBytes"] as const) {
      const limit = this.#run.limits[name];
      const reached = name === "seconds" || name === "cpuSeconds" ? 0 : 1;
      if (limit !== undefined && used[name] >= limit + reached)
        return limitWords(name, used[name], limit);
    }
    return undefined;
  }
}
