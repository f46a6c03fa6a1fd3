import { join } from "node:path";
import type { SideAnswer } from "../../core/check/answers.ts";
import { CheckFailure } from "./checkFailure.ts";
import type { CheckContext, Checker, CheckerAnswer } from "./checker.ts";
import { runCommand } from "./commandRun.ts";
import { inputStamps } from "./inputStamps.ts";
import { nodeDirectory } from "./programs.ts";
import { stableBase } from "./stableBase.ts";
import type { Tool } from "./tools.ts";
import type { View } from "./typescript/viewFiles.ts";
import { workerPlaces, type ChangedInput } from "./workerProtocol.ts";

/**
 * A check that is one command, run whole over either side: the base once, the shadow whenever a file that concerns it changed.
 * Caches of the tool are kept for each side apart, outside the workspace; what it writes into the workspace is
 * forgotten.
 */
export class CommandChecker implements Checker {
  readonly #tool: Tool;
  #base: SideAnswer | undefined;
  #last: { readonly inputs: string; readonly answer: SideAnswer } | undefined;
  /** Every path that was ever changed: one that went back to its base may have an old modification time. */
  readonly #touched = new Set<string>();

  constructor(tool: Tool) {
    this.#tool = tool;
  }

  get name(): string {
    return this.#tool.name;
  }

  concerns(path: string): boolean {
    return this.#tool.concerns(path);
  }

  async run(context: CheckContext): Promise<CheckerAnswer> {
    const detected = await this.#tool.detect(context, workerPlaces.scratch);
    if (detected === undefined) return { pairs: [], notes: [] };
    if (typeof detected === "string") throw new CheckFailure("skipped", detected);
    const changed = await context.base.inputs(
      context.changed.filter((change) => !change.ignored),
      (path) => this.concerns(path),
    );
    for (const change of changed) this.#touched.add(change.path);
    this.#base ??= await this.#baseAnswer(context);
    const base = this.#base;
    if (changed.length === 0) return { pairs: [{ base, shadow: base }], notes: [] };
    return { pairs: [{ base, shadow: await this.#shadow(context, changed) }], notes: [] };
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #baseAnswer(context: CheckContext): Promise<SideAnswer> {
    const concerns = (change: { readonly path: string; readonly ignored: boolean }): boolean =>
      !change.ignored && this.concerns(change.path);
    return stableBase(context, concerns, (absent, plain) =>
      this.#execute(context, plain ? "shadow" : "base", "base", absent),
    );
  }

  async #shadow(context: CheckContext, changed: readonly ChangedInput[]): Promise<SideAnswer> {
    const inputs = await inputStamps(context, changed);
    if (this.#last?.inputs === inputs) return this.#last.answer;
    const answer = await this.#execute(context, "shadow", "shadow", []);
    this.#last = { inputs, answer };
    return answer;
  }

  async #execute(
    context: CheckContext,
    view: View,
    side: View,
    absent: readonly string[],
  ): Promise<SideAnswer> {
    const { workspace } = context;
    const command = await this.#tool.detect(context, workerPlaces.scratch);
    if (command === undefined || typeof command === "string") {
      throw new CheckFailure("skipped", command ?? "the workspace no longer uses it");
    }
    const node = nodeDirectory();
    const output = await runCommand(context, `${this.name}-${side}`, view, absent, {
      argv: this.#tool.believesTimes ? touching([...this.#touched], command.argv) : command.argv,
      env: { ELECTRON_RUN_AS_NODE: "1", NO_COLOR: "1", ...command.env },
      cwd: workspace,
      shown: [...(command.shown ?? []), ...(node === undefined ? [] : [{ from: node, to: node }])],
      writes: "discarded",
    });
    return this.#tool.read(output, workspace);
  }
}

/** More names than this do not fit on a command line: then the time of each file is older than the caches' at worst. */
const mostTouched = 2000;

/** The command, after the named files were given the time of now; those that are gone are not made. */
function touching(paths: readonly string[], argv: readonly string[]): readonly string[] {
  if (paths.length === 0) return argv;
  const script =
    'n=$1; shift; while [ "$n" -gt 0 ]; do touch -c -- "$1"; shift; n=$((n-1)); done; exec "$@"';
  const named = paths.slice(0, mostTouched).map((path) => join(".", path));
  return ["/bin/sh", "-c", script, "touch", String(named.length), ...named, ...argv];
}
