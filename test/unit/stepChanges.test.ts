import assert from "node:assert/strict";
import type { ChangedPath } from "../../src/runtime/ports.ts";
import { stepChanges, type Scanned } from "../../src/runtime/stepChanges.ts";
import { Chance } from "../support/randomTree.ts";

/** Files by path; each has an identity (its stamp) and a content. */
type Tree = ReadonlyMap<string, { readonly stamp: string; readonly content: string }>;

const file = (stamp: string, content: string): { stamp: string; content: string } => ({
  stamp,
  content,
});

/** What a scan would tell: the difference from the base, a deletion and an addition of one content as a rename. */
function scan(base: Tree, shadow: Tree): Scanned {
  const deleted = [...base].filter(([path]) => !shadow.has(path));
  const found: ChangedPath[] = [];
  for (const [path, { stamp, content }] of shadow) {
    const before = base.get(path);
    if (before?.content === content) continue;
    const at = before === undefined ? deleted.findIndex(([, one]) => one.content === content) : -1;
    const [from] = at < 0 ? [] : (deleted.splice(at, 1)[0] ?? []);
    const change = before !== undefined ? "modified" : from === undefined ? "added" : "renamed";
    const source = from === undefined ? {} : { from };
    found.push({ path, change, ...source, stamp, ignored: false, bytes: content.length });
  }
  for (const [path] of deleted) found.push({ path, change: "deleted", ignored: false });
  return new Map(found.map((one) => [one.path, one]));
}

function told(base: Tree, ...shadows: Tree[]): string[][] {
  const scans = [base, ...shadows].map((shadow) => scan(base, shadow));
  return scans.slice(1).map((now, at) =>
    stepChanges(scans[at] ?? new Map(), now).map(({ path, change, from }) => {
      return from === undefined ? `${change} ${path}` : `${change} ${from} → ${path}`;
    }),
  );
}

describe("changes of a step", () => {
  const base: Tree = new Map([
    ["a", file("1", "one")],
    ["b", file("2", "two")],
  ]);
  const without = (tree: Tree, path: string): Tree =>
    new Map([...tree].filter(([name]) => name !== path));

  it("are against the step before it", () => {
    const added = new Map([...base, ["c", file("3", "three")] as const]);
    const edited = new Map([...base, ["c", file("4", "more")] as const]);
    assert.deepEqual(told(base, added, edited, base), [["added c"], ["modified c"], ["deleted c"]]);
  });

  it("tell what is as in the base again", () => {
    const edited = new Map([...base, ["a", file("3", "new")] as const]);
    assert.deepEqual(told(base, edited, base), [["modified a"], ["modified a"]]);
    assert.deepEqual(told(base, without(base, "a"), base), [["deleted a"], ["added a"]]);
  });

  it("follow a file that is renamed twice, and back", () => {
    const once = new Map([...without(base, "a"), ["x", file("5", "one")] as const]);
    const twice = new Map([...without(base, "a"), ["y", file("6", "one")] as const]);
    assert.deepEqual(told(base, once, twice, base), [
      ["renamed a → x"],
      ["renamed x → y"],
      ["renamed y → a"],
    ]);
  });

  it("do not take a copy for a rename when the first file goes later", () => {
    const copied = new Map([...base, ["x", file("5", "one")] as const]);
    assert.deepEqual(told(base, copied, without(copied, "a")), [["added x"], ["deleted a"]]);
    const later = new Map([...without(base, "a"), ["x", file("5", "one")] as const]);
    assert.deepEqual(told(base, without(base, "a"), later), [["deleted a"], ["added x"]]);
  });

  it("lead from each tree to the next, whatever happens", () => {
    const chance = new Chance(20261130);
    const pick = (): string => chance.pick(["a", "b", "c", "d", "e"]);
    const initial: Tree = new Map([
      ["a", file("1", "x")],
      ["b", file("2", "y")],
      ["c", file("3", "z")],
    ]);
    for (let round = 0; round < 3000; round += 1) {
      let shadow = new Map(initial);
      let before = scan(initial, shadow);
      let stamp = 10;
      for (let step = 0; step < 6; step += 1) {
        const was = new Set(shadow.keys());
        const earlier = new Map(shadow);
        shadow = new Map(shadow);
        for (let act = chance.below(3); act >= 0; act -= 1) {
          const [from, to] = [pick(), pick()];
          const kind = chance.below(4);
          const moved = shadow.get(from);
          stamp += 1;
          if (kind === 0) shadow.delete(from);
          else if (kind === 1 && moved !== undefined && from !== to) {
            shadow.delete(from);
            shadow.set(to, file(String(stamp), moved.content));
          } else shadow.set(from, file(String(stamp), chance.pick(["x", "y", "z", "v", "w"])));
        }
        const now = scan(initial, shadow);
        const changes = stepChanges(before, now);
        const where = `round ${round} step ${step}: ${JSON.stringify(changes)}`;
        const touched = new Set(changes.flatMap(({ path, from }) => [path, from ?? path]));
        for (const { path, change, from } of changes) {
          if (from !== undefined) assert.ok(was.delete(from), where);
          if (change === "deleted") assert.ok(was.delete(path), where);
          if (change === "modified") assert.ok(was.has(path), where);
        }
        for (const { path, change } of changes) {
          if (change !== "added" && change !== "renamed") continue;
          assert.ok(!was.has(path), where);
          was.add(path);
        }
        assert.deepEqual([...was].sort(), [...shadow.keys()].sort(), where);
        for (const [path, { content }] of shadow) {
          const same = earlier.get(path)?.content === content;
          assert.ok(same || touched.has(path), `${where}: ${path} is not told`);
        }
        before = now;
      }
    }
  });
});
