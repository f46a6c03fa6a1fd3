import assert from "node:assert/strict";
import path from "node:path";
import { commandWorlds, type CommandWorld } from "../support/holdfastCommand.ts";

const program = path.resolve(import.meta.dirname, "../support/oddCalls.mjs");

interface Said {
  readonly tool: string;
  readonly isError: boolean;
  readonly text: string;
  readonly code?: number;
}

/** What an agent is told that makes these calls, each a tool and its arguments. */
async function answersTo(world: CommandWorld, calls: readonly unknown[]): Promise<readonly Said[]> {
  const words = ["run", "--agent", "scripted", "--", "node", program, JSON.stringify(calls)];
  const { code, stdout, stderr } = await world.run(words);
  assert.equal(code, 0, stderr);
  const lines = stdout.trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line) as Said);
}

describe("Holdfast's own MCP server before an agent that means no good", () => {
  const newWorld = commandWorlds();

  it("decides nothing, tells nothing of other files, and its words do not steer a terminal", async () => {
    const world = newWorld({ "hello.txt": "hello\n" });
    const paths = [
      "../../../../etc/passwd",
      "/etc/passwd",
      "sub/../../../etc/shadow",
      "a\0b",
      "--output=/tmp/x",
      ".git/config",
      "",
      "x".repeat(100_000),
    ];
    const unknown = ["../x", "__proto__", "constructor", "", "x".repeat(10_000)];
    const none = ["commit", "approve", "discard", "deny", "__proto__", "constructor", "toString"];
    const calls = [
      ...paths.map((one) => ["diff", { path: one }]),
      ...unknown.map((to) => ["restore", { to }]),
      ["restore", { to: 7 }],
      ...none.map((tool) => [tool, {}]),
      ["savepoint", { name: "y".repeat(201) }],
      ["savepoint", { name: "\u001b[2Jgood\u202e" }],
    ];
    const said = await answersTo(world, calls);
    assert.equal(said.length, calls.length);
    for (const { text } of said.slice(0, paths.length)) assert.equal(text, "no difference");
    for (const one of said.slice(paths.length, -1)) assert.ok(one.isError, JSON.stringify(one));
    assert.equal(said.at(-1)?.isError, false);

    const entries = await world.entries();
    const kinds = new Set(entries.map(({ kind }) => kind));
    for (const kind of ["hold.decided", "savepoint.restored", "commit.intended"] as const)
      assert.ok(!kinds.has(kind), kind);
    for (const verb of ["savepoints", "timeline"]) {
      const shown = await world.run([verb, "latest"]);
      assert.match(shown.stdout, /good/, verb);
      assert.doesNotMatch(shown.stdout, /[\u0000-\u0008\u000b-\u001f\u202e]/, verb);
    }
  }).timeout(60_000);

  it("says in one sentence what is wrong with a request's shape, and goes on", async () => {
    const world = newWorld({ "hello.txt": "hello\n" });
    const params = { name: "diff", arguments: {} };
    const wrong = [
      ["diff", "x", "tools/call: arguments must be an object, and is a string"],
      ["diff", [], "tools/call: arguments must be an object, and is an array"],
      ["diff", null, "tools/call: arguments must be an object, and is null"],
      ["diff", 7, "tools/call: arguments must be an object, and is a number"],
      [7, {}, "tools/call: name must be a string, and is a number"],
      ["raw", "tools/call", "tools/call: name must be a string, and is missing", {}],
      ["raw", "tools/list", "tools/list: cursor must be a string, and is a number", { cursor: 7 }],
      [
        ...["raw", "tools/call", "tools/call: task.ttl must be a number, and is a string"],
        { ...params, task: { ttl: "x" } },
      ],
      [
        ...["raw", "initialize", "initialize: protocolVersion must be a string, and is missing"],
        {},
      ],
    ];
    const asked = wrong.map(([tool, given, , raw]) =>
      raw === undefined ? [tool, given] : [tool, given, raw],
    );
    const calls = [...asked, ["diff", {}]];
    const said = await answersTo(world, calls);
    assert.deepEqual(
      said.slice(0, -1).map(({ code: number, text }) => [number, text]),
      wrong.map(([, , sentence]) => [-32602, sentence]),
    );
    assert.equal(said.at(-1)?.text, "no difference");
  }).timeout(60_000);

  it("refuses what is nested without end, and goes on", async () => {
    const world = newWorld({ "hello.txt": "hello\n" });
    const calls = [
      ["deep", 10_000],
      ["deep", 501],
      ["diff", {}],
    ];
    const said = await answersTo(world, calls);
    const why = "a message may be nested at most 500 levels deep";
    assert.deepEqual(
      said.map(({ code: number, text }) => [number, text]),
      [
        [-32600, why],
        [-32600, why],
        [undefined, "no difference"],
      ],
    );
  }).timeout(60_000);

  it("shows the difference of a file that is named from the root", async () => {
    const world = newWorld({ "hello.txt": "hello\n" });
    const calls = ["hello.txt", path.join(world.workspace, "hello.txt")].map((one) => [
      "diff",
      { path: one },
    ]);
    const script = 'echo changed > hello.txt; exec node "$0" "$1"';
    const words = ["sh", "-c", script, program, JSON.stringify(calls)];
    const { code, stdout, stderr } = await world.run([
      "run",
      "--agent",
      "scripted",
      "--",
      ...words,
    ]);
    assert.equal(code, 0, stderr);
    const said = stdout.trimEnd().split("\n");
    assert.equal(said.length, 2);
    for (const one of said) assert.match(one, /\+changed/);
  }).timeout(60_000);
});
