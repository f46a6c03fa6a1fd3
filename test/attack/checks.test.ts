import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { CommandChecker } from "../../src/node/checks/commandChecker.ts";
import { confinedChecks } from "../../src/node/checks/confinedChecks.ts";
import type { Checker } from "../../src/node/checks/checker.ts";
import { commandTool } from "../../src/node/checks/tools.ts";
import { TransactionChecks } from "../../src/node/checks/transactionChecks.ts";
import { TypescriptChecker } from "../../src/node/checks/typescriptChecker.ts";
import type { CheckResult, ForkReader, TransactionPaths } from "../../src/runtime/ports.ts";
import { checkInstallation } from "../support/checkInstallation.ts";
import { nativeBuild } from "../support/nativeBuild.ts";
import type { Attack, Outcome } from "./attack.ts";
import { outcomesIn, placeScripts, runBatch } from "./batch.ts";
import { credentials } from "./cases/credentials.ts";
import { egress } from "./cases/egress.ts";
import { hostDamage } from "./cases/hostDamage.ts";
import { kernelSurface } from "./cases/kernelSurface.ts";
import { AttackWorld } from "./world.ts";

const attacks: readonly Attack[] = [...credentials, ...egress, ...kernelSurface, ...hostDamage];

interface Result {
  readonly outcomes: ReadonlyMap<string, Outcome>;
  readonly hits: ReadonlySet<string>;
  readonly victimLives: boolean;
  readonly changed: readonly string[];
}

/** A compiler of the workspace that attacks as soon as it is loaded, and tells what came of it as its failure. */
const hostileCompiler = `
const { spawnSync } = require("node:child_process");
const { stdout } = spawnSync("bash", [".attack/driver.sh"], { encoding: "utf8", maxBuffer: 1 << 28 });
throw new Error("OUTCOMES\\n" + stdout);
`;

/** A check command that attacks in the shadow only, so that all that it prints is new. */
const hostileCommand = commandTool({
  name: "own",
  command: `if test -e go; then bash .attack/driver.sh 2>&1 | awk '{ print "go " NR " " $0 }'; fi`,
  problemMatcher: { pattern: { regexp: "^(go) (\\d+) (.*)$", file: 1, line: 2, message: 3 } },
});

const textOf: Readonly<Record<string, (result: CheckResult) => string>> = {
  "a workspace's TypeScript": ({ note = "" }) => note.replace(/^[^]*?OUTCOMES\n/, ""),
  "a check command": ({ introduced }) => introduced.map(({ message }) => message).join("\n"),
};

describe("attacks from within checks", function () {
  this.timeout(600_000);
  const tools = mkdtempSync("/tmp/holdfast-attack-tools-");
  const program = path.join(tools, "attack");
  let installation: Awaited<ReturnType<typeof checkInstallation>>;

  before(async () => {
    execFileSync("cc", ["-O1", "-o", program, path.join(import.meta.dirname, "attack.c")]);
    installation = await checkInstallation();
  });
  after(() => {
    rmSync(tools, { recursive: true, force: true });
    installation.remove();
  });

  const inWorld = async (
    run: (world: AttackWorld) => Promise<ReadonlyMap<string, Outcome>>,
  ): Promise<Result> => {
    const world = new AttackWorld();
    try {
      await world.build(program);
      const outcomes = await run(world);
      const hits = attacks.filter(({ id, hit }) => {
        const outcome = outcomes.get(id);
        return outcome !== undefined && hit(world, outcome);
      });
      const { victimLives } = world;
      const status = ["status", "--porcelain", "--untracked-files=all"];
      const changed = execFileSync("git", status, { cwd: world.workspace, encoding: "utf8" });
      return {
        outcomes,
        hits: new Set(hits.map(({ id }) => id)),
        victimLives,
        changed: changed.split("\n").filter((line) => line !== ""),
      };
    } finally {
      await world.remove();
    }
  };

  /** One run of a checker over a plain copy of the world's workspace. */
  const checkOnce = async (world: AttackWorld, checker: Checker): Promise<CheckResult> => {
    const shadow = path.join(world.state, "shadow");
    cpSync(world.workspace, shadow, { recursive: true });
    writeFileSync(path.join(shadow, "go"), "");
    const root = path.join(world.state, "transactions/1");
    const at = (name: string): string => path.join(root, name);
    const paths: TransactionPaths = {
      root,
      base: at("base"),
      door: at("door"),
      state: at("state"),
    };
    mkdirSync(paths.state, { recursive: true, mode: 0o700 });
    const none = () => Promise.resolve(undefined);
    const reader: ForkReader = {
      stat: none,
      read: none,
      list: none,
      unmask: (_, bytes) => Promise.resolve(bytes),
    };
    const checks = new TransactionChecks({
      reader: () => reader,
      sandbox: confinedChecks(nativeBuild("plain")),
      limits: () => ({ timeoutMs: 400_000, memoryMb: 2048 }),
      checkers: [checker],
    });
    try {
      const results = await checks.run({
        workspace: world.workspace,
        fork: {
          ...{ backend: "copy", shadow, overlays: [], manifest: at("manifest") },
          ...{ forkMs: 0, files: 0, bytes: 0, notes: [] },
        },
        paths,
        changed: [{ path: "go", change: "added", ignored: false }],
        generation: 1,
        signal: new AbortController().signal,
      });
      const [result] = results;
      assert.ok(result !== undefined, "nothing ran");
      return result;
    } finally {
      await checks.close();
    }
  };

  const prepare: Readonly<Record<string, (world: AttackWorld) => Checker>> = {
    "a workspace's TypeScript": (world) => {
      const library = path.join(world.workspace, "node_modules/typescript/lib");
      mkdirSync(library, { recursive: true });
      writeFileSync(path.join(library, "../package.json"), '{ "version": "5.9.3" }');
      writeFileSync(path.join(library, "typescript.js"), hostileCompiler);
      writeFileSync(path.join(world.workspace, "tsconfig.json"), "{}");
      return new TypescriptChecker({ installation: installation.directory });
    },
    "a check command": () => new CommandChecker(hostileCommand),
  };

  let unconfined: Result;
  before(async () => {
    unconfined = await inWorld((world) => runBatch(world, attacks, "direct", "discard"));
  });

  for (const [name, checkerIn] of Object.entries(prepare)) {
    describe(`by ${name}`, () => {
      let confined: Result;
      before(async () => {
        confined = await inWorld(async (world) => {
          placeScripts(world.workspace, attacks);
          const result = await checkOnce(world, checkerIn(world));
          const outcomes = outcomesIn(textOf[name]?.(result) ?? "");
          assert.ok(outcomes.size > 0, `no attack ran: ${JSON.stringify(result).slice(0, 2000)}`);
          return outcomes;
        });
      });

      for (const { id, category, title, marked } of attacks) {
        it(`${category}: ${title} (${id})`, () => {
          const said = unconfined.outcomes.get(id)?.output ?? "it did not run";
          const shown = unconfined.hits.has(id) || marked !== undefined;
          assert.ok(shown, `is no attack: it missed unconfined: ${said}`);
          const outcome = confined.outcomes.get(id);
          assert.ok(outcome !== undefined, "it did not run in the check");
          assert.ok(!confined.hits.has(id), `it hit: ${outcome.output}`);
        });
      }

      it("the person's own process lives and the workspace is as it was", () => {
        assert.ok(confined.victimLives);
        const own = /^\?\? (?:node_modules\/|tsconfig\.json$)/;
        assert.deepEqual(
          confined.changed.filter((line) => !own.test(line)),
          [],
        );
      });
    });
  }
});
