import { LineSplitter, parseJson } from "../../base/jsonl.ts";
import type { Ending } from "../../base/lifecycle.ts";
import type { CheckContext } from "./checker.ts";
import type { CheckExit, CheckProcess } from "./checkSandbox.ts";
import { watchMemory } from "./memoryWatch.ts";
import { workerAnswer, type WorkerAnswer, type WorkerRequest } from "./workerProtocol.ts";

export type WorkerOutcome =
  | { readonly type: "answer"; readonly answer: WorkerAnswer }
  /** The compiler on disk is another one now; only a new process can load it. */
  | { readonly type: "replaced" | "outOfMemory" | "timedOut" | "stopped" }
  | { readonly type: "crashed"; readonly reason: string };

/** Longest answer that is believed, in characters. */
const longestAnswer = 256 * 1024 * 1024;

const replacedExitCode = 75;

/** What a worker may hold beside its heap: the program itself and buffers. */
const besideHeapMb = 512;

/** A worker in its sandbox, asked one thing at a time. Any outcome but an answer leaves it ended. */
export class WorkerProcess {
  readonly #process: CheckProcess;
  readonly #lines = new LineSplitter(longestAnswer);
  #stderr = "";
  #onLine: ((line: string) => void) | undefined;
  #onBroken: ((reason: string) => void) | undefined;

  constructor(process: CheckProcess) {
    this.#process = process;
    process.stdout.setEncoding("utf8").on("data", (text: string) => this.#take(text));
    process.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-16_384);
    });
  }

  async ask(
    request: WorkerRequest,
    context: Pick<CheckContext, "limits" | "signal">,
  ): Promise<WorkerOutcome> {
    let timer: NodeJS.Timeout | undefined;
    let onAbort: (() => void) | undefined;
    let memory: Ending | undefined;
    const outcome = await Promise.race<WorkerOutcome>([
      this.#line(request.id),
      this.#process.exited.then((exit) => this.#ended(exit)),
      new Promise((resolve) => {
        timer = setTimeout(() => resolve({ type: "timedOut" }), context.limits.timeoutMs);
        onAbort = () => resolve({ type: "stopped" });
        context.signal.addEventListener("abort", onAbort);
        const most = context.limits.memoryMb + besideHeapMb;
        memory = watchMemory(this.#process.pid, most, () => resolve({ type: "outOfMemory" }));
        if (context.signal.aborted) onAbort();
        this.#process.stdin.write(`${JSON.stringify(request)}\n`);
      }),
    ]);
    clearTimeout(timer);
    memory?.dispose();
    if (onAbort !== undefined) context.signal.removeEventListener("abort", onAbort);
    this.#onLine = undefined;
    this.#onBroken = undefined;
    if (outcome.type !== "answer") await this.end();
    return outcome;
  }

  async end(): Promise<void> {
    this.#process.kill();
    await this.#process.exited;
  }

  #take(text: string): void {
    try {
      for (const line of this.#lines.push(text)) this.#onLine?.(line);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      this.#onBroken?.("the worker's answer is too long");
    }
  }

  /** The worker runs code of the workspace: what it says is checked before it is believed. */
  #line(id: number): Promise<WorkerOutcome> {
    return new Promise((resolve) => {
      this.#onBroken = (reason) => resolve({ type: "crashed", reason });
      this.#onLine = (line) => {
        const parsed = workerAnswer.safeParse(parseJson(line));
        if (!parsed.success || parsed.data.id !== id) {
          resolve({ type: "crashed", reason: "the worker gave an answer that cannot be read" });
        } else if (parsed.data.failure !== undefined) {
          resolve({ type: "crashed", reason: parsed.data.failure });
        } else {
          resolve({ type: "answer", answer: parsed.data });
        }
      };
    });
  }

  #ended({ exitCode, limit }: CheckExit): WorkerOutcome {
    if (exitCode === replacedExitCode) return { type: "replaced" };
    if (limit?.startsWith("memoryBytes") === true) return { type: "outOfMemory" };
    if (limit !== undefined) {
      return { type: "crashed", reason: `the worker went past a bound (${limit})` };
    }
    if (/heap out of memory|Reached heap limit/.test(this.#stderr)) return { type: "outOfMemory" };
    const last = this.#stderr.trim().split("\n").slice(-3).join(" ");
    return { type: "crashed", reason: `the worker ended (${exitCode ?? "killed"}): ${last}` };
  }
}
