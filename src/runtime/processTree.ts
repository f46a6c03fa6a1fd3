import type { Journal } from "./journal.ts";
import type { SandboxEvent } from "./ports.ts";
import { unquoted, type RunningCall, type ToolCalls } from "./toolCalls.ts";

type Exec = Extract<SandboxEvent, { type: "exec" }>;
type Exit = Extract<SandboxEvent, { type: "exit" }>;

interface Seen {
  readonly pid: number;
  readonly ppid: number;
  readonly startedMs: number;
  /** The `seq` that its effects hang under: a tool call's, or undefined. */
  readonly under: number | undefined;
  /** Set for agent "command": this process is itself a tool call of that id. */
  readonly call?: string;
}

/** Arguments longer than this are cut in the journal's exec entry; the count of what was cut is kept. */
const longestArgument = 4096;
const mostArguments = 256;

/** An agent's times are whole milliseconds. */
const clockSlackMs = 1;

/**
 * Turns what the kernel saw into `process.*` entries and hangs each process tree under the tool call that caused it: a
 * child under the call of its parent; a process that the agent itself starts under the call that ran then and whose input
 * names its arguments, else under the one that began last. With agent "command" each child of the command is a tool call of its own.
 */
export class ProcessTree {
  readonly #journal: Journal;
  readonly #calls: ToolCalls;
  readonly #callPerChild: boolean;
  readonly #hook: string;
  readonly #seen = new Map<number, Seen>();
  /** By call, the process whose exit tells how it ended: the first that has the call's command in its arguments (`carries`), or
   * that is laid to it. Agents start others before it, to learn of the environment. */
  readonly #main = new Map<number, { readonly pid: number; readonly carries: boolean }>();
  #root: number | undefined;
  /** The `seq` of the agent's own exec. */
  #rootSeq: number | undefined;

  /** `hook` is the command line that an agent's hooks run: it is nobody's call. */
  constructor(journal: Journal, calls: ToolCalls, callPerChild: boolean, hook: string) {
    this.#journal = journal;
    this.#calls = calls;
    this.#callPerChild = callPerChild;
    this.#hook = hook;
  }

  take(event: SandboxEvent): void {
    if (event.type === "exec") this.#exec(event);
    else this.#exit(event);
  }

  /** The `seq` that a process's effects hang under. */
  callOf(pid: number): number | undefined {
    return this.#seen.get(pid)?.under;
  }

  #exec(event: Exec): void {
    const again = this.#seen.get(event.pid);
    const seen = again ?? this.#admit(event);
    const parent = seen.under ?? (this.#isHook(event) ? this.#rootSeq : undefined);
    const { entry } = this.#journal.append({
      kind: "process.exec",
      source: "kernel",
      ...(parent === undefined ? {} : { parent }),
      pid: event.pid,
      ppid: event.ppid,
      argv: shorten(event.argv),
      cwd: event.cwd,
      program: event.program,
    });
    if (event.pid === this.#root) this.#rootSeq ??= entry.seq;
  }

  #admit(event: Exec): Seen {
    const { pid, ppid, atMs: startedMs } = event;
    const parent = this.#seen.get(ppid);
    let seen: Seen;
    if (this.#root === undefined) {
      this.#root = pid;
      seen = { pid, ppid, startedMs, under: undefined };
    } else if (this.#callPerChild && ppid === this.#root) {
      seen = this.#childCall(event);
    } else {
      seen = { pid, ppid, startedMs, under: this.#place(event, parent?.under) };
    }
    this.#seen.set(pid, seen);
    return seen;
  }

  /** Under the call of its parent; else under the call that the agent started it for. */
  #place(event: Exec, inherited: number | undefined): number | undefined {
    if (inherited !== undefined) return inherited;
    if (this.#isHook(event)) return undefined;
    const { pid, argv } = event;
    const cause = this.#causeOf(event);
    if (cause === undefined) return undefined;
    const { seq, toolKind } = cause;
    const runs = this.#calls.running().some((call) => call.seq === seq);
    const main = this.#main.get(seq);
    const carries = this.#carriedBy(argv, [cause]) !== undefined;
    const isMain = main === undefined || (carries && !main.carries);
    if (!runs || toolKind !== "execute" || !isMain) return seq;
    this.#main.set(seq, { pid, carries });
    this.#calls.processStarted(seq);
    return seq;
  }

  /** The hook program, or the shell that an agent starts it with. */
  #isHook({ argv }: Exec): boolean {
    const [, option = "", script] = argv;
    const byShell = argv.length === 3 && /^-l?c$/.test(option) && script === this.#hook;
    return byShell || argv.join(" ") === this.#hook;
  }

  #childCall(event: Exec): Seen {
    const { pid, ppid, atMs: startedMs } = event;
    const call = `pid-${pid}-${Math.round(startedMs)}`;
    const title = event.argv.join(" ");
    const tool = event.program.slice(event.program.lastIndexOf("/") + 1);
    const input = { argv: shorten(event.argv), cwd: event.cwd };
    this.#calls.take(
      { type: "toolStarted", call, tool, toolKind: "execute", title, input, atMs: startedMs },
      "kernel",
    );
    return { pid, ppid, startedMs, under: this.#calls.current(), call };
  }

  /**
   * The call that a process of the agent's own was started for. On a busy machine the kernel's word may come after the
   * call's end, or before its beginning is heard, so the times count: a call that is known to have begun later is not it,
   * one that has ended since may be.
   */
  #causeOf({ argv, atMs }: Exec): RunningCall | undefined {
    const isTool = ({ toolKind }: RunningCall): boolean => toolKind !== "agent";
    const running = this.#calls.running().filter(isTool);
    const possible = running.filter(
      ({ timed, startedMs }) => !timed || startedMs <= atMs + clockSlackMs,
    );
    const ended = this.#calls.endedAround(atMs).filter(isTool);
    const words = argv.filter((word) => word.length > 3).map((word) => word.slice(0, 200));
    const names = ({ inputText }: RunningCall): boolean =>
      words.some((word) => inputText.includes(JSON.stringify(word).slice(1, -1)));
    const runs = ({ toolKind }: RunningCall): boolean => toolKind === "execute";
    return (
      this.#carriedBy(argv, [...ended, ...running]) ??
      running.findLast(names) ??
      ended.findLast(names) ??
      possible.findLast(runs) ??
      ended.findLast(runs) ??
      possible.at(-1) ??
      ended.at(-1)
    );
  }

  /** The call whose whole command stands in the arguments: of several the longest command, of equal ones a call that has no
   * process yet, else the latest. */
  #carriedBy(argv: readonly string[], calls: readonly RunningCall[]): RunningCall | undefined {
    if (calls.every(({ command }) => command === undefined)) return undefined;
    const words = argv.map(unquoted);
    const weight = ({ command = "", seq }: RunningCall): number =>
      command.length + (this.#main.has(seq) ? 0 : 0.5);
    return calls
      .filter(
        ({ command }) => command !== undefined && words.some((word) => word.includes(command)),
      )
      .sort((left, right) => weight(left) - weight(right))
      .at(-1);
  }

  #exit(event: Exit): void {
    const seen = this.#seen.get(event.pid);
    if (seen === undefined) return;
    this.#seen.delete(event.pid);
    const durationMs = Math.max(0, event.atMs - seen.startedMs);
    const signal = event.signal === undefined ? {} : { signal: event.signal };
    this.#journal.append({
      kind: "process.exit",
      source: "kernel",
      ...(seen.under === undefined ? {} : { parent: seen.under }),
      pid: event.pid,
      exitCode: event.exitCode,
      ...signal,
      durationMs,
    });
    if (seen.under !== undefined && this.#main.get(seen.under)?.pid === event.pid)
      this.#calls.processEnded(seen.under, event.exitCode);
    if (seen.call === undefined) return;
    const status = event.exitCode === 0 ? "ok" : "failed";
    const output = { exitCode: event.exitCode, ...signal };
    const { atMs } = event;
    this.#calls.take(
      { type: "toolFinished", call: seen.call, status, output, durationMs, atMs },
      "kernel",
    );
  }
}

function shorten(argv: readonly string[]): readonly string[] {
  const kept = argv.slice(0, mostArguments).map((argument) => {
    const more = argument.length - longestArgument;
    return more > 0 ? `${argument.slice(0, longestArgument)}…(+${more})` : argument;
  });
  const left = argv.length - kept.length;
  return left > 0 ? [...kept, `…(+${left} arguments)`] : kept;
}
