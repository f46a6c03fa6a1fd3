import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { CheckResult } from "../../src/runtime/ports.ts";
import { CheckFork } from "../support/checkFork.ts";
import { checkInstallation, installCompiler } from "../support/checkInstallation.ts";
import { CheckRun } from "../support/checkRun.ts";

const tree = {
  "package.json": `{"name":"early"}`,
  "tsconfig.json": `{"compilerOptions":{"strict":true,"types":[],"lib":["es2022"]},"include":["src"]}`,
  "src/hub.ts": "export interface Hub { name: string }\nexport const old: string = 1;\n",
  "src/user.ts":
    "import type { Hub } from './hub';\nexport const f = (h: Hub): string => h.name;\n",
};

const places = (list: CheckResult["introduced"]): readonly string[] =>
  list.map(({ path, line, code }) => `${path}:${line} ${code}`);

describe("TypeScript 7 early", function () {
  this.timeout(120_000);
  let installation: Awaited<ReturnType<typeof checkInstallation>>;
  before(async () => {
    installation = await checkInstallation();
  });
  after(() => installation.remove());

  const newRun = (compiler: string): CheckRun =>
    new CheckRun(
      new CheckFork(tree, (workspace) =>
        installCompiler(compiler, join(workspace, "node_modules/typescript")),
      ),
      installation.directory,
    );

  /** Waits for the server to be warm, which nobody who uses the check does. */
  const warm = async (run: CheckRun): Promise<void> => {
    for (let turn = 0; turn < 100 && run.early === undefined; turn++) {
      run.fork.write({ "src/probe.ts": `export const probe = ${turn};\n` });
      await run.next();
      await wait(50);
    }
    assert.deepEqual(run.early?.paths, ["src/probe.ts"]);
  };

  it("tells the edited files' errors, the whole answer those of files that depend on them", async () => {
    await using run = newRun("typescript7");
    await run.next();
    await warm(run);
    run.fork.write({
      "src/hub.ts": "export interface Hub { title: string }\nexport const bad: number = 'x';\n",
    });
    const whole = await run.next();
    assert.deepEqual(run.early?.paths, ["src/hub.ts"]);
    assert.deepEqual(places(run.early.introduced), ["src/hub.ts:2 TS2322"]);
    assert.deepEqual(places(run.early.resolved), ["src/hub.ts:2 TS2322"]);
    assert.deepEqual(places(whole.introduced), ["src/hub.ts:2 TS2322", "src/user.ts:2 TS2339"]);
  });

  it("says nothing when nothing was edited, and nothing with a compiler that is warm itself", async () => {
    await using seven = newRun("typescript7");
    await seven.next();
    await warm(seven);
    await seven.next();
    assert.equal(seven.early, undefined);
    await using five = newRun("typescript");
    await five.next();
    five.fork.write({ "src/hub.ts": "export interface Hub { title: string }\n" });
    await five.next();
    assert.equal(five.early, undefined);
  });

  it("ends its server with the check, also one that is just being started", async () => {
    const sandboxes = (): readonly string[] =>
      readdirSync("/proc/self/task")
        .flatMap((task) => readFileSync(`/proc/self/task/${task}/children`, "utf8").split(" "))
        .filter((pid) => pid !== "" && isSandbox(pid));
    const before = sandboxes();
    for (let delay = 0; delay < 5; delay++) {
      const run = newRun("typescript7");
      await run.next();
      await wait(delay * 5);
      await run[Symbol.asyncDispose]();
      assert.deepEqual(sandboxes(), before);
    }
  });
});

function isSandbox(pid: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("supervise");
  } catch {
    return false; // it has ended
  }
}
