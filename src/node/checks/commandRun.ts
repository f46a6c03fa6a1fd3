import type { Readable } from "node:stream";
import { join } from "node:path";
import { CheckFailure } from "./checkFailure.ts";
import type { CheckContext } from "./checker.ts";
import type { CheckProcess, Shown } from "./checkSandbox.ts";
import { watchMemory } from "./memoryWatch.ts";
import type { View } from "./typescript/viewFiles.ts";

export interface Command {
  readonly argv: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Working directory, at or below the workspace. */
  readonly cwd: string;
  readonly shown?: readonly Shown[];
  readonly writes: "refused" | "discarded";
}

export interface CommandOutput {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Output beyond this many characters of a stream ends the command. */
const longestOutput = 64 * 1024 * 1024;

/**
 * Runs one command over one side of the change set, to its end. Throws a CheckFailure when it takes too long, needs too much
 * memory, prints too much or is ended by a signal; a failing exit code is a result.
 */
export async function runCommand(
  context: CheckContext,
  name: string,
  view: View,
  absentInBase: readonly string[],
  command: Command,
): Promise<CommandOutput> {
  const { workspace, fork, limits, signal } = context;
  const isStopped = (): boolean => signal.aborted;
  if (isStopped()) throw new CheckFailure("skipped", "stopped");
  const process = await context.sandbox.launch({
    workspace,
    fork,
    view,
    baseContent: context.base.directory,
    absentInBase,
    writes: command.writes,
    argv: command.argv,
    env: command.env ?? {},
    cwd: command.cwd,
    shown: command.shown ?? [],
    scratch: join(context.paths.state, "checks", name, "scratch"),
    memoryMb: limits.memoryMb,
  });
  process.stdin.end();
  let failure: CheckFailure | undefined;
  const end = (reason: CheckFailure): void => {
    failure ??= reason;
    process.kill();
  };
  const stopped = (): void => end(new CheckFailure("skipped", "stopped"));
  const seconds = Math.round(limits.timeoutMs / 1000);
  const timer = setTimeout(() => {
    end(new CheckFailure("timedOut", `no answer within ${seconds} s`));
  }, limits.timeoutMs);
  signal.addEventListener("abort", stopped);
  if (isStopped()) stopped(); // while it was launched
  const memory = watchMemory(process.pid, limits.memoryMb, (megabytes) => {
    end(new CheckFailure("crashed", `needs more than ${limits.memoryMb} MB (had ${megabytes})`));
  });
  try {
    return await output(process, end, () => failure);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stopped);
    memory.dispose();
  }
}

async function output(
  process: CheckProcess,
  end: (reason: CheckFailure) => void,
  failure: () => CheckFailure | undefined,
): Promise<CommandOutput> {
  const tooLong = (): void => end(new CheckFailure("crashed", "printed too much"));
  const stdout = collect(process.stdout, tooLong);
  const stderr = collect(process.stderr, tooLong);
  const { exitCode, signal, limit } = await process.exited;
  const failed = failure();
  if (failed !== undefined) throw failed;
  if (limit !== undefined) throw new CheckFailure("crashed", `went past a bound (${limit})`);
  if (exitCode === null) throw new CheckFailure("crashed", `ended by ${signal ?? "a signal"}`);
  return { exitCode, stdout: stdout(), stderr: stderr() };
}

function collect(stream: Readable, tooLong: () => void): () => string {
  const parts: string[] = [];
  let length = 0;
  stream.setEncoding("utf8").on("data", (text: string) => {
    length += text.length;
    if (length > longestOutput) tooLong();
    else parts.push(text);
  });
  return () => parts.join("");
}
