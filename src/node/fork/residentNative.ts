import { spawn, type ChildProcess } from "node:child_process";
import { constants } from "node:os";
import path from "node:path";

/** What a run of the native program came to: `code` is its exit code, or the name of the signal that ended it. */
export interface NativeRun {
  readonly code: string;
  readonly report: Buffer;
  readonly errors: Buffer;
  readonly output: Buffer;
}

/** Asked for nothing for so long it ends; milliseconds. */
const idleMs = 30_000;

/** After so many ends that nobody asked for there is no further start. */
const mostDeaths = 3;

const longestHead = 128;

/** What one request may be. */
const mostWords = 32;
const mostBytes = 64 * 1024;

interface Asked {
  readonly child: ChildProcess;
  settle(run: NativeRun | undefined): void;
}

/**
 * `holdfast-native resident` (native/PROTOCOL.md), started when it is first needed: to start a process stops this one's main thread
 * for some 4 ms, to ask one that is there takes 0.1 ms. It keeps no process alive that has nothing to wait for, ends when it has been
 * idle for a while or this process is gone, and is started anew when it died.
 */
export class ResidentNative {
  readonly #nativePath: string;
  readonly #asked = new Map<number, Asked>();
  #child: ChildProcess | undefined;
  #last = 0;
  #deaths = 0;
  #idle: ReturnType<typeof setTimeout> | undefined;

  constructor(nativePath: string) {
    this.#nativePath = nativePath;
    // Its working directory is not ours.
    if (!path.isAbsolute(nativePath)) this.#deaths = mostDeaths;
  }

  /** Its process; undefined while there is none. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Undefined when it could not be asked, or died over it: then the program itself is to be run. */
  ask(command: string, args: readonly string[]): Promise<NativeRun | undefined> {
    const words = wordsOf([command, ...args]);
    if (words === undefined || this.#deaths >= mostDeaths) return Promise.resolve(undefined);
    const child = (this.#child ??= this.#start());
    if (child.stdin?.writable !== true) return Promise.resolve(undefined);
    clearTimeout(this.#idle);
    const id = ++this.#last;
    const { stdin } = child;
    return new Promise((resolve) => {
      this.#asked.set(id, { child, settle: resolve });
      hold(child, true);
      stdin.write(Buffer.concat([Buffer.from(`run ${id} ${words.length}\n`), words]));
    });
  }

  #start(): ChildProcess {
    const child = spawn(this.#nativePath, ["resident"], {
      stdio: ["pipe", "pipe", "ignore"],
      env: {},
      cwd: "/",
    });
    const answers = new Answers((id, run) => this.#answered(child, id, run));
    child.stdin.on("error", () => undefined); // its end is told by `close`
    child.stdout.on("data", (bytes: Buffer) => {
      if (!answers.push(bytes)) child.kill("SIGKILL");
    });
    child.on("error", () => this.#gone(child));
    child.on("close", () => this.#gone(child));
    hold(child, false);
    return child;
  }

  #answered(child: ChildProcess, id: number, run: NativeRun): void {
    const asked = this.#asked.get(id);
    this.#asked.delete(id);
    this.#deaths = 0;
    if (this.#asked.size === 0) {
      hold(child, false);
      this.#idle = setTimeout(() => this.#end(child), idleMs).unref();
    }
    asked?.settle(run);
  }

  /** The next that is asked starts another. */
  #end(child: ChildProcess): void {
    if (this.#child === child) this.#child = undefined;
    child.stdin?.end();
  }

  #gone(child: ChildProcess): void {
    if (this.#child === child) {
      this.#child = undefined;
      this.#deaths++;
    }
    for (const [id, asked] of [...this.#asked]) {
      if (asked.child !== child) continue;
      this.#asked.delete(id);
      asked.settle(undefined);
    }
  }
}

/** Undefined for what is no request: a NUL in a word would make two of it. */
function wordsOf(words: readonly string[]): Buffer | undefined {
  if (words.length > mostWords || words.some((word) => word.includes("\0"))) return undefined;
  const bytes = Buffer.from(words.map((word) => `${word}\0`).join(""), "utf8");
  return bytes.length > mostBytes ? undefined : bytes;
}

/** Whether this process waits for the child. */
function hold(child: ChildProcess, waits: boolean): void {
  const change = waits ? "ref" : "unref";
  child[change]();
  for (const stream of [child.stdin, child.stdout]) {
    (stream as unknown as Partial<Record<"ref" | "unref", () => void>> | null)?.[change]?.();
  }
}

interface Head {
  readonly id: number;
  readonly code: string;
  readonly parts: readonly [report: number, errors: number, output: number];
  readonly bytes: number;
}

/** Cuts what the resident says into answers. */
class Answers {
  readonly #take: (id: number, run: NativeRun) => void;
  #chunks: Buffer[] = [];
  #length = 0;
  #head: Head | undefined;

  constructor(take: (id: number, run: NativeRun) => void) {
    this.#take = take;
  }

  /** False for what is no answer. */
  push(bytes: Buffer): boolean {
    this.#chunks.push(bytes);
    this.#length += bytes.length;
    for (;;) {
      const isThere =
        this.#head === undefined ? this.#length > 0 : this.#length >= this.#head.bytes;
      if (!isThere) return true;
      const whole = this.#chunks.length === 1 ? this.#chunks[0] : Buffer.concat(this.#chunks);
      const rest = whole ?? bytes;
      const used = this.#head === undefined ? this.#begin(rest) : this.#finish(this.#head, rest);
      if (used === undefined) return false;
      this.#chunks = [rest.subarray(used)];
      this.#length = rest.length - used;
      if (used === 0 && this.#head === undefined && rest.length > 0) return true;
    }
  }

  #begin(bytes: Buffer): number | undefined {
    const end = bytes.subarray(0, longestHead).indexOf(10);
    if (end < 0) return bytes.length < longestHead ? 0 : undefined;
    const line = bytes.toString("latin1", 0, end);
    const told = /^done (\d{1,10}) (-?\d{1,3}) (\d{1,15}) (\d{1,15}) (\d{1,15})$/.exec(line);
    if (told === null) return undefined;
    const [id = 0, code = 0, report = 0, errors = 0, output = 0] = told.slice(1).map(Number);
    const sum = report + errors + output;
    this.#head = { id, code: codeName(code), parts: [report, errors, output], bytes: sum };
    return end + 1;
  }

  #finish({ id, code, parts, bytes: sum }: Head, bytes: Buffer): number {
    const [report, errors] = parts;
    this.#head = undefined;
    this.#take(id, {
      code,
      report: bytes.subarray(0, report),
      errors: bytes.subarray(report, report + errors),
      output: bytes.subarray(report + errors, sum),
    });
    return sum;
  }
}

function codeName(code: number): string {
  if (code >= 0) return String(code);
  const name = Object.entries(constants.signals).find(([, number]) => number === -code)?.[0];
  return name ?? String(code);
}
