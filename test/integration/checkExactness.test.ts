import assert from "node:assert/strict";
import { join } from "node:path";
import type { Diagnostic } from "../../src/core/journal/entry.ts";
import type { CheckResult, ProvisionalResult } from "../../src/runtime/ports.ts";
import { CheckFork } from "../support/checkFork.ts";
import { checkInstallation, installCompiler } from "../support/checkInstallation.ts";
import { checkProjects, type CheckProject } from "../support/checkProjects.ts";
import { assertExact, CheckRun, coldSides } from "../support/checkRun.ts";

const compilers = [
  { major: 5, name: "typescript" },
  { major: 6, name: "typescript6" },
  { major: 7, name: "typescript7" },
] as const;

/** The delta after every step equals the difference of two cold full runs of the project's own compiler. */
function check(
  project: CheckProject,
  compiler: (typeof compilers)[number],
  directory: () => string,
) {
  it(`${project.name}, TypeScript ${compiler.major}`, async () => {
    const fork = new CheckFork(project.tree, (workspace) =>
      installCompiler(compiler.name, join(workspace, "node_modules/typescript")),
    );
    await using run = new CheckRun(fork, directory());
    const cold = { command: "node_modules/typescript/bin/tsc", ...project.cold };
    await Promise.all([run.next(), coldSides(fork, cold)]);
    for (const step of project.steps) {
      fork.write(step);
      // The compilers of the sides run beside the check: all of them only read.
      const [result, sides] = await Promise.all([run.next(), coldSides(fork, cold)]);
      assertExact(fork, result, cold, sides);
      assertEarly(run.early, result);
    }
  });
}

/** What was told early of some files is what the whole answer says of them. */
function assertEarly(early: ProvisionalResult | undefined, whole: CheckResult): void {
  if (early === undefined || whole.status === "notChecked") return;
  const of = (list: readonly Diagnostic[]): readonly string[] =>
    list
      .filter(({ path }) => early.paths.includes(path))
      .map(({ path, line, column, code }) => `${path}:${line}:${column} ${code}`)
      .sort();
  assert.deepEqual(of(early.introduced), of(whole.introduced), "introduced, told early");
  assert.deepEqual(of(early.resolved), of(whole.resolved), "resolved, told early");
}

describe("check exactness", function () {
  this.timeout(120_000);
  let installation: Awaited<ReturnType<typeof checkInstallation>>;
  before(async () => {
    installation = await checkInstallation();
  });
  after(() => installation.remove());

  for (const compiler of compilers) {
    for (const project of checkProjects) {
      if (project.versions?.includes(compiler.major) === false) continue;
      check(project, compiler, () => installation.directory);
    }
  }
});
