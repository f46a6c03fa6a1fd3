import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import { existsSync, rmSync } from "node:fs";
import { CommandChecker } from "../../src/node/checks/commandChecker.ts";
import type { Checker } from "../../src/node/checks/checker.ts";
import type {
  CheckLaunch,
  CheckProcess,
  CheckSandbox,
} from "../../src/node/checks/checkSandbox.ts";
import { confinedChecks } from "../../src/node/checks/confinedChecks.ts";
import { commandTool } from "../../src/node/checks/tools.ts";
import { TransactionChecks } from "../../src/node/checks/transactionChecks.ts";
import { TypescriptChecker } from "../../src/node/checks/typescriptChecker.ts";
import { CheckFork } from "../support/checkFork.ts";
import { checkInstallation } from "../support/checkInstallation.ts";
import { nativeBuild } from "../support/nativeBuild.ts";

/** The real sandbox, which starts nothing before it is opened. */
class GatedSandbox implements CheckSandbox {
  readonly launched: CheckProcess[] = [];
  readonly #real = confinedChecks(nativeBuild("plain"));
  readonly #gate = new EventEmitter();

  async launch(spec: CheckLaunch): Promise<CheckProcess> {
    this.#gate.emit("asked");
    await once(this.#gate, "open");
    const process = await this.#real.launch(spec);
    this.launched.push(process);
    return process;
  }

  async asked(): Promise<void> {
    await once(this.#gate, "asked");
  }

  open(): void {
    this.#gate.emit("open");
  }
}

describe("checks that are closed", function () {
  this.timeout(120_000);
  let installation: Awaited<ReturnType<typeof checkInstallation>>;
  before(async () => {
    installation = await checkInstallation();
  });
  after(() => installation.remove());

  const tree = {
    "tsconfig.json": `{"compilerOptions":{"types":[],"lib":["es2022"]},"include":["src"]}`,
    "src/a.ts": "export const a: string = 1;\n",
  };
  const checkers: readonly (readonly [string, () => Checker])[] = [
    ["the compiler", () => new TypescriptChecker({ installation: installation.directory })],
    [
      "a command",
      () =>
        new CommandChecker(
          commandTool({
            name: "own",
            command: "sleep 1000",
            problemMatcher: { pattern: { regexp: "^(\\S+) (.*)$", file: 1, message: 2 } },
          }),
        ),
    ],
  ];
  for (const [name, checker] of checkers) {
    it(`${name} that was just being started ends before close does, and writes nothing afterwards`, async () => {
      const fork = new CheckFork(tree);
      const sandbox = new GatedSandbox();
      const checks = new TransactionChecks({
        reader: () => fork.reader,
        sandbox,
        limits: () => ({ timeoutMs: 60_000, memoryMb: 2048 }),
        changes: () => Promise.resolve(fork.changed()),
        checkers: [checker()],
      });
      const run = (generation: number) =>
        checks.run({
          workspace: fork.workspace,
          fork: fork.fork,
          paths: fork.paths,
          changed: fork.changed(),
          generation,
          signal: new AbortController().signal,
        });
      const asked = sandbox.asked();
      const first = run(0);
      await asked;
      const closed = checks.close();
      const waits = run(1);
      setImmediate(() => sandbox.open());
      await closed;
      assert.equal(sandbox.launched.length, 1, "close did not wait for what was being started");
      assert.notEqual(await sandbox.launched[0]?.exited, undefined);
      rmSync(fork.paths.state, { recursive: true, force: true });
      for (const results of [await first, await waits]) {
        assert.deepEqual(
          results.map(({ status, note }) => [status, note]),
          [["skipped", "stopped"]],
        );
      }
      assert.equal(existsSync(fork.paths.state), false);
      fork.remove();
    });
  }
});
