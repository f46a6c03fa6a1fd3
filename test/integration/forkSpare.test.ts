import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import fc from "fast-check";
import { makeSpare, removeSpares, spareRow } from "../../src/node/fork/spare.ts";
import { workspaces } from "../../src/node/fork/workspaces.ts";
import { ForkedFixture, ForkFixture, git } from "../support/forkFixture.ts";
import { nativeBuild } from "../support/nativeBuild.ts";
import { actOn, randomRuns, someEdit, someTree, type TreeEdit } from "../support/treeOracle.ts";

/** As of a large clone, so that a spare pays. */
const last = { backend: "clone", files: 100_000, bytes: 1 } as const;

function spare(
  fixture: ForkFixture,
  signal = new AbortController().signal,
  nativePath = fixture.nativePath,
): Promise<boolean> {
  const { workspace } = fixture;
  return makeSpare({ nativePath, workspace, paths: fixture.paths(), last, signal });
}

function sparesOf(fixture: ForkFixture): readonly string[] {
  const directory = path.join(fixture.home, "spares");
  return existsSync(directory) ? readdirSync(directory) : [];
}

/** What a program does that wants to be taken for nobody: same size, same times. */
function editUnseen(file: string): void {
  const { size, mtimeNs } = statSync(file, { bigint: true });
  const like = `${file}.like`;
  execFileSync("cp", ["-p", file, like]);
  writeFileSync(file, "~".repeat(Number(size)));
  execFileSync("touch", ["-r", like, file]);
  execFileSync("rm", [like]);
  assert.equal(statSync(file, { bigint: true }).mtimeNs, mtimeNs);
}

/** The native program, which goes wrong as told where it has a spare, and where it has none. */
function faultyProgram(fixture: ForkFixture, spared: string, cold: string): { nativePath: string } {
  const at = (name: string): string => path.join(fixture.root, name);
  for (const [name, fault] of Object.entries({ spared, cold }))
    writeFileSync(at(name), `clone:${fault}\n`);
  const script = `#!/bin/sh
case "$*" in *" --spare "*) from='${at("spared")}' ;; *) from='${at("cold")}' ;; esac
read -r HOLDFAST_FAULT < "$from"
export HOLDFAST_FAULT
exec '${nativeBuild("faults")}' "$@"
`;
  const nativePath = at("faulty");
  if (!existsSync(nativePath)) writeFileSync(nativePath, script, { mode: 0o755 });
  return { nativePath };
}

async function checkExact(fixture: ForkFixture, forked: ForkedFixture): Promise<void> {
  const workspace = actOn(fixture.workspace, []);
  assert.deepEqual(actOn(forked.fork.shadow, [], forked.fork.overlays), workspace);
  assert.deepEqual(await forked.changeLines(), []);
  for (const [one, seen] of workspace) {
    if (!seen.startsWith("f")) continue;
    const base = await forked.reader.read("base", one);
    const shadow = await forked.reader.read("shadow", one);
    assert.deepEqual(base, shadow, one);
  }
}

describe("fork: a spare clone", function () {
  this.timeout(120_000);

  it("becomes the next fork, once; what has changed meanwhile is made anew", async () => {
    using fixture = new ForkFixture();
    const { workspace } = fixture;
    const secret = "s3cr3t-value-0001";
    git(workspace, "init", "-q");
    fixture.write(".gitignore", "out/\n");
    for (let i = 0; i < 40; i++) fixture.write(`src/f${i}.txt`, `content ${i}\n`);
    fixture.write("old.env", `API_KEY=${secret}\n`);
    git(workspace, "add", ".");
    git(workspace, "commit", "-qm", "one");
    assert.equal(await spare(fixture), true);
    assert.equal(await spare(fixture), true);
    assert.equal(sparesOf(fixture).length, 1);

    editUnseen(path.join(workspace, "src/f1.txt"));
    renameSync(path.join(workspace, "src/f2.txt"), path.join(workspace, "src/f3.txt"));
    execFileSync("chmod", ["755", path.join(workspace, "src/f4.txt")]);
    linkSync(path.join(workspace, "src/f5.txt"), path.join(workspace, "linked"));
    fixture.write("out/new", "ignored\n");
    fixture.write("src/f6.txt", `token: ghp_${"a1B2".repeat(9)}\n`);
    fixture.write("app/.env", `API_KEY=${secret}\n`);
    const forked = await fixture.fork();
    assert.equal(forked.fork.spare, true);
    const refreshed = forked.fork.refreshed ?? 0;
    assert.ok(refreshed >= 7 && refreshed < 30, `${refreshed} of ${forked.fork.files}`);
    const held = execFileSync("sh", [
      "-c",
      'grep -rlE "$1" "$2" || true',
      "sh",
      `${secret}|ghp_`,
      forked.fork.shadow,
    ]);
    assert.equal(held.toString(), "");
    assert.deepEqual(await forked.changeLines(), []);
    assert.equal(readFileSync(forked.at("src/f1.txt"), "utf8"), "~".repeat(10));
    assert.equal(git(forked.fork.shadow, "log", "--format=%s"), "one\n");
    assert.equal(statSync(forked.at("src/f5.txt")).ino, statSync(forked.at("linked")).ino);
    writeFileSync(forked.at("src/f7.txt"), "edited\n");
    assert.deepEqual(await forked.changeLines(), ["modified src/f7.txt"]);
    const base = await forked.reader.read("base", "src/f7.txt");
    assert.equal(Buffer.from(base!).toString(), "content 7\n");

    assert.deepEqual(sparesOf(fixture), []);
    assert.equal((await fixture.fork()).fork.spare, undefined);
    await forked.remove();
    assert.deepEqual(readdirSync(forked.paths.root).sort(), ["door", "state"]);
  });

  it("stays where it is as it is; what it has and the workspace has not goes, in every folder", async () => {
    using fixture = new ForkFixture();
    const { workspace, home } = fixture;
    for (const at of ["kept/a", "kept/b/c", "gone/a/b", "shut/a", "opens/a", "file/a", "link/a"])
      fixture.write(at, `in ${at}\n`);
    fixture.write("folder", "a file yet\n");
    symlinkSync("kept/a", path.join(workspace, "same"));
    symlinkSync("kept/a", path.join(workspace, "other"));
    const withAttributes = spawnSync("getfattr", ["--version"]).status === 0;
    const attribute = (args: readonly string[]): void => {
      if (withAttributes) execFileSync("setfattr", [...args, path.join(workspace, "kept")]);
    };
    for (const name of ["user.old", "user.both"]) attribute(["-n", name, "-v", "there"]);
    chmodSync(path.join(workspace, "shut"), 0o755);
    chmodSync(path.join(workspace, "opens"), 0o500);
    assert.equal(await spare(fixture), true);
    const shadow = path.join(home, "spares", sparesOf(fixture)[0] ?? "", "shadow");
    const inode = (root: string, at: string): bigint =>
      lstatSync(path.join(root, at), { bigint: true }).ino;
    const stay = ["kept", "kept/b", "kept/b/c", "same"];
    const were = stay.map((at) => inode(shadow, at));
    writeFileSync(path.join(shadow, "kept/b/of-nobody"), "in no manifest\n");
    mkdirSync(path.join(shadow, "kept/of-nobody/below"), { recursive: true });

    attribute(["-x", "user.old"]);
    attribute(["-n", "user.new", "-v", "there"]);
    chmodSync(path.join(workspace, "shut"), 0o500);
    chmodSync(path.join(workspace, "opens"), 0o755);
    for (const at of ["gone", "file", "link", "folder", "other"])
      rmSync(path.join(workspace, at), { recursive: true });
    fixture.write("file", "a folder once\n");
    symlinkSync("kept", path.join(workspace, "link"));
    symlinkSync("kept/b", path.join(workspace, "other"));
    fixture.write("folder/a", "a file once\n");
    const forked = await fixture.fork("clone");
    assert.equal(forked.fork.spare, true);
    assert.deepEqual(
      stay.map((at) => inode(forked.fork.shadow, at)),
      were,
    );
    await checkExact(fixture, forked);
    if (!withAttributes) return;
    const kept = forked.at("kept");
    const attributes = execFileSync("getfattr", ["--absolute-names", "-d", kept]).toString();
    assert.deepEqual(attributes.match(/user\.\w+/g), ["user.both", "user.new"]);
  });

  it("never makes a stale fork, whatever was done to the workspace since", async () => {
    using fixture = new ForkFixture();
    const unseen: fc.Arbitrary<TreeEdit> = fc.record({
      act: fc.constant("touch" as const),
      path: fc.constantFrom("a", "b", "dir/a", "a/b"),
    });
    const edits = fc.array(fc.oneof(someEdit, unseen), { maxLength: 15 });
    const property = fc.asyncProperty(someTree, edits, fc.boolean(), async (tree, later, sly) => {
      execFileSync(fixture.nativePath, ["remove", fixture.workspace]);
      mkdirSync(fixture.workspace);
      actOn(fixture.workspace, [...tree, { act: "write", path: "always", content: "there" }]);
      assert.equal(await spare(fixture), true);
      actOn(fixture.workspace, later);
      const always = path.join(fixture.workspace, "always");
      if (sly && statSync(always, { throwIfNoEntry: false })?.isFile() === true) editUnseen(always);
      const forked = await fixture.fork("clone");
      await checkExact(fixture, forked);
      await forked.remove();
      assert.deepEqual(sparesOf(fixture), []);
    });
    await fc.assert(property, { numRuns: randomRuns(6) });
  });

  it("a fork that fails with one leaves nothing; what is killed over one, or damaged, is as none", async () => {
    using fixture = new ForkFixture();
    for (let i = 0; i < 3; i++) fixture.write(`src/f${i}.txt`, `content ${i}\n`);
    const before = actOn(fixture.workspace, []);
    const forkWith = async (spared: string, cold: string): Promise<ForkedFixture | undefined> => {
      const { nativePath } = faultyProgram(fixture, "", "");
      assert.equal(await spare(fixture, undefined, nativePath), true);
      faultyProgram(fixture, spared, cold);
      const { workspace, root } = fixture;
      const paths = fixture.paths();
      writeFileSync(path.join(workspace, "src/new"), "not in the spare\n");
      rmSync(path.join(workspace, "src/f2.txt"));
      const { signal } = new AbortController();
      const request = { workspace, backend: "clone", signal, paths } as const;
      const fork = await workspaces({ nativePath })
        .fork({ ...request, onProgress: () => undefined })
        .catch((error: unknown) => (cold === "" ? Promise.reject(error as Error) : undefined));
      assert.deepEqual(sparesOf(fixture), []);
      if (fork === undefined) assert.deepEqual(readdirSync(paths.root).sort(), ["door", "state"]);
      const forked = fork && new ForkedFixture(fixture, fork, paths);
      if (forked !== undefined) await checkExact(fixture, forked);
      rmSync(path.join(root, "work/src/new"));
      fixture.write("src/f2.txt", "content 2\n");
      return forked;
    };
    for (const fault of ["once:5:3", "from:5:6", "from:28:4", "kill:6"])
      assert.equal(await forkWith(fault, fault), undefined, fault);
    let killed = 0;
    for (let done = false; !done; killed++) {
      const forked = await forkWith(`kill:${1 + 8 * killed}`, "");
      done = forked?.fork.spare === true;
      await forked?.remove();
    }
    assert.ok(killed > 4, String(killed));
    fixture.write("src/f2.txt", "content 2\n");
    for (const name of ["manifest", "spare.json", "shadow/src/f1.txt"]) {
      await spare(fixture);
      const [key = ""] = sparesOf(fixture);
      execFileSync("rm", [path.join(fixture.home, "spares", key, name)]);
      const forked = await fixture.fork("clone");
      await checkExact(fixture, forked);
    }
    assert.deepEqual(actOn(fixture.workspace, []), before);
  });

  it("an access list that a folder gives to new ones is given to nothing that its source has not", async () => {
    using fixture = new ForkFixture();
    const { workspace, home } = fixture;
    const lists = "system.posix_acl_default";
    /** Owner, user 12345, group, mask, others. */
    const acl =
      "0x0200000001000700ffffffff020006003930000004000500ffffffff10000700ffffffff20000500ffffffff";
    const set = (at: string): void =>
      void execFileSync("setfattr", ["-n", lists, "-v", acl, at], { stdio: "pipe" });
    const seen = (root: string): readonly string[] =>
      execFileSync("getfattr", ["-R", "-h", "-m", "posix_acl", "-d", "-e", "hex", "."], {
        cwd: root,
      })
        .toString()
        .split("\n\n")
        .sort();
    for (const at of ["plain/a", "given/own/a", "given/b", "later/c", "later/d/e"])
      fixture.write(at, at);
    try {
      set(path.join(workspace, "given"));
      set(home);
    } catch {
      return; // no access lists here
    }
    fixture.write("given/c", "has what its folder gives\n");
    const cold = await fixture.fork("clone");
    assert.deepEqual(seen(cold.fork.shadow), seen(workspace));
    assert.equal(await spare(fixture), true);
    execFileSync("setfattr", ["-x", lists, path.join(workspace, "given")]);
    fixture.write("given/d", "new\n");
    fixture.write("later/f", "new\n");
    set(path.join(workspace, "later"));
    const spared = await fixture.fork("clone");
    assert.equal(spared.fork.spare, true);
    assert.deepEqual(seen(spared.fork.shadow), seen(workspace));
  });

  it("is as none for another build of the native program, which may look for more secrets", async () => {
    using fixture = new ForkFixture();
    fixture.write("a", "a");
    assert.equal(await spare(fixture), true);
    const other = path.join(fixture.root, "native");
    execFileSync("cp", [fixture.nativePath, other]);
    const port = workspaces({ nativePath: other });
    const { workspace } = fixture;
    const paths = fixture.paths();
    const signal = new AbortController().signal;
    const made = await port.fork({
      workspace,
      paths,
      backend: "clone",
      onProgress: () => undefined,
      signal,
    });
    assert.equal(made.spare, undefined);
    assert.deepEqual(sparesOf(fixture), []);
    assert.equal(await spare(fixture), true);
    assert.equal((await fixture.fork("clone")).fork.spare, true);
  });

  it("is not made for who does not want any", async () => {
    using fixture = new ForkFixture();
    fixture.write("a.txt", "a\n");
    const before = process.env["HOLDFAST_SPARES"];
    process.env["HOLDFAST_SPARES"] = "off";
    try {
      assert.equal(await spare(fixture), false);
    } finally {
      if (before === undefined) delete process.env["HOLDFAST_SPARES"];
      else process.env["HOLDFAST_SPARES"] = before;
    }
    assert.deepEqual(sparesOf(fixture), []);
    assert.match(spareRow(fixture.home, {}).detail, /^0 in .*; HOLDFAST_SPARES=off makes no more/);
    const off = spareRow(fixture.home, { HOLDFAST_SPARES: "off" });
    assert.match(off.detail, /no more are made/);
    assert.equal(await spare(fixture), true);
    assert.match(spareRow(fixture.home, {}).detail, /^1 in /);
  });

  it("is removed when it is old, its workspace is gone, or it was never finished; stopping leaves none", async () => {
    using fixture = new ForkFixture();
    fixture.write("a", "a");
    const { nativePath, home } = fixture;
    const stopped = new AbortController();
    stopped.abort();
    assert.equal(await spare(fixture, stopped.signal), false);
    assert.deepEqual(sparesOf(fixture), []);
    await spare(fixture);
    mkdirSync(path.join(home, "spares", "0123.999999999/shadow"), { recursive: true });
    assert.equal(await removeSpares(nativePath, home, new Date(0)), 1);
    assert.equal(sparesOf(fixture).length, 1);
    renameSync(fixture.workspace, `${fixture.workspace}-moved`);
    assert.equal(await removeSpares(nativePath, home, new Date(0)), 1);
    renameSync(`${fixture.workspace}-moved`, fixture.workspace);
    await spare(fixture);
    assert.equal(await removeSpares(nativePath, home, new Date(Date.now() + 60_000)), 1);
    const small = { backend: "clone", files: 10, bytes: 1 } as const;
    const { workspace } = fixture;
    const { signal } = new AbortController();
    const paths = fixture.paths();
    assert.equal(await makeSpare({ nativePath, workspace, paths, last: small, signal }), false);
  });
});
