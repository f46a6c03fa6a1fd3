import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import path from "node:path";
import fc from "fast-check";
import { abilitiesOf } from "../../src/node/fork/probeForks.ts";
import { workspaces } from "../../src/node/fork/workspaces.ts";
import type { Fork } from "../../src/runtime/ports.ts";
import { ForkFixture, type ForkedFixture } from "../support/forkFixture.ts";
import { forkPlaces, PlacedFixture, type ForkPlace } from "../support/forkPlaces.ts";
import { actOn, oracleLines, randomRuns, someEdit, someTree } from "../support/treeOracle.ts";

async function linesOf(forked: ForkedFixture): Promise<string[]> {
  const changes = await forked.changes();
  return changes
    .flatMap((one) =>
      one.change === "renamed"
        ? [`deleted ${one.from ?? ""}`, `added ${one.path}`]
        : [`${one.change} ${one.path}`],
    )
    .sort();
}

describe("fork: every difference on every backend, against an independent walk", () => {
  function check(place: ForkPlace): void {
    describe(place.name, () => {
      let placed: PlacedFixture;
      let fixture: ForkFixture;
      before(() => {
        placed = new PlacedFixture(place);
        fixture = placed.fixture;
      });
      after(() => placed[Symbol.dispose]());

      it("random trees and edits", async () => {
        const edits = fc.array(someEdit, { maxLength: 20 });
        const property = fc.asyncProperty(someTree, edits, async (tree, later) => {
          placed.empty();
          const base = actOn(fixture.workspace, tree);
          const forked = await fixture.fork(place.backend);
          const untouched = actOn(forked.fork.shadow, [], forked.fork.overlays);
          assert.deepEqual(untouched, base);
          assert.deepEqual(await linesOf(forked), []);
          const shadow = actOn(forked.fork.shadow, later, forked.fork.overlays);
          assert.deepEqual(await linesOf(forked), oracleLines(base, shadow));
          assert.deepEqual(actOn(fixture.workspace, []), base);
          await forked.remove();
          assert.deepEqual(readdirSync(forked.paths.root).sort(), ["door", "state"]);
        });
        await fc.assert(property, { numRuns: randomRuns(4) });
      });

      it("reads both sides as they are", async () => {
        placed.empty();
        fixture.write("dir/file", "one");
        fixture.write("dir/gone", "two");
        fixture.write("other/x", "three");
        const forked = await fixture.fork(place.backend);
        const edits = [
          { act: "write", path: "dir/file", content: "changed" },
          { act: "remove", path: "dir/gone" },
          { act: "remove", path: "other" },
          { act: "mkdir", path: "other" },
          { act: "write", path: "other/y", content: "new" },
        ] as const;
        actOn(forked.fork.shadow, edits, forked.fork.overlays);
        await forked.changes();
        const { reader } = forked;
        const text = async (side: "base" | "shadow", at: string): Promise<string | undefined> => {
          const bytes = await reader.read(side, at);
          return bytes === undefined ? undefined : Buffer.from(bytes).toString();
        };
        assert.equal(await text("base", "dir/file"), "one");
        assert.equal(await text("shadow", "dir/file"), "changed");
        assert.equal(await text("base", "dir/gone"), "two");
        assert.equal(await text("shadow", "dir/gone"), undefined);
        assert.equal(await text("shadow", "other/x"), undefined);
        assert.deepEqual(await reader.list("shadow", "other"), ["y"]);
        assert.deepEqual(await reader.list("base", "other"), ["x"]);
        assert.deepEqual(await reader.list("shadow", "dir"), ["file"]);
        assert.equal((await reader.stat("shadow", "dir"))?.type, "directory");
        await forked.remove();
      });
    });
  }
  for (const place of forkPlaces) check(place);
});

describe("fork: a heavy ignored directory", () => {
  it("comes in as an overlay, and its changes are told", async () => {
    using fixture = new ForkFixture();
    execFileSync("git", ["init", "-q"], { cwd: fixture.workspace });
    fixture.write(".gitignore", "node_modules/\n");
    for (let i = 0; i < 410; i++) fixture.write(`node_modules/p${i % 10}/f${i}.js`, `${i}`);
    fixture.write("node_modules/.env", "TOKEN=very-secret-1\n");
    fixture.write("a.txt", "a");
    const forked = await fixture.fork("clone");
    assert.deepEqual(
      forked.fork.overlays.map(({ at }) => at),
      ["node_modules"],
    );
    const edits = [
      { act: "write", path: "node_modules/p1/f1.js", content: "edited" },
      { act: "remove", path: "node_modules/p2/f2.js" },
      { act: "write", path: "node_modules/new.js", content: "new" },
      { act: "write", path: "a.txt", content: "b" },
    ] as const;
    const seen = actOn(forked.fork.shadow, edits, forked.fork.overlays);
    assert.equal(seen.has("node_modules/p3/f3.js"), true);
    assert.deepEqual(await forked.changeLines(), [
      "modified a.txt",
      "added node_modules/new.js (ignored)",
      "modified node_modules/p1/f1.js (ignored)",
      "deleted node_modules/p2/f2.js (ignored)",
    ]);
    const shadow = await forked.reader.read("shadow", "node_modules/.env");
    assert.equal(Buffer.from(shadow!).toString(), "TOKEN=$HOLDFAST_SECRET_TOKEN\n");
    assert.equal(path.dirname(forked.fork.overlays[0]!.upper).startsWith(forked.paths.root), true);
    await forked.remove();
  });
});
describe("fork: files that are brought over one by one", () => {
  it("leave whoever asked free to do something else, who is told before they are there", async () => {
    using fixture = new ForkFixture();
    for (const name of ["a", "b", "c"]) fixture.write(name, name);
    const { workspace } = fixture;
    for (const backend of ["clone", "copy"] as const) {
      const order: string[] = [];
      await fixture.port.fork({
        ...{ workspace, paths: fixture.paths(), backend },
        onProgress: () => undefined,
        onWaiting: () => order.push("waiting"),
        signal: new AbortController().signal,
      });
      order.push("forked");
      assert.deepEqual(order, ["waiting", "forked"], backend);
    }
  });
});
describe("fork: a tree too large to be copied", () => {
  it("is overlaid by auto, which says so and what an overlay cannot do before anything runs", async () => {
    using fixture = new ForkFixture();
    for (const name of ["a", "b", "c"]) fixture.write(name, name);
    execFileSync("git", ["init", "-q"], { cwd: fixture.workspace });
    execFileSync("git", ["add", "a", "b"], { cwd: fixture.workspace });
    const { workspace, nativePath } = fixture;
    const said: string[] = [];
    const forkOf = (large: number): Promise<Fork> =>
      workspaces({ nativePath, large }).fork({
        ...{ workspace, paths: fixture.paths(), backend: "auto" },
        onProgress: (line) => said.push(line),
        signal: new AbortController().signal,
      });
    assert.notEqual((await forkOf(3)).backend, "overlay");
    assert.deepEqual(said, []);
    const found = await abilitiesOf(nativePath, fixture.home);
    const { backend } = await forkOf(2);
    if (found.share === true || found.overlay !== true) {
      assert.notEqual(backend, "overlay");
    } else {
      assert.equal(backend, "overlay");
      assert.match(said.join("\n"), /^an overlay, because 2 files .*\n.*EXDEV.*\n.*show through/);
    }
  });
});
describe("fork: a snapshot of what is not on btrfs", () => {
  it("is refused in words that say so, and what to take", async () => {
    using fixture = new ForkFixture();
    const abilities = await abilitiesOf(fixture.nativePath, fixture.home);
    if (abilities.subvolume === true) return; // the temporary files are on btrfs
    fixture.write("a.txt", "a\n");
    await assert.rejects(fixture.fork("snapshot"), {
      code: "backend-unavailable",
      message: `the backend snapshot cannot be used here: ${JSON.stringify(fixture.workspace)} is not on btrfs`,
      fix: "take --backend auto",
    });
    const left = readdirSync(path.join(fixture.home, "transactions/t1"));
    assert.deepEqual(left.sort(), ["door", "state"]);
  });
});
