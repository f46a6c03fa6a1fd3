import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CheckFork, type Tree } from "../support/checkFork.ts";
import { checkInstallation, installCompiler } from "../support/checkInstallation.ts";
import { assertExact, CheckRun, type ColdRun } from "../support/checkRun.ts";

const cold: ColdRun = { command: "node_modules/typescript/bin/tsc", projects: ["tsconfig.json"] };

const config = `{"compilerOptions":{"strict":true,"target":"es2022","module":"esnext","moduleResolution":"bundler","types":[],"lib":["es2022"]},"include":["src"]}`;

const small: Tree = {
  "package.json": `{"name":"small"}`,
  "tsconfig.json": config,
  "src/a.ts": "export const a: string = 1;\n",
  "src/b.ts": "export const b = 1;\n",
};

describe("traps of type checks", function () {
  this.timeout(120_000);
  let installation: Awaited<ReturnType<typeof checkInstallation>>;
  before(async () => {
    installation = await checkInstallation();
  });
  after(() => installation.remove());

  const withCompiler = (name: string) => (workspace: string) =>
    installCompiler(name, join(workspace, "node_modules/typescript"));

  const hiding: readonly (readonly [string, Readonly<Record<string, string>>, RegExp])[] = [
    ["syntax", { "src/b.ts": "export const b = ;\n" }, /src\/b\.ts:1: TS1109/],
    ["an unknown option", { "tsconfig.json": config.replace("strict", "strickt") }, /TS502[35]/],
    [
      "options that exclude each other",
      { "tsconfig.json": config.replace(`"bundler"`, `"bundler","outFile":"x.js"`) },
      /TS\d+/,
    ],
    ["a configuration that does not parse", { "tsconfig.json": "{ nonsense" }, /tsconfig\.json/],
    ["no files", { "tsconfig.json": config.replace(`["src"]`, `["nowhere"]`) }, /TS18003/],
  ];
  for (const compiler of ["typescript", "typescript7"]) {
    for (const [name, change, reason] of hiding) {
      it(`${name} is "not checked", never "nothing introduced" (${compiler})`, async () => {
        await using run = new CheckRun(
          new CheckFork(small, withCompiler(compiler)),
          installation.directory,
        );
        await run.next();
        run.fork.write(change);
        const result = await run.next();
        assert.equal(result.status, "notChecked", JSON.stringify(result));
        assert.match(result.note ?? "", reason);
        assert.deepEqual(result.resolved, []);
        assert(result.introduced.length > 0);
      });
    }
  }

  it("both sides are checked by the compiler of the shadow when the agent replaces it", async () => {
    const fork = new CheckFork(small, withCompiler("typescript"));
    await using run = new CheckRun(fork, installation.directory);
    await run.next();
    const manifest = join(fork.shadow, "node_modules/typescript/package.json");
    const text = readFileSync(manifest, "utf8").replace("5.9.3", "5.9.4");
    fork.write({
      "node_modules/typescript/package.json": text,
      "src/b.ts": "export const b: string = 2;\n",
    });
    const result = await run.next();
    assert.equal(result.introduced.length, 1);
    assert.equal(result.unchanged, 1);
  });

  it("edits of the person after the fork are no part of the base", async () => {
    const fork = new CheckFork(small, withCompiler("typescript"));
    await using run = new CheckRun(fork, installation.directory);
    writeFileSync(join(fork.workspace, "src/b.ts"), "export const b: string = 5;\n");
    fork.write({ "src/c.ts": "export const c: string = 3;\n" });
    assertExact(fork, await run.next(), cold);
  });

  it("an agent that writes while the base is read does not change the base", async () => {
    const fork = new CheckFork(small, withCompiler("typescript"));
    await using run = new CheckRun(fork, installation.directory);
    const changed = fork.changed();
    assert.deepEqual(changed, []);
    fork.write({ "src/a.ts": undefined, "src/b.ts": "export const b: string = 2;\n" });
    // The first generation is told of no change although files changed already.
    await run.next([]);
    const result = await run.next();
    assertExact(fork, result, cold);
  });

  for (const compiler of ["typescript", "typescript7"]) {
    it(`changes before the first run are told from the base (${compiler})`, async () => {
      const fork = new CheckFork(small, withCompiler(compiler));
      await using run = new CheckRun(fork, installation.directory);
      fork.write({ "src/a.ts": undefined, "src/c.ts": "export const c: string = 3;\n" });
      assertExact(fork, await run.next(), cold);
    });
  }

  it("nothing is written into the workspace, not even for incremental projects", async () => {
    const tree = {
      ...small,
      "tsconfig.json": config.replace(`"strict"`, `"incremental":true,"outDir":"out","strict"`),
    };
    for (const compiler of ["typescript", "typescript7"]) {
      const fork = new CheckFork(tree, withCompiler(compiler));
      await using run = new CheckRun(fork, installation.directory);
      await run.next();
      fork.write({ "src/b.ts": "export const b: string = 2;\n" });
      await run.next();
      assert.deepEqual(
        fork.changed().map((change) => change.path),
        ["src/b.ts"],
      );
    }
  });

  it("the bundled compiler is told", async () => {
    await using run = new CheckRun(new CheckFork(small), installation.directory);
    const result = await run.next();
    assert.equal(result.unchanged, 1);
    assert.match(result.note ?? "", /bundled TypeScript 5\.9\.3/);
  });

  it("Vue files are told to be left out", async () => {
    const tree = { ...small, "package.json": `{"dependencies":{"vue":"3"}}` };
    await using run = new CheckRun(
      new CheckFork(tree, withCompiler("typescript")),
      installation.directory,
    );
    assert.match((await run.next()).note ?? "", /\.vue files are not type-checked/);
  });

  it("a renamed file keeps its errors, and equal errors are told apart by their lines", async () => {
    const fork = new CheckFork(
      {
        ...small,
        "src/a.ts":
          "const one: string = 1;\nconst two: string = 2;\nexport const x = [one, two];\n",
      },
      withCompiler("typescript"),
    );
    await using run = new CheckRun(fork, installation.directory);
    await run.next();
    fork.rename("src/a.ts", "src/moved.ts");
    fork.write({
      "src/moved.ts":
        "// new first line\nconst one: string = 1;\nconst zero: string = 0;\nconst two: string = 2;\nexport const x = [one, two, zero];\n",
    });
    const result = await run.next();
    assert.deepEqual(
      result.introduced.map((d) => `${d.path}:${d.line}`),
      ["src/moved.ts:3"],
    );
    assert.deepEqual([result.resolved.length, result.unchanged], [0, 2]);
    assert.equal(existsSync(join(fork.shadow, "src/a.ts")), false);
  });
});
