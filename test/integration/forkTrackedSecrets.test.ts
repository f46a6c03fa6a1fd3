import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { ForkFixture, git } from "../support/forkFixture.ts";
import { forkPlaces, PlacedFixture } from "../support/forkPlaces.ts";
import { commandWorlds } from "../support/holdfastCommand.ts";

const secret = "s3cr3t-value-0001";
const token = `ghp_${"a1B2c3D4e5".repeat(4).slice(0, 36)}`;
const files = {
  ".env": `API_KEY=${secret}\n`,
  "src/client.js": `export const token = "${token}";\n`,
  "plain.txt": "plain\n",
};

function commitAll(repository: string): void {
  git(repository, "add", "--force", "--all");
  git(repository, "commit", "--quiet", "--message", "one");
}

/** What the commit at HEAD has of a file. */
const committed = (repository: string, file: string): string =>
  git(repository, "show", `HEAD:${file}`);

describe("fork: secrets that git tracks", () => {
  /** Git in a fork takes masked files for unchanged, and commits all else. */
  function check(shadow: string, file = ".env"): void {
    assert.equal(git(shadow, "status", "--porcelain"), "");
    assert.equal(git(shadow, "diff"), "");
    assert.match(readFileSync(path.join(shadow, file), "utf8"), /\$HOLDFAST_SECRET_API_KEY/);
    writeFileSync(path.join(shadow, "plain.txt"), "changed\n");
    git(shadow, "commit", "--quiet", "--all", "--message", "two");
    assert.equal(committed(shadow, "plain.txt"), "changed\n");
    assert.equal(committed(shadow, file), files[".env"]);
    git(shadow, "reset", "--quiet", "--hard", "HEAD~1");
    assert.doesNotMatch(readFileSync(path.join(shadow, file), "utf8"), new RegExp(secret));
  }

  for (const place of forkPlaces.filter(({ backend }) => backend !== "overlay")) {
    it(`are unchanged for git, and no commit has placeholders: ${place.name}`, async () => {
      using placed = new PlacedFixture(place);
      const { fixture } = placed;
      for (const [name, content] of Object.entries(files)) fixture.write(name, content);
      git(fixture.workspace, "init", "-q");
      commitAll(fixture.workspace);
      fixture.write("untracked/.env", files[".env"]);
      fixture.write(".git/info/exclude", "untracked\n");
      const index = readFileSync(path.join(fixture.workspace, ".git/index"));
      const { fork } = await fixture.fork(place.backend);
      assert.match(
        fork.notes.join("\n"),
        /git in the sandbox takes for unchanged: \.env, src\/client\.js$/m,
      );
      check(fork.shadow);
      assert.ok(readFileSync(path.join(fixture.workspace, ".git/index")).equals(index));
    }).timeout(60_000);
  }

  const shapes: Readonly<Record<string, (fixture: ForkFixture) => string>> = {
    "an index of version 4": ({ workspace }) => {
      git(workspace, "init", "-q");
      git(workspace, "config", "index.version", "4");
      return "";
    },
    "an index in two files": ({ workspace }) => {
      git(workspace, "init", "-q");
      git(workspace, "config", "core.splitIndex", "true");
      return "";
    },
    "a repository of SHA-256": ({ workspace }) => {
      git(workspace, "init", "-q", "--object-format=sha256");
      return "";
    },
    "a worktree": (fixture) => {
      const main = path.join(fixture.root, "main");
      git(fixture.root, "init", "-q", main);
      git(main, "commit", "--quiet", "--allow-empty", "--message", "none");
      git(main, "worktree", "add", "--quiet", "--detach", fixture.workspace);
      return "";
    },
    "a submodule": (fixture) => {
      const lender = path.join(fixture.root, "lender");
      git(fixture.root, "init", "-q", lender);
      git(lender, "commit", "--quiet", "--allow-empty", "--message", "none");
      git(fixture.workspace, "init", "-q");
      git(fixture.workspace, "submodule", "--quiet", "add", lender, "sub");
      return "sub/";
    },
    "a nested repository": (fixture) => {
      fixture.write("nested/x");
      git(fixture.workspace, "init", "-q");
      git(path.join(fixture.workspace, "nested"), "init", "-q");
      return "nested/";
    },
  };
  for (const [name, make] of Object.entries(shapes)) {
    it(`are unchanged for git in ${name}`, async () => {
      using fixture = new ForkFixture();
      const root = make(fixture);
      for (const [file, content] of Object.entries(files)) fixture.write(root + file, content);
      fixture.write(`${root}ümlaut\n/.env`, files[".env"]);
      commitAll(path.join(fixture.workspace, root));
      const shared = (): string =>
        execFileSync(
          "find",
          [fixture.root, "-name", "sharedindex.*", "-not", "-path", "*/home/*"],
          {
            encoding: "utf8",
          },
        );
      const before = shared();
      const { fork } = await fixture.fork();
      check(path.join(fork.shadow, root));
      assert.equal(shared(), before, "nothing was written into the workspace's repository");
    }).timeout(60_000);
  }

  it("stay as they are where they are in conflict, or are not tracked at all", async () => {
    using fixture = new ForkFixture();
    const { workspace } = fixture;
    fixture.write("plain.txt");
    git(workspace, "init", "-q");
    commitAll(workspace);
    for (const value of ["one", "two"]) {
      git(workspace, "checkout", "--quiet", "-b", value, "main");
      fixture.write(".env", `API_KEY=${secret}-${value}\n`);
      commitAll(workspace);
    }
    assert.throws(() => git(workspace, "merge", "--quiet", "one"));
    fixture.write("untracked/.env", files[".env"]);
    const { fork } = await fixture.fork();
    assert.match(git(fork.shadow, "status", "--porcelain"), /^AA \.env\n\?\? untracked\/\n$/);
    assert.doesNotMatch(fork.notes.join("\n"), /takes for unchanged/);
  });
});

describe("secrets that git tracks, in a transaction", () => {
  const newWorld = commandWorlds();

  for (const backend of ["clone", "overlay", "copy"]) {
    it(`are published with their values when the agent edits their file, and not committed by it: ${backend}`, async () => {
      const world = newWorld(files);
      const { workspace } = world;
      git(workspace, "init", "-q");
      commitAll(workspace);
      const script = [
        "git status --porcelain",
        "git diff",
        "echo NEW=1 >> .env",
        "echo changed > plain.txt",
        "git -c user.name=A -c user.email=a@x commit -qam two",
        "git show --stat --format=%s",
        "git status --porcelain",
      ].join("\n");
      const ran = await world.run(["run", "--backend", backend, "--", "sh", "-c", script]);
      assert.equal(ran.code, 0, ran.stderr);
      assert.match(ran.stdout, /^two\n\n plain\.txt \| 2 \+-\n 1 file changed.*\n$/);
      const { placeholders } = await world.json<{ placeholders: string[] }>([
        ...["commits", "latest", "--bring"],
      ]);
      assert.deepEqual(placeholders, []);
      const done = await world.run(["commit", "latest", "--include-runs-later"]);
      assert.equal(done.code, 0, done.stderr);
      const now = readFileSync(path.join(workspace, ".env"), "utf8");
      assert.equal(now, `${files[".env"]}NEW=1\n`);
      assert.equal(git(workspace, "status", "--porcelain"), " M .env\n M plain.txt\n");
      const [, brought = ""] =
        /^(\S+)$/m.exec(git(workspace, "for-each-ref", "--format=%(refname)", "refs/holdfast")) ??
        [];
      assert.equal(git(workspace, "show", `${brought}:.env`), files[".env"]);
    }).timeout(60_000);
  }

  it("and whose placeholders the agent commits all the same are told of", async () => {
    const world = newWorld(files);
    git(world.workspace, "init", "-q");
    commitAll(world.workspace);
    const script =
      "cp .env copy.env; git add copy.env; git -c user.name=A -c user.email=a@x commit -qm two";
    const ran = await world.run(["run", "--", "sh", "-c", script]);
    assert.equal(ran.code, 0, ran.stderr);
    const told = await world.run(["commits", "latest", "--bring"]);
    assert.equal(told.code, 0, told.stderr);
    assert.match(told.stderr, /placeholders stand in the place of hidden values in: copy\.env/);
  }).timeout(60_000);
});
