import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { recoverTransaction } from "../../src/runtime/commit/recoverWorkspace.ts";
import { WorkspaceTarget } from "../../src/node/publish/publishTarget.ts";
import { nativeBuild, sanitizerEnv } from "./nativeBuild.ts";
import { PublishFixture, type Planted } from "./publishFixture.ts";
import { snapshotTree } from "./treeSnapshot.ts";

const base: Readonly<Record<string, Planted>> = {
  edited: "1\n2\n3\n4\n5\n6\n7\n8\n9\n",
  "gone/away/last": "x\n",
  "gone/first": "x\n",
  mode: { content: "x\n", mode: 0o644 },
  "sub/link": { linkTo: "edited" },
  "sub/moved": "a\nb\nc\n",
  thing: "file\n",
  untouched: "u\n",
};

export const crashRenames = { "deep/er/moved": "sub/moved" };

/** A transaction with one of every kind of change, and an edit of the person beside it. */
export function crashFixture(
  native: string,
  env: Readonly<Record<string, string>>,
): PublishFixture {
  const fixture = new PublishFixture(base, { native, env });
  fixture.agent({
    edited: "one\n2\n3\n4\n5\n6\n7\n8\n9\n",
    gone: null,
    mode: { content: "x\n", mode: 0o755 },
    "sub/link": { linkTo: "untouched" },
    "sub/moved": null,
    "deep/er/moved": "a\nb\nc\n",
    "deep/er/new": "n\n",
    thing: null,
    "thing/inside": "in\n",
    "locked/file": "l\n",
  });
  fixture.person({ edited: "1\n2\n3\n4\n5\n6\n7\n8\nnine\n", "mine/own": "o\n" });
  return fixture;
}

/** What the workspace is after the whole commit, found by doing it without any fault. */
export async function wholeCommit(): Promise<readonly string[]> {
  using fixture = crashFixture(nativeBuild("plain"), {});
  await fixture.commit();
  return snapshotTree(fixture.workspace);
}

/** Recovers without faults and checks what must hold then. Gives which of the two states came out. */
export async function checkRecovered(
  fixture: PublishFixture,
  before: readonly string[],
  after: readonly string[],
  label: string,
): Promise<"before" | "after"> {
  fixture.target = new WorkspaceTarget({
    workspace: fixture.workspace,
    state: fixture.state,
    program: { path: nativeBuild("plain"), env: sanitizerEnv() },
  });
  await recoverTransaction(fixture.target, fixture.journal);
  const found = snapshotTree(fixture.workspace);
  const records = await fixture.target.records();
  const whole = records.length > 0;
  assert.deepEqual(found, whole ? after : before, label);
  const kept = path.join(fixture.state, "commits");
  const names = existsSync(kept) ? readdirSync(kept) : [];
  assert.deepEqual(
    names,
    records.map(({ commit }) => commit),
    `${label}: leftovers`,
  );
  assert.deepEqual(
    readdirSync(fixture.root).filter((name) => name.startsWith(".")),
    [],
    label,
  );
  const last = fixture.journal.kinds.filter((kind) => kind !== "alert").at(-1);
  assert.equal(
    last ?? "none",
    whole ? "published" : last === undefined ? "none" : "abandoned",
    label,
  );
  assert.deepEqual(
    await recoverTransaction(fixture.target, fixture.journal),
    [],
    `${label}: again`,
  );
  return whole ? "after" : "before";
}
