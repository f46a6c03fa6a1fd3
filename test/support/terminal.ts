import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { eventually } from "./holdfastCommand.ts";
import { TerminalScreen } from "./terminalScreen.ts";

const columns = 120;
const rows = 40;

/** A program on a terminal of its own (util-linux' `script` makes it), as a person would sit before it. */
export class Terminal {
  readonly #child: ChildProcess;
  readonly #screen: TerminalScreen;
  #code: number | undefined;

  constructor(argv: readonly string[], options: { cwd: string; env: NodeJS.ProcessEnv }) {
    const quoted = argv.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
    const line = `stty rows ${rows} cols ${columns}; exec ${quoted}`;
    this.#child = spawn("script", ["--quiet", "--return", "--command", line, "/dev/null"], {
      cwd: options.cwd,
      env: { ...options.env, SHELL: "/bin/sh", TERM: "xterm-256color" },
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#child.stdin?.on("error", () => undefined); // it ended without reading
    this.#screen = new TerminalScreen(columns, rows, (bytes) => this.type(bytes));
    this.#child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.#screen.write(text);
    });
    this.#child.once("close", (code) => (this.#code = code ?? 255));
  }

  /** What is on the screen. */
  get screen(): string {
    return this.#screen.text;
  }

  type(keys: string): void {
    if (this.#code === undefined) this.#child.stdin?.write(keys);
  }

  /** Waits until the screen shows it; fails with what it shows when the program ends or it takes too long. */
  async shows(pattern: RegExp): Promise<void> {
    await this.#watching(String(pattern), () => {
      if (pattern.test(this.screen)) return true;
      assert.equal(this.#code, undefined, "it has ended");
      return undefined;
    });
  }

  async #watching<T>(what: string, look: () => Promise<T | undefined> | T | undefined): Promise<T> {
    try {
      return await eventually(look, what, 120_000);
    } catch (error) {
      throw new Error(`${what}: ${String(error)}; on the screen:\n${this.screen}`);
    }
  }

  /** Presses the keys, and again each few seconds until `done` gives something: an interface that just draws may lose a
   * key. */
  async press<T>(
    keys: string,
    what: string,
    done: () => Promise<T | undefined> | T | undefined,
  ): Promise<T> {
    let next = 0;
    return this.#watching(what, () => {
      if (performance.now() >= next) {
        this.type(keys);
        next = performance.now() + 4000;
      }
      return done();
    });
  }

  /** The exit code, once it has ended. */
  get code(): number | undefined {
    return this.#code;
  }

  /** As when its window is closed. */
  close(): void {
    this.#child.kill("SIGHUP");
  }
}
