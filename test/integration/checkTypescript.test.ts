import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { CheckFork, type Tree } from "../support/checkFork.ts";
import { checkInstallation, installCompiler } from "../support/checkInstallation.ts";
import { assertExact, CheckRun, type ColdRun } from "../support/checkRun.ts";

const cold: ColdRun = {
  command: "node_modules/typescript/lib/tsc.js",
  projects: ["tsconfig.json"],
};

const plain: Tree = {
  "package.json": `{"name":"plain","private":true}`,
  "tsconfig.json": `{"compilerOptions":{"strict":true,"target":"es2022","module":"esnext","moduleResolution":"bundler","types":[],"lib":["es2022"]},"include":["src"]}`,
  "src/hub.ts": "export interface Hub { name: string }\nexport const hub: Hub = { name: 'x' };\n",
  "src/user.ts":
    "import { hub } from './hub';\nexport const size: number = hub.name.length;\nexport const old: string = 1;\n",
  "src/other.ts": "import { size } from './user';\nexport const twice = size * 2;\n",
};

describe("the TypeScript check", function () {
  this.timeout(180_000);
  let installation: Awaited<ReturnType<typeof checkInstallation>>;
  before(async () => {
    installation = await checkInstallation();
  });
  after(() => installation.remove());

  const install = (workspace: string): void =>
    installCompiler("typescript", join(workspace, "node_modules/typescript"));

  it("finds what an edited type breaks elsewhere and what an edit resolves", async () => {
    await using run = new CheckRun(new CheckFork(plain, install), installation.directory);
    const first = await run.next();
    assert.deepEqual(
      { ...first, durationMs: 0 },
      {
        check: "typescript",
        status: "passed",
        durationMs: 0,
        introduced: [],
        resolved: [],
        unchanged: 1,
      },
    );
    run.fork.write({
      "src/hub.ts":
        "export interface Hub { title: string }\nexport const hub: Hub = { title: 'x' };\n",
    });
    const broken = await run.next();
    assert.equal(broken.status, "failed");
    assert.deepEqual(
      broken.introduced.map((d) => `${d.path}:${d.line}:${d.column} ${d.code}`),
      ["src/user.ts:2:33 TS2339"],
    );
    assertExact(run.fork, broken, cold);
    run.fork.write({ "src/user.ts": "export const size = 1;\n" });
    const fixed = await run.next();
    assert.equal(fixed.status, "passed");
    assert.equal(fixed.resolved.length, 1);
    assertExact(run.fork, fixed, cold);
  });

  it("writes nothing and knows the base although the agent was quicker", async () => {
    await using run = new CheckRun(new CheckFork(plain, install), installation.directory);
    run.fork.write({ "src/user.ts": undefined, "src/new.ts": "export const n: string = 2;\n" });
    const result = await run.next();
    assertExact(run.fork, result, cold);
    assert.equal(existsSync(join(run.fork.shadow, "tsconfig.tsbuildinfo")), false);
  });

  it("checks each project near a root without one, whichever of them is edited", async () => {
    const config = plain["tsconfig.json"] ?? "";
    const tree: Tree = {
      "library/tsconfig.json": config,
      "library/src/a.ts": "export const a: number = 1;\n",
      "app/tsconfig.json": config,
      "app/src/b.ts":
        "import { a } from '../../library/src/a';\nexport const b: string = a;\nexport const c: number = a;\n",
    };
    await using run = new CheckRun(new CheckFork(tree, install), installation.directory);
    assert.equal((await run.next()).unchanged, 1);
    run.fork.write({ "library/src/a.ts": "export const a: string = 'x';\n" });
    const result = await run.next();
    const words = (all: typeof result.introduced) =>
      all.map((d) => `${d.path}:${d.line} ${d.code}`);
    assert.deepEqual(words(result.introduced), ["app/src/b.ts:3 TS2322"]);
    assert.deepEqual(words(result.resolved), ["app/src/b.ts:2 TS2322"]);
    const projects = ["app/tsconfig.json", "library/tsconfig.json"];
    assertExact(run.fork, result, { ...cold, projects });
  });
});
