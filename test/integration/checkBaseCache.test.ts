import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { TransactionChecks } from "../../src/node/checks/transactionChecks.ts";
import { TypescriptChecker } from "../../src/node/checks/typescriptChecker.ts";
import { confinedChecks } from "../../src/node/checks/confinedChecks.ts";
import type { CheckResult } from "../../src/runtime/ports.ts";
import { CheckFork } from "../support/checkFork.ts";
import { checkInstallation, installCompiler } from "../support/checkInstallation.ts";
import { nativeBuild } from "../support/nativeBuild.ts";

interface Cache {
  readonly key: string;
  readonly sum: string;
  readonly bases: Record<string, { compiler: string; answer: { diagnostics: unknown[] } }>;
}

describe("the base's answer over restarts", function () {
  this.timeout(120_000);
  let installation: Awaited<ReturnType<typeof checkInstallation>>;
  let fork: CheckFork;
  before(async () => {
    installation = await checkInstallation();
  });
  after(() => installation.remove());
  beforeEach(async () => {
    fork = new CheckFork(
      {
        "tsconfig.json": `{"compilerOptions":{"strict":true,"types":[],"lib":["es2022"]},"include":["src"]}`,
        "src/a.ts": "export const a: string = 1;\n",
      },
      (workspace) => installCompiler("typescript", join(workspace, "node_modules/typescript")),
    );
    // A base is final once a later generation shows that nobody wrote while it was read.
    await checked(2);
    assert.ok(existsSync(file()), "no cache was written");
  });
  afterEach(() => fork.remove());

  const file = (): string => join(fork.paths.state, "checks/typescript/bases.json");
  const read = (): Cache => JSON.parse(readFileSync(file(), "utf8")) as Cache;

  /** As many generations in a process of their own, as after a restart. */
  async function checked(generations = 1): Promise<CheckResult> {
    const checks = new TransactionChecks({
      reader: () => fork.reader,
      sandbox: confinedChecks(nativeBuild("plain")),
      limits: () => ({ timeoutMs: 60_000, memoryMb: 2048 }),
      changes: () => Promise.resolve(fork.changed()),
      checkers: [new TypescriptChecker({ installation: installation.directory })],
    });
    try {
      let results: readonly CheckResult[] = [];
      for (let generation = 0; generation < generations; generation++) {
        results = await checks.run({
          workspace: fork.workspace,
          fork: fork.fork,
          paths: fork.paths,
          changed: fork.changed(),
          generation,
          signal: new AbortController().signal,
        });
      }
      return results[0]!;
    } finally {
      await checks.close();
    }
  }

  /** Marks the cached answer, so that its use shows: an error more that the shadow then resolves. */
  function mark(seal: boolean, compiler?: string): void {
    const { key, sum, bases } = read();
    const known = bases["tsconfig.json"]!;
    if (compiler !== undefined) known.compiler = compiler;
    known.answer.diagnostics.push({
      ...{
        path: "src/a.ts",
        line: 1,
        column: 1,
        code: "TS1",
        message: "marked",
        severity: "error",
      },
    });
    const whole = createHash("sha256").update(JSON.stringify(bases)).digest("hex");
    writeFileSync(file(), JSON.stringify({ key, sum: seal ? whole : sum, bases }));
  }

  it("is taken for the same base, compiler and packages", async () => {
    mark(true);
    assert.deepEqual(
      (await checked()).resolved.map(({ message }) => message),
      ["marked"],
    );
  });

  const ignored: readonly (readonly [string, () => void])[] = [
    ["a sum that does not fit", () => mark(false)],
    ["half a file", () => writeFileSync(file(), readFileSync(file()).subarray(0, 100))],
    ["another version of the compiler", () => mark(true, "5.0.0")],
    [
      "packages that were installed since",
      () => {
        mark(true);
        fork.write({ "node_modules/.package-lock.json": "{}" });
      },
    ],
    [
      "another base",
      () => {
        mark(true);
        writeFileSync(join(fork.root, "manifest"), "another");
      },
    ],
  ];
  for (const [what, spoil] of ignored) {
    it(`is worked out again for ${what}`, async () => {
      spoil();
      const { status, resolved, unchanged } = await checked();
      assert.deepEqual([status, resolved, unchanged], ["passed", [], 1]);
    });
  }
});
