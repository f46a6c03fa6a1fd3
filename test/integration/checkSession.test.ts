import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Entry, EntryOf } from "../../src/core/journal/entry.ts";
import { directedAgent, DirectedRun } from "../support/directedAgent.ts";
import { commandWorlds, type CommandWorld } from "../support/holdfastCommand.ts";

const project = {
  "agent.mjs": directedAgent,
  "tsconfig.json": `{"compilerOptions":{"strict":true,"types":[],"lib":["es2022"]},"include":["src"]}`,
  "src/a.ts": "export const a: string = 'a';\n",
  "src/b.ts": "export const b: string = 1;\n",
};

const broken = { title: "Break a", writes: { "src/a.ts": "export const a: string = 1;\n" } };
const mended = { title: "Mend a", writes: { "src/a.ts": "export const a: string = 'x';\n" } };

function titleOf(entries: readonly Entry[], call: number | undefined): string | undefined {
  const entry = entries.find(({ seq }) => seq === call);
  return entry?.kind === "tool.started" ? entry.title : undefined;
}

/** The settings of the person who runs the command in that world. */
function writeSettings(world: CommandWorld, settings: object): void {
  const folder = path.join(world.home, "config/holdfast");
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, "checks.json"), JSON.stringify({ version: 1, ...settings }));
}

describe("checks of a session", function () {
  this.timeout(180_000);
  const newWorld = commandWorlds();

  it("lay each error to the call that introduced it, and to none where several can have", async () => {
    const world = newWorld(project);
    const run = new DirectedRun(world);
    const base = await run.next("check.finished");
    assert.deepEqual([base.status, base.introduced, base.unchanged], ["passed", [], 1]);
    await run.calls(broken);
    const introduced = await run.next("check.step", base.seq);
    await run.calls(mended);
    const resolved = await run.next("check.step", introduced.seq);
    await run.calls(
      { title: "Readme", writes: { "README.md": "no code\n" } },
      { title: "Mend b", writes: { "src/b.ts": "export const b: string = 'b';\n" } },
      { title: "Add c", writes: { "src/c.ts": "export const c: number = 'c';\n" } },
    );
    const shared = await run.next("check.step", resolved.seq);
    assert.equal((await run.end()).code, 0);
    const entries = await world.entries();
    const words = ({ introduced: more, resolved: less }: EntryOf<"check.step">) =>
      [...more.map((d) => `+${d.path} ${d.code}`), ...less.map((d) => `-${d.path} ${d.code}`)].join(
        " ",
      );
    assert.deepEqual(
      [introduced, resolved, shared].map((step) => [
        titleOf(entries, step.parent),
        step.calls.map((call) => titleOf(entries, call)),
        words(step),
      ]),
      [
        ["Break a", ["Break a"], "+src/a.ts TS2322"],
        ["Mend a", ["Mend a"], "-src/a.ts TS2322"],
        [undefined, ["Mend b", "Add c"], "+src/c.ts TS2322 -src/b.ts TS2322"],
      ],
    );
    const tree = (await world.run(["timeline", "latest", "--tree"])).stdout;
    assert.match(tree, /typescript: introduced 1 error · Break a\n/);
    assert.match(tree, /typescript: resolved 1 error · Mend a\n/);
    assert.match(tree, /introduced 1 error, resolved 1 error, by one or more of 2 .* · Add c\n/);
  });

  it("of a person's own make: checks.json adds one, turns one off and bounds one", async () => {
    const world = newWorld({
      ...project,
      "a.txt": "fine\n",
      "eslint.config.mjs": "export default [];",
    });
    writeSettings(world, {
      disabled: ["typescript", "eslint"],
      limitsOf: { slow: { seconds: 1 } },
      commands: [
        {
          name: "todo",
          command: "grep -n TODO a.txt || true",
          problemMatcher: {
            owner: "todo",
            pattern: [{ regexp: "^(\\d+):(.*)$", line: 1, message: 2 }],
          },
        },
        { name: "slow", command: "sleep 60", problemMatcher: "$tsc" },
      ],
    });
    assert.equal((await world.run(["run", "--", "sh", "-c", "echo TODO >> a.txt"])).code, 0);
    const { checks } = await world.json<{
      checks: { name: string; status: string; note?: string }[];
    }>(["check", "latest"]);
    assert.deepEqual(
      checks.map(({ name, status, note }) => [name, status, note]),
      [
        ["todo", "passed", undefined],
        ["slow", "timedOut", "no answer within 1 s"],
      ],
    );
  });

  it("are not begun for what is thrown away at its end", async () => {
    const world = newWorld(project);
    const changes = ["sh", "-c", "echo 'export const a: string = 1;' > src/a.ts"];
    assert.equal((await world.run(["run", "--on-exit", "discard", "--", ...changes])).code, 0);
    const kinds = (await world.entries()).map(({ kind }) => kind);
    assert.deepEqual(kinds.slice(kinds.indexOf("transaction.sealed")), [
      "transaction.sealed",
      "transaction.discarded",
    ]);
  });

  it("a mistake in checks.json stops the start and names its place", async () => {
    const world = newWorld(project);
    writeSettings(world, { disabled: ["eslnt"], limits: { seconds: 0 } });
    const { code, stderr } = await world.run(["run", "--", "true"]);
    assert.equal(code, 1);
    assert.match(stderr, /checks\.json:1:\d+: limits\.seconds: /);
    writeSettings(world, { disabled: ["eslnt"] });
    assert.match((await world.run(["run", "--", "true"])).stderr, /no check has the name eslnt/);
  });
});

describe("a commit of errors", function () {
  this.timeout(120_000);
  const newWorld = commandWorlds();
  const breakA = ["run", "--", "sh", "-c", "echo 'export const a: string = 1;' > src/a.ts"];
  const errors = /introduces 1 error: src\/a\.ts:1:14 TS2322 Type 'number' is not assignable/;
  const written = (world: CommandWorld): boolean =>
    readFileSync(path.join(world.workspace, "src/a.ts"), "utf8").includes("1");

  it("is told and done where nobody can be asked", async () => {
    const world = newWorld(project);
    assert.equal((await world.run(breakA)).code, 0);
    await world.run(["check", "latest"]);
    const { code, stderr } = await world.run(["commit", "latest"]);
    assert.equal(code, 0, stderr);
    assert.match(stderr, /introduces 1 error:\nholdfast: {3}src\/a\.ts:1:14 TS2322/);
    assert.ok(written(world));
  });

  it("is refused with commitOnlyWhenClean, but for --allow-errors", async () => {
    const world = newWorld(project);
    assert.equal((await world.run(breakA)).code, 0);
    writeSettings(world, { commitOnlyWhenClean: true });
    const refused = await world.run(["commit", "latest"]);
    assert.equal(refused.code, 1, refused.stderr);
    assert.match(refused.stderr, errors);
    assert.match(refused.stderr, /--allow-errors/);
    assert.equal(written(world), false);
    const allowed = await world.run(["commit", "latest", "--allow-errors"]);
    assert.equal(allowed.code, 0, allowed.stderr);
    assert.ok(written(world));
  });

  it("is refused with commitOnlyWhenClean when nothing could be checked", async () => {
    const world = newWorld(project);
    writeSettings(world, { commitOnlyWhenClean: true });
    assert.equal(
      (await world.run(["run", "--", "sh", "-c", "echo 'export const a: = ;' > src/a.ts"])).code,
      0,
    );
    const { code, stderr } = await world.run(["commit", "latest"]);
    assert.equal(code, 1);
    assert.match(stderr, /not checked: typescript: src\/a\.ts:1: TS1110/);
  });

  it("does not happen by itself at the end of a run with commitOnlyWhenClean", async () => {
    const world = newWorld(project);
    writeSettings(world, { commitOnlyWhenClean: true });
    const [verb = "", ...rest] = breakA;
    const refused = await world.run([verb, "--on-exit", "commit", ...rest]);
    assert.equal(refused.code, 1, refused.stderr);
    assert.match(refused.stderr, errors);
    assert.equal(written(world), false);
    const clean = ["run", "--on-exit", "commit", "--", "sh", "-c", "echo hi > README.md"];
    assert.equal((await world.run(clean)).code, 0);
    assert.equal(readFileSync(path.join(world.workspace, "README.md"), "utf8"), "hi\n");
  });
});
