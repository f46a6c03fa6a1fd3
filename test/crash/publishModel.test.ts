import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { ConflictFailure } from "../../src/runtime/commit/conflictFailure.ts";
import type { PathChoice } from "../../src/runtime/commit/chosenChange.ts";
import { plant, PublishFixture, quickFolder } from "../support/publishFixture.ts";
import {
  Chance,
  editTree,
  randomTree,
  type RandomNode,
  type RandomTree,
} from "../support/randomTree.ts";

/**
 * The oracle knows nothing of our merge: plain rules for trees, and `git merge-file` for contents. "conflict" where a
 * person must choose.
 */
class Oracle {
  readonly #folder = mkdtempSync(path.join(quickFolder(), "holdfast-oracle-"));

  merge(
    base: RandomNode | undefined,
    host: RandomNode | undefined,
    shadow: RandomNode | undefined,
  ): RandomNode | undefined | "conflict" {
    if (same(shadow, base) || same(host, shadow)) return host;
    if (same(host, base)) return shadow;
    if (base === undefined || host === undefined || shadow === undefined) return "conflict";
    if (!("content" in base) || !("content" in host) || !("content" in shadow)) return "conflict";
    const mode = mergeValue(base.mode, host.mode, shadow.mode);
    const content = this.#content(base.content, host.content, shadow.content);
    return mode === undefined || content === undefined ? "conflict" : { content, mode };
  }

  #content(base: string, host: string, shadow: string): string | undefined {
    const easy = mergeValue(base, host, shadow);
    if (easy !== undefined) return easy;
    if ([base, host, shadow].some((text) => text.includes("\0"))) return undefined;
    const files = [host, base, shadow].map((text, at) => {
      const file = path.join(this.#folder, String(at));
      writeFileSync(file, text, "latin1");
      return file;
    });
    const run = spawnSync("git", ["merge-file", "-p", ...files], { encoding: "latin1" });
    return run.status === 0 ? run.stdout : undefined;
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

function mergeValue<T>(base: T, host: T, shadow: T): T | undefined {
  if (host === shadow || shadow === base) return host;
  return host === base ? shadow : undefined;
}

function same(left: RandomNode | undefined, right: RandomNode | undefined): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}

/** The files and links of a directory. */
function readTree(root: string): RandomTree {
  const tree = new Map<string, RandomNode>();
  const visit = (below: string): void => {
    for (const name of readdirSync(path.join(root, below)).sort()) {
      const at = path.join(below, name);
      const stat = lstatSync(path.join(root, at));
      if (stat.isDirectory()) visit(at);
      else if (stat.isSymbolicLink()) tree.set(at, { linkTo: readlinkSync(path.join(root, at)) });
      else
        tree.set(at, {
          content: readFileSync(path.join(root, at), "latin1"),
          mode: stat.mode & 0o777,
        });
    }
  };
  visit("");
  return tree;
}

function write(root: string, from: RandomTree, to: RandomTree): void {
  for (const name of new Set([...from.keys(), ...to.keys()])) {
    const node = to.get(name);
    if (same(from.get(name), node)) continue;
    const planted =
      node === undefined
        ? null
        : "content" in node
          ? { ...node, content: Buffer.from(node.content, "latin1") }
          : node;
    plant(root, { [name]: planted });
  }
}

const sorted = (tree: RandomTree): readonly (readonly [string, RandomNode])[] =>
  [...tree].sort(([left], [right]) => (left < right ? -1 : 1));

async function round(
  seed: number,
  oracle: Oracle,
): Promise<{ readonly conflicts: number; readonly merged: number }> {
  const chance = new Chance(seed);
  const base = randomTree(chance);
  const shadow = editTree(chance, base, seed);
  const host = editTree(chance, base, seed);
  using fixture = new PublishFixture({});
  for (const root of [fixture.workspace, fixture.base, fixture.shadow])
    write(root, new Map(), base);
  write(fixture.shadow, base, shadow);
  write(fixture.workspace, base, host);

  const choices = new Map<string, PathChoice>();
  const expected = new Map<string, RandomNode>();
  for (const name of new Set([...base.keys(), ...shadow.keys(), ...host.keys()])) {
    let result = oracle.merge(base.get(name), host.get(name), shadow.get(name));
    if (result === "conflict") {
      const take = chance.pick(["mine", "theirs"] as const);
      choices.set(name, { take });
      result = take === "mine" ? host.get(name) : shadow.get(name);
    }
    if (result !== undefined) expected.set(name, result);
  }
  if (choices.size > 0) {
    const failure: unknown = await fixture.commit().catch((error: unknown) => error);
    assert(failure instanceof ConflictFailure, `seed ${seed}: ${String(failure)}`);
    assert.deepEqual(
      failure.conflicts.map(({ path: at }) => at).sort(),
      [...choices.keys()].sort(),
      `seed ${seed}`,
    );
    assert.deepEqual(
      sorted(readTree(fixture.workspace)),
      sorted(host),
      `seed ${seed}: nothing written`,
    );
  }
  const all = { includeRunsLater: true, includeIgnored: true };
  const { merged } = await fixture.commit(all, choices);
  assert.deepEqual(
    sorted(readTree(fixture.workspace)),
    sorted(expected),
    `seed ${seed}: committed`,
  );
  await undoAfterEdits(fixture, chance, host, expected, seed, oracle);
  return { conflicts: choices.size, merged };
}

/** The person edits on, then undoes: their edits stay, the commit's go; or a conflict, and nothing changes. */
async function undoAfterEdits(
  fixture: PublishFixture,
  chance: Chance,
  host: RandomTree,
  committed: RandomTree,
  seed: number,
  oracle: Oracle,
): Promise<void> {
  const later = chance.happens(0.5) ? editTree(chance, committed, seed) : committed;
  write(fixture.workspace, committed, later);
  const expected = new Map<string, RandomNode>();
  let conflict = false;
  for (const name of new Set([...host.keys(), ...committed.keys(), ...later.keys()])) {
    const result = oracle.merge(committed.get(name), later.get(name), host.get(name));
    if (result === "conflict") conflict = true;
    else if (result !== undefined) expected.set(name, result);
  }
  const records = await fixture.target.records();
  if (records.length === 0) return;
  const failure: unknown = await fixture.undo().then(
    () => undefined,
    (error: unknown) => error,
  );
  assert.equal(
    failure instanceof ConflictFailure,
    conflict,
    `seed ${seed}: undo: ${String(failure)}`,
  );
  assert.deepEqual(
    sorted(readTree(fixture.workspace)),
    sorted(conflict ? later : expected),
    `seed ${seed}: undone`,
  );
}

describe("commit and undo, against plain tree rules and git merge-file", function () {
  this.timeout(300_000);
  const rounds = Number(process.env["HOLDFAST_ROUNDS"] ?? "60");
  const oracle = new Oracle();
  const totals = { conflicts: 0, merged: 0 };

  after(() => oracle[Symbol.dispose]());

  for (let part = 0; part < 10; part++) {
    it(`seeds ${part * rounds + 1} to ${(part + 1) * rounds}`, async () => {
      for (let seed = part * rounds + 1; seed <= (part + 1) * rounds; seed++) {
        const { conflicts, merged } = await round(seed, oracle);
        totals.conflicts += conflicts;
        totals.merged += merged;
      }
    });
  }

  it("met conflicts and merges enough to say something", () => {
    assert(totals.conflicts > rounds && totals.merged > rounds, JSON.stringify(totals));
  });
});
