import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { makeSample } from "../samples/makeSample.mjs";
import { againstTarget, figureOf, timed, type Bench, type Figure } from "../support/bench.ts";
import { root } from "../support/repository.ts";

const command = path.join(root, "dist", "holdfast.cjs");

/** What a person waits for at a terminal. */
export const bench: Bench = {
  title: "Command line",
  unavailable: () => (fs.existsSync(command) ? undefined : "`npm run build` has not run"),
  run: async () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-bench-"));
    const workspace = makeSample(path.join(folder, "shop"));
    const holdfast = (...args: string[]): string =>
      execFileSync(process.execPath, [command, ...args], {
        cwd: workspace,
        encoding: "utf8",
        env: { ...process.env, HOLDFAST_HOME: path.join(folder, "home") },
        stdio: ["ignore", "pipe", "ignore"],
      });
    try {
      const sample = "sample project, 270 files";
      return [
        await timed("holdfast --help", 10, () => holdfast("--help")),
        await timed("holdfast doctor", 3, () => holdfast("doctor", "--json")),
        await timed(
          "holdfast run -- true, from start to discarded",
          5,
          () => holdfast("run", "--on-exit", "discard", "--json", "--", "true"),
          sample,
        ),
        ...checkAnswer(holdfast),
        await timed(
          "holdfast list",
          5,
          () => holdfast("list", "--json"),
          "transactions of this run",
        ),
      ];
    } finally {
      fs.rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    }
  },
};

/** What an answer that is already there takes, beside a command that does nothing: pairs of runs. */
function checkAnswer(holdfast: (...args: string[]) => string): readonly Figure[] {
  const edit = "printf '%s\\n' 'export const added: number = 1;' >> src/money.ts";
  const { transaction } = JSON.parse(
    holdfast("run", "--on-exit", "review", "--json", "--", "/bin/sh", "-c", edit),
  ) as { readonly transaction: string };
  const once = (...args: string[]): number => {
    const begun = performance.now();
    holdfast(...args);
    return performance.now() - begun;
  };
  // The first one waits until there is an answer.
  once("check", transaction, "--json");
  const pairs = Array.from({ length: 10 }, () => {
    const start = once("--help");
    return { start, check: once("check", transaction, "--json") };
  });
  const note = "the answer is there";
  holdfast("discard", transaction);
  return [
    figureOf(
      "holdfast check --json",
      "ms",
      pairs.map(({ check }) => check),
      note,
    ),
    againstTarget(
      "holdfast check --json, more than the command's start",
      "ms",
      pairs.map(({ start, check }) => check - start),
      { atMost: 50 },
      note,
    ),
  ];
}
