import type { ChildProcess } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { Failure } from "../../base/errors.ts";
import { LineSplitter, parseJson } from "../../base/jsonl.ts";
import { Emitter } from "../../base/lifecycle.ts";
import { limitWords } from "../../core/transaction/resourceLimits.ts";
import type { Sandbox, SandboxEvent } from "../../runtime/ports.ts";
import { eventOf, report } from "./reports.ts";
import { SandboxEvents } from "./sandboxEvents.ts";
import type { EndedReport, FailedReport, Report, StartedReport } from "./reports.ts";

type Exited = Awaited<Sandbox["exited"]>;

/** How long a command to supervise may take before supervise itself is killed, which ends the sandbox too. */
const patienceMs = 3000;

/** supervise's streams as they were spawned. */
export interface SuperviseStreams {
  readonly child: ChildProcess;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable | undefined;
  readonly reports: Readable;
  readonly control: Writable;
}

/**
 * A sandbox that `holdfast-native supervise` runs. Invariants:
 * - `exited` settles once, when nothing of the tree is left, also when supervise itself was killed;
 * - events before the first listener are kept for it: the exec of the agent is the first of them;
 * - closing the control stream ends the sandbox, so that it cannot outlive this process.
 */
export class SupervisedSandbox implements Sandbox {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr?: Readable;
  readonly exited: Promise<Exited>;
  /** Settles when the agent runs, or with what kept it from running. */
  readonly startOrFailure: Promise<StartedReport | FailedReport>;
  readonly notes: readonly string[];
  #started: StartedReport | undefined;
  #description = "";
  #limit: string | undefined;
  readonly #streams: SuperviseStreams;
  readonly #events = new SandboxEvents();
  readonly #frozen = new Emitter<number>();
  #settleStart!: (told: StartedReport | FailedReport) => void;
  #settleExit!: (exited: Exited) => void;
  #over = false;

  constructor(streams: SuperviseStreams, notes: readonly string[]) {
    this.#streams = streams;
    this.notes = notes;
    this.stdin = streams.stdin;
    this.stdout = streams.stdout;
    if (streams.stderr !== undefined) this.stderr = streams.stderr;
    this.startOrFailure = new Promise((resolve) => (this.#settleStart = resolve));
    this.exited = new Promise((resolve) => (this.#settleExit = resolve));
    this.#listen();
  }

  get pid(): number {
    return this.#started?.pid ?? 0;
  }

  get hostView(): string | undefined {
    return this.#started === undefined ? undefined : `/proc/${this.#started.mounts}/root`;
  }

  /** Milliseconds from the start of supervise to the running agent. */
  get startMs(): number {
    return this.#started?.ms ?? 0;
  }

  get description(): string {
    return this.#description;
  }

  /** Once, after the start. */
  describe(description: string): void {
    this.#description = description;
  }

  onEvent(listener: (event: SandboxEvent) => void): Disposable {
    return this.#events.listen(listener);
  }

  resize(columns: number, rows: number): void {
    this.#command(`resize ${Math.max(1, columns)} ${Math.max(1, rows)}`);
  }

  signal(name: "SIGINT" | "SIGTERM" | "SIGTSTP" | "SIGCONT"): void {
    this.#command(`signal ${name}`);
  }

  async freeze(): Promise<void> {
    if (this.#over) return;
    const running = await new Promise<number>((resolve) => {
      const once = this.#frozen.event((count) => {
        once.dispose();
        resolve(count);
      });
      void this.exited.then(() => resolve(0));
      this.#command("freeze");
    });
    if (running > 0) {
      throw new Failure("failed", "freeze-incomplete", `${running} processes did not stop`);
    }
  }

  thaw(): Promise<void> {
    this.#command("thaw");
    return Promise.resolve();
  }

  async kill(): Promise<void> {
    if (this.#over) return;
    this.#command("kill");
    const force = setTimeout(() => this.#streams.child.kill("SIGKILL"), patienceMs);
    await this.exited;
    clearTimeout(force);
  }

  #command(line: string): void {
    if (!this.#over && this.#streams.control.writable) this.#streams.control.write(`${line}\n`);
  }

  #listen(): void {
    const { child, reports, control } = this.#streams;
    const lines = new LineSplitter();
    reports.setEncoding("utf8");
    reports.on("data", (text: string) => lines.push(text).forEach((line) => this.#take(line)));
    // supervise may end while a command is on its way to it; its end is told by the exit below.
    control.on("error", () => control.destroy());
    reports.on("error", () => reports.destroy());
    child.once("error", (error) => this.#fail("spawn", error.message));
    let reportsOver = false;
    const finish = (): void => {
      if (!reportsOver || (child.exitCode === null && child.signalCode === null)) return;
      this.#fail("supervise", "holdfast-native supervise ended without a word");
      this.#end({ exitCode: null, signal: "SIGKILL" });
    };
    reports.once("close", () => {
      reportsOver = true;
      finish();
    });
    child.once("exit", finish);
  }

  #fail(step: string, message: string): void {
    this.#settleStart({ type: "error", step, message, errno: 0, reason: "" });
  }

  #end(exited: Exited): void {
    if (this.#over) return;
    this.#over = true;
    this.#settleExit(this.#limit === undefined ? exited : { ...exited, limit: this.#limit });
  }

  #take(line: string): void {
    const parsed = report.safeParse(parseJson(line));
    if (!parsed.success) throw new Error(`holdfast-native said ${line.slice(0, 200)}`);
    this.#handle(parsed.data);
  }

  #handle(told: Report): void {
    switch (told.type) {
      case "started":
        this.#started = told;
        this.#settleStart(told);
        return;
      case "error":
        this.#settleStart(told);
        return;
      case "ended":
        this.#end(exitOf(told));
        return;
      case "frozen":
        this.#frozen.fire(told.running);
        return;
      case "limit":
        this.#limit = limitWords(told.name, told.used, told.limit);
        return;
      default:
        this.#events.tell(eventOf(told));
    }
  }
}

function exitOf({ exitCode, signal, left }: EndedReport): Exited {
  return { exitCode, left, ...(signal === undefined ? {} : { signal }) };
}
