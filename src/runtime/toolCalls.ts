import type { ToolKind } from "../base/toolKind.ts";
import type { EntryOf } from "../core/journal/entry.ts";
import type { AgentEvent } from "./agent.ts";
import type { Journal } from "./journal.ts";

/** A tool call that has begun and not ended. */
export interface RunningCall {
  readonly call: string;
  readonly seq: number;
  readonly toolKind: ToolKind;
  /** Title and input as text, to find which of several running calls started a process. */
  readonly inputText: string;
  /** The shell command that it says it runs, without quotes and backslashes: agents wrap and quote it. */
  readonly command?: string;
  /** Milliseconds since 1970. */
  readonly startedMs: number;
  /** The agent said when it began; otherwise it counts from when that was heard. */
  readonly timed: boolean;
}

/** A tool call that has ended. */
export interface EndedCall extends RunningCall {
  readonly endedMs: number;
}

type Source = "hook" | "acp" | "stream" | "kernel";
type Finished = Extract<AgentEvent, { type: "toolFinished" }>;
type Status = EntryOf<"tool.finished">["status"];

/** How long the end of a call that `ran` waits for its process and that one's exit to be told, milliseconds: they come by
 * a way of their own. */
const exitPatienceMs = 500;

/** How long the agent may take to tell of a call whose process a signal ended, milliseconds. When a person interrupts it, Claude
 * Code tells nothing. */
const interruptedMs = 5000;

/** What came of a command that ran on and whose output the agent has not asked for. */
const inBackground = "the agent told no answer: the command ran in the background";

/** What an agent calls its tools, calls and events, characters; and what one line says of a call. What is longer is cut, and
 * an id cannot be: such a call is kept as an event. */
const longestName = 1000;
const longestTitle = 4000;

function cut(text: string, most = longestName): string {
  return text.length <= most ? text : `${text.slice(0, most)}…`;
}

/** So many ended calls are remembered for what is told late. */
const remembered = 50;

/**
 * Joins what the agent says into tool calls, by id. A call that is told twice is written once; an end without a
 * beginning makes its beginning; an end that comes after another end is ignored; a beginning that comes after the end
 * is kept as an event. Where the agent does not say how a call ended, the exit of the first process under it does.
 */
export class ToolCalls {
  readonly #journal: Journal;
  readonly #running = new Map<string, RunningCall>();
  readonly #endedLately: EndedCall[] = [];
  readonly #known = new Map<string, number>();
  readonly #ended = new Set<string>();
  /** Calls whose beginning nobody told. */
  readonly #untold = new Set<string>();
  /** By the call's `seq`: `undefined` while its process runs, then its exit code (null: by a signal). */
  readonly #exits = new Map<number, number | null | undefined>();
  /** Ends that wait for an exit, by the call's `seq`. */
  readonly #waiting = new Map<number, () => void>();
  /** Ends of commands that run on though the agent does not wait for them, by the call's `seq`. */
  readonly #background = new Map<number, () => void>();
  /** Who waits for the next call to begin. */
  readonly #awaitingNext = new Set<(seq: number | undefined) => void>();
  readonly #onEnd: (call: EndedCall) => void;
  readonly #beforeEnd: () => void;

  /** `beforeEnd`: called when the agent says that a call has ended, while the call still counts as running. */
  constructor(
    journal: Journal,
    onEnd: (call: EndedCall) => void,
    beforeEnd: () => void = () => undefined,
  ) {
    this.#journal = journal;
    this.#onEnd = onEnd;
    this.#beforeEnd = beforeEnd;
  }

  /** Calls under way, oldest first. */
  running(): readonly RunningCall[] {
    return [...this.#running.values()];
  }

  /** Calls that ran at that time and have ended lately, in the order of their beginning. */
  endedAround(atMs: number): readonly EndedCall[] {
    return this.#endedLately
      .filter(({ startedMs, endedMs }) => startedMs <= atMs && atMs <= endedMs)
      .sort((left, right) => left.startedMs - right.startedMs);
  }

  /** An end waits for the exit of its process. */
  get awaitsExit(): boolean {
    return this.#waiting.size > 0;
  }

  /** The `seq` of the call that most probably causes what happens now: the one that began last. */
  current(): number | undefined {
    return this.running().at(-1)?.seq;
  }

  /** The `seq` of the next call that begins; undefined when none does in this time, milliseconds. */
  next(withinMs: number): Promise<number | undefined> {
    return new Promise((resolve) => {
      const settle = (seq: number | undefined): void => {
        clearTimeout(timer);
        this.#awaitingNext.delete(settle);
        resolve(seq);
      };
      const timer = setTimeout(settle, withinMs, undefined);
      this.#awaitingNext.add(settle);
    });
  }

  /** The call that has one of these ids; else the running one, latest first, whose input is or contains this. */
  find(ids: readonly string[], input: unknown): number | undefined {
    for (const id of ids) {
      const seq = this.#known.get(id);
      if (seq !== undefined) return seq;
    }
    const text = JSON.stringify(input ?? {});
    return this.running().findLast(({ inputText }) => text !== "{}" && inputText.includes(text))
      ?.seq;
  }

  take(event: AgentEvent, source: Source): void {
    if ("call" in event && event.call.length > longestName) {
      this.#event(event.type, event, source);
      return;
    }
    switch (event.type) {
      case "toolStarted":
        this.#started(event, source);
        return;
      case "toolFinished":
        if (source !== "kernel") this.#beforeEnd();
        this.#finished(event, source);
        return;
      case "session":
      case "other":
        this.#event(event.type === "session" ? "session" : event.event, event.data, source);
    }
  }

  /** The agent started the call's process; it may be told again, of another that is meant. */
  processStarted(seq: number): void {
    this.#exits.set(seq, undefined);
  }

  /** That process has ended. */
  processEnded(seq: number, exitCode: number | null): void {
    this.#exits.set(seq, exitCode);
    this.#waiting.get(seq)?.();
    const conclude = this.#background.get(seq);
    // One that asks for the output just then tells more.
    if (conclude !== undefined) setTimeout(conclude, exitPatienceMs).unref();
    else if (exitCode === null) setTimeout(() => this.#interrupted(seq), interruptedMs).unref();
  }

  #interrupted(seq: number): void {
    const call = this.running().find((one) => one.seq === seq)?.call;
    const output = "its process was ended, and the agent told no answer";
    if (call !== undefined)
      this.#finished({ type: "toolFinished", call, status: "cancelled", output }, "stream");
  }

  /** Ends what still runs: the agent is gone. */
  endAll(): void {
    for (const settle of [...this.#waiting.values()]) settle();
    for (const [seq, conclude] of [...this.#background])
      if (this.#exits.get(seq) !== undefined) conclude();
    for (const call of this.running()) {
      const output = "the agent ended before this call did";
      this.#finished(
        { type: "toolFinished", call: call.call, status: "cancelled", output },
        "stream",
      );
    }
  }

  #event(event: string, data: unknown, source: Source): void {
    const kept = this.#journal.keep(data);
    this.#journal.append({ kind: "agent.event", source, event: cut(event), data: kept });
  }

  #started(event: Extract<AgentEvent, { type: "toolStarted" }>, source: Source): void {
    if (this.#known.has(event.call)) {
      if (this.#untold.delete(event.call)) this.#event("late beginning of a call", event, source);
      return;
    }
    const parent = event.parentCall === undefined ? undefined : this.#known.get(event.parentCall);
    const { call, toolKind } = event;
    const [tool, title] = [cut(event.tool), cut(event.title, longestTitle)];
    const { entry } = this.#journal.append({
      kind: "tool.started",
      source,
      ...(parent === undefined ? {} : { parent }),
      call,
      tool,
      toolKind,
      title,
      input: this.#journal.keep(event.input),
      ...(event.agent === undefined ? {} : { agent: cut(event.agent) }),
    });
    this.#known.set(call, entry.seq);
    const input = typeof event.input === "string" ? event.input : JSON.stringify(event.input ?? "");
    const command = commandOf(event.input);
    this.#running.set(call, {
      call,
      seq: entry.seq,
      toolKind,
      inputText: `${title}\n${input}`,
      ...(command === undefined ? {} : { command }),
      startedMs: event.atMs ?? Date.parse(entry.at),
      timed: event.atMs !== undefined,
    });
    for (const settle of [...this.#awaitingNext]) settle(entry.seq);
  }

  #finished(event: Finished, source: Source): void {
    const { call, status } = event;
    if (this.#ended.has(call)) return;
    if (!this.#known.has(call)) {
      this.#untold.add(call);
      const title = "a call whose start was not told";
      this.#started(
        { type: "toolStarted", call, tool: "unknown", toolKind: "other", title, input: null },
        source,
      );
    }
    const seq = this.#known.get(call) ?? 0;
    const isLeft = status === "unanswered" || status === "background";
    if (isLeft && this.#running.get(call)?.toolKind === "execute") {
      this.#leaveRunning(event, seq, source);
      return;
    }
    this.#ended.add(call);
    if (status === "ran")
      this.#afterExit(seq, () => this.#settle(event, this.#statusByExit(seq), source));
    else {
      const plain = status === "unanswered" ? "failed" : status === "background" ? "ok" : status;
      this.#settle(event, plain, source);
    }
  }

  /** The agent went on, and the call's process may run: its exit tells how the call ended. The agent may still tell the end
   * itself. */
  #leaveRunning({ call, status: told, output }: Finished, seq: number, source: Source): void {
    const conclude = (answer: unknown): void => {
      this.#background.delete(seq);
      const exit = this.#exits.get(seq);
      const unseen = told === "background" ? "ok" : "failed";
      const byExit = exit === 0 ? "ok" : exit === null ? "cancelled" : "failed";
      const status = this.#exits.has(seq) ? byExit : unseen;
      this.#finished({ type: "toolFinished", call, status, output: answer }, source);
    };
    this.#afterExit(seq, () => {
      const runs = this.#exits.has(seq) && this.#exits.get(seq) === undefined;
      const answer = told === "background" ? output : inBackground;
      if (runs) this.#background.set(seq, () => conclude(answer));
      else conclude(output);
    });
  }

  /** Calls back when the exit of the call's process is known, or will hardly be soon. */
  #afterExit(seq: number, act: () => void): void {
    if (this.#exits.get(seq) !== undefined) {
      act();
      return;
    }
    const settle = (): void => {
      clearTimeout(timer);
      this.#waiting.delete(seq);
      act();
    };
    const timer = setTimeout(settle, exitPatienceMs);
    this.#waiting.set(seq, settle);
  }

  #statusByExit(seq: number): Status {
    const exitCode = this.#exits.get(seq);
    return exitCode === undefined || exitCode === 0 ? "ok" : "failed";
  }

  #settle(event: Finished, status: Status, source: Source): void {
    const { call } = event;
    const parent = this.#known.get(call);
    const { entry } = this.#journal.append({
      kind: "tool.finished",
      source,
      ...(parent === undefined ? {} : { parent }),
      call,
      status,
      output: this.#journal.keep(event.output),
      ...(event.durationMs === undefined ? {} : { durationMs: event.durationMs }),
    });
    const running = this.#running.get(call);
    this.#running.delete(call);
    if (running === undefined) return;
    const ended = { ...running, endedMs: event.atMs ?? Date.parse(entry.at) };
    this.#endedLately.push(ended);
    if (this.#endedLately.length > remembered) this.#endedLately.shift();
    this.#onEnd(ended);
  }
}

/** Text as it is whichever way it is quoted for a shell. */
export function unquoted(text: string): string {
  return text.replace(/['"\\]/g, "").trim();
}

function commandOf(input: unknown): string | undefined {
  if (typeof input !== "object" || input === null) return undefined;
  const { command, cmd = command } = input as {
    readonly command?: unknown;
    readonly cmd?: unknown;
  };
  const plain = typeof cmd === "string" ? unquoted(cmd) : "";
  return plain === "" ? undefined : plain;
}
