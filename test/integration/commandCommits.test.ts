import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { commandWorlds, type CommandWorld } from "../support/holdfastCommand.ts";
import { git } from "../support/forkFixture.ts";
import { snapshotTree } from "../support/treeSnapshot.ts";

interface Commits {
  readonly ref: string;
  readonly brought: boolean;
  readonly head: string;
  readonly commits: readonly { readonly commit: string; readonly subject: string }[];
}

interface HistoryRow {
  readonly transaction: string;
  readonly commit: string;
  readonly state: string;
  readonly files: number;
  readonly paths: readonly string[];
}

describe("holdfast commits", () => {
  const newWorld = commandWorlds();

  function repository(): CommandWorld {
    const world = newWorld({ "a.txt": "1\n" });
    git(world.workspace, "init", "-q");
    git(world.workspace, "add", ".");
    git(world.workspace, "commit", "-qm", "one");
    return world;
  }

  const agent =
    "git config user.name Agent; git config user.email agent@example.com; " +
    "echo 2 > a.txt; git commit -qam two; echo 3 > a.txt; git commit -qam three";

  /** All of `.git` but our reference and the objects that came with it. */
  const untouched = ({ workspace }: CommandWorld): readonly string[] =>
    snapshotTree(path.join(workspace, ".git"), true).filter(
      (line) => !/^(objects\/|objects$|refs\/ |refs\/holdfast)/.test(line),
    );

  it("lists the agent's own, and brings them to a reference of ours and nowhere else", async () => {
    const world = repository();
    await world.run(["run", "--", "sh", "-c", agent]);
    const before = untouched(world);
    const listed = await world.json<Commits>(["commits", "latest"]);
    assert.deepEqual(
      listed.commits.map(({ subject }) => subject),
      ["three", "two"],
    );
    assert.equal(listed.brought, false);
    const brought = await world.json<Commits>(["commits", "latest", "--bring"]);
    assert.equal(brought.brought, true);
    assert.equal(git(world.workspace, "rev-parse", brought.ref).trim(), listed.head);
    assert.equal(git(world.workspace, "show", `${brought.ref}:a.txt`), "3\n");
    assert.deepEqual(untouched(world), before);
    assert.equal(readFileSync(path.join(world.workspace, "a.txt"), "utf8"), "1\n");
    assert.equal(git(world.workspace, "status", "--porcelain"), "");
    assert.equal((await world.json<Commits>(["commits", "latest"])).brought, true);
    const kinds = (await world.entries())
      .map(({ kind }) => kind)
      .filter((kind) => /^commits\./.test(kind));
    assert.deepEqual(kinds, ["commits.intended", "commits.brought"]);
    const told = await world.run(["commits", "latest", "--bring"]);
    assert.equal(told.code, 0);
    assert.match(told.stdout, /three\n.*two\n$/s);
    assert.match(told.stderr, /2 commits brought to refs\/holdfast\/t\d/);
  });

  it("says so when there are none, or no repository, or the agent still works", async () => {
    const world = repository();
    await world.run(["run", "--", "sh", "-c", "echo 2 > a.txt"]);
    const none = await world.run(["commits", "latest", "--bring"]);
    assert.equal(none.code, 1);
    assert.match(none.stderr, /made no git commits of its own/);

    const plain = newWorld({ "a.txt": "1\n" });
    await plain.run(["run", "--", "sh", "-c", "echo 2 > a.txt"]);
    const nowhere = await plain.run(["commits", "latest"]);
    assert.equal(nowhere.code, 1);
    assert.match(nowhere.stderr, /not a git repository/);

    await plain.json(["run", "--detach", "--", "sh", "-c", "sleep 60"]);
    const early = await plain.run(["commits", "latest", "--bring"]);
    assert.equal(early.code, 1);
    assert.match(early.stderr, /the agent still runs/);
  });

  it("journals what git refuses, and leaves nothing behind", async () => {
    const world = repository();
    const bad =
      'tree=$(git rev-parse HEAD^{tree}); printf "tree %s\\nauthor A <a@example.com 0 +0000\\ncommitter A <a@example.com> 0 +0000\\n\\nbad\\n" "$tree" > /tmp/c; ' +
      "git update-ref HEAD $(git hash-object -t commit -w --literally /tmp/c)";
    await world.run(["run", "--", "sh", "-c", bad]);
    const before = snapshotTree(path.join(world.workspace, ".git"), true);
    const refused = await world.run(["commits", "latest", "--bring"]);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /could not be brought over/);
    const refs = (lines: readonly string[]): readonly string[] =>
      lines.filter((line) => !/^objects/.test(line));
    assert.deepEqual(refs(snapshotTree(path.join(world.workspace, ".git"), true)), refs(before));
    const kinds = (await world.entries())
      .map(({ kind }) => kind)
      .filter((kind) => /^commits\./.test(kind));
    assert.deepEqual(kinds, ["commits.intended", "commits.abandoned"]);
  });
});

describe("holdfast history", () => {
  const newWorld = commandWorlds();

  it("lists commits, and any of them can be undone and brought back by name", async () => {
    const world = newWorld({ "a.txt": "1\n", "b.txt": "1\n" });
    const read = (name: string): string => readFileSync(path.join(world.workspace, name), "utf8");
    assert.deepEqual(await world.json(["history"]), []);
    await world.run(["run", "--", "sh", "-c", "echo 2 > a.txt; echo 2 > b.txt"]);
    await world.run(["commit", "latest", "--path", "a.txt"]);
    await world.run(["commit", "latest"]);
    const rows = await world.json<HistoryRow[]>(["history"]);
    assert.deepEqual(
      rows.map(({ state, files, paths }) => [state, files, paths]),
      [
        ["committed", 1, ["a.txt"]],
        ["committed", 1, ["b.txt"]],
      ],
    );
    const first = rows[0]!.commit;
    writeFileSync(path.join(world.workspace, "c.txt"), "mine\n");
    assert.equal((await world.run(["undo", "latest", "--commit", first])).code, 0);
    assert.deepEqual([read("a.txt"), read("b.txt"), read("c.txt")], ["1\n", "2\n", "mine\n"]);
    const undone = await world.json<HistoryRow[]>(["history", "latest"]);
    assert.deepEqual(
      undone.map(({ state }) => state),
      ["undone", "committed"],
    );
    assert.equal((await world.run(["undo", "latest", "--commit", first])).code, 0);
    assert.equal(read("a.txt"), "2\n");
    const text = await world.run(["history"]);
    assert.match(text.stdout, /committed +1 file {2}a\.txt\n.*committed +1 file {2}b\.txt\n/);
    const unknown = await world.run(["undo", "latest", "--commit", "c9999-000000"]);
    assert.equal(unknown.code, 2);
    assert.match(unknown.stderr, /there is no commit c9999-000000/);
  });
});
