import { spawn } from "node:child_process";
import { statSync } from "node:fs";
import { constants, setPriority } from "node:os";
import { Failure } from "../../base/errors.ts";
import { ResidentNative, type NativeRun } from "./residentNative.ts";

/** What a run of the native program gave: its last report, and all of its standard output. */
export interface NativeAnswer {
  readonly report: Readonly<Record<string, unknown>>;
  readonly output: Buffer;
}

const fixes: Readonly<Record<string, string>> = {
  ENOSPC: "free some space, or set HOLDFAST_HOME to a disk with room",
  EDQUOT: "your disk quota is used up: free some space, or set HOLDFAST_HOME to another disk",
  EMFILE: "raise the limit of open files (`ulimit -n 1024`)",
  ENAMETOOLONG: "remove the folders that are nested so deep",
  ENFILE: "the system is out of file descriptors: close some programs",
  ENOENT: "build it with `npm run build`",
};

const errnoNames: ReadonlyMap<number, string> = new Map([
  [28, "ENOSPC"],
  [122, "EDQUOT"],
  [24, "EMFILE"],
  [23, "ENFILE"],
  [36, "ENAMETOOLONG"],
]);

function failureOf(
  command: string,
  report: NativeAnswer["report"],
  stderr: string,
  code: string,
): Failure {
  const step = typeof report["step"] === "string" ? report["step"] : code;
  const reason = typeof report["reason"] === "string" ? report["reason"] : "";
  const told = typeof report["message"] === "string" ? report["message"] : stderr.trim();
  const errno = typeof report["errno"] === "number" ? (errnoNames.get(report["errno"]) ?? "") : "";
  const message = told === "" ? `${command} ended with ${code}` : told;
  return new Failure(
    "failed",
    `native-${command}-${step}`,
    reason === "" ? message : `${message}: ${reason}`,
    fixes[errno],
  );
}

/** The last line of a report stream that is an object. Lines of ours only: anything else is a bug of the program. */
function lastReport(text: string): NativeAnswer["report"] {
  const line = text.trimEnd().split("\n").at(-1) ?? "";
  if (line === "") return {};
  const value: unknown = JSON.parse(line);
  return typeof value === "object" && value !== null ? (value as NativeAnswer["report"]) : {};
}

function goLast(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_LOW);
  } catch {
    // it has ended already
  }
}

/** Names a build of the native program: another one may mark other files as worth a look for secrets. */
export function buildOf(nativePath: string): string {
  const { size, mtimeMs, ino } = statSync(nativePath);
  return [size, mtimeMs, ino].join(" ");
}

/** Commands that are run often, read only, and are never aborted: a resident program makes them. */
const residentCommands: ReadonlySet<string> = new Set(["scan", "overlay-scan"]);

const residents = new Map<string, ResidentNative>();

function residentOf(nativePath: string): ResidentNative {
  const known = residents.get(nativePath) ?? new ResidentNative(nativePath);
  residents.set(nativePath, known);
  return known;
}

function answerOf(
  command: string,
  { code, report: reports, errors, output }: NativeRun,
): NativeAnswer {
  const report = lastReport(reports.toString("utf8"));
  if (code !== "0") throw failureOf(command, report, errors.toString("utf8"), code);
  return { report, output };
}

/**
 * Runs `holdfast-native COMMAND --report-fd 3 ARGUMENT…` to its end. Aborting sends SIGTERM, upon which the program
 * cleans up. Throws a Failure in the program's own words.
 */
export async function runNative(
  nativePath: string,
  command: string,
  args: readonly string[],
  options: {
    readonly signal?: AbortSignal;
    readonly input?: Buffer;
    /** Nobody waits for it: everybody else goes first. */
    readonly inBackground?: true;
    /** The program runs, and there is nothing to do until it ends. */
    readonly onWaiting?: (() => void) | undefined;
  } = {},
): Promise<NativeAnswer> {
  const resident = residentCommands.has(command) && Object.keys(options).length === 0;
  const run = resident ? await residentOf(nativePath).ask(command, args) : undefined;
  return run === undefined
    ? await startNative(nativePath, command, args, options)
    : answerOf(command, run);
}

async function startNative(
  nativePath: string,
  command: string,
  args: readonly string[],
  options: Parameters<typeof runNative>[3] & object,
): Promise<NativeAnswer> {
  const child = spawn(nativePath, [command, "--report-fd", "3", ...args], {
    stdio: ["pipe", "pipe", "pipe", "pipe"],
    env: {},
  });
  if (options.inBackground === true && child.pid !== undefined) goLast(child.pid);
  const output: Buffer[] = [];
  const reports: Buffer[] = [];
  const errors: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => output.push(chunk));
  child.stderr.on("data", (chunk: Buffer) => errors.push(chunk));
  child.stdio[3]?.on("data", (chunk: Buffer) => reports.push(chunk));
  child.stdin.on("error", () => undefined); // a program that reads nothing may end before we have written
  child.stdin.end(options.input);
  const stop = (): void => void child.kill("SIGTERM");
  options.signal?.addEventListener("abort", stop, { once: true });
  if (options.signal?.aborted === true) stop();
  options.onWaiting?.();
  try {
    const code = await new Promise<string>((resolve, reject) => {
      child.on("error", reject);
      child.on("close", (status, signal) =>
        resolve(status === null ? String(signal) : String(status)),
      );
    });
    return answerOf(command, {
      code,
      report: Buffer.concat(reports),
      errors: Buffer.concat(errors),
      output: Buffer.concat(output),
    });
  } catch (error) {
    if (error instanceof Failure) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    const fix = fixes[(error as NodeJS.ErrnoException).code ?? ""];
    throw new Failure(
      "failed",
      "native-missing",
      `cannot run ${nativePath}: ${reason}`,
      fix,
      error,
    );
  } finally {
    options.signal?.removeEventListener("abort", stop);
  }
}
