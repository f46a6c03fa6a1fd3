import assert from "node:assert/strict";
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { ForkFixture, git, type ForkedFixture } from "../support/forkFixture.ts";

interface Case {
  readonly name: string;
  readonly edit: (fork: ForkedFixture, fixture: ForkFixture) => void;
  /** Puts the workspace right again for the cases that follow. */
  readonly restore?: (fixture: ForkFixture) => void;
  readonly expected: readonly string[];
}

const rules = "out/\n*.log\n!keep.log\n";
const long = Array.from({ length: 40 }, (_, i) => `line ${i}\n`).join("");

function prepare(fixture: ForkFixture): void {
  git(fixture.workspace, "init", "-q");
  fixture.write(".gitignore", rules);
  fixture.write("a.txt", "hello\n");
  fixture.write("run.sh", "#!/bin/sh\n", 0o755);
  fixture.write("src/long.txt", long);
  fixture.write("src/deep/.gitignore", "*.tmp\n");
  fixture.write("src/deep/x.txt", "x\n");
  fixture.write("out/build.js", "built\n");
  fixture.write("tracked.log", "tracked though ignored\n");
  symlinkSync("a.txt", `${fixture.workspace}/link`);
  mkdirSync(`${fixture.workspace}/empty`);
  git(fixture.workspace, "add", "-A", "-f", "tracked.log", ".gitignore", "a.txt", "run.sh", "src");
  git(fixture.workspace, "commit", "-qm", "one");
}

const cases: readonly Case[] = [
  { name: "nothing", edit: () => undefined, expected: [] },
  {
    name: "an edit, an addition, a deletion",
    edit: (fork) => {
      appendFileSync(fork.at("a.txt"), "more\n");
      mkdirSync(fork.at("new/dir"), { recursive: true });
      writeFileSync(fork.at("new/dir/b.txt"), "b");
      rmSync(fork.at("src/deep/x.txt"));
    },
    expected: ["modified a.txt", "added new/dir/b.txt", "deleted src/deep/x.txt"],
  },
  {
    name: "an edit that keeps size and mtime",
    edit: (fork) => {
      writeFileSync(fork.at("a.txt"), "HELLO\n");
      utimesSync(fork.at("a.txt"), new Date(0), new Date(0));
    },
    expected: ["modified a.txt"],
  },
  {
    name: "touched, or written with the same bytes: no change",
    edit: (fork) => {
      utimesSync(fork.at("a.txt"), new Date(0), new Date(0));
      writeFileSync(fork.at("src/long.txt"), long);
    },
    expected: [],
  },
  {
    name: "modes",
    edit: (fork) => {
      chmodSync(fork.at("a.txt"), 0o755);
      chmodSync(fork.at("run.sh"), 0o644);
      chmodSync(fork.at("src"), 0o700);
    },
    expected: ["mode a.txt", "mode run.sh", "mode src"],
  },
  {
    name: "links and types",
    edit: (fork) => {
      rmSync(fork.at("link"));
      symlinkSync("run.sh", fork.at("link"));
      rmSync(fork.at("a.txt"));
      symlinkSync("run.sh", fork.at("a.txt"));
      symlinkSync("nowhere", fork.at("fresh"));
    },
    expected: ["symlink a.txt", "added fresh", "symlink link"],
  },
  {
    name: "a file becomes a directory and the reverse",
    edit: (fork) => {
      rmSync(fork.at("a.txt"));
      mkdirSync(fork.at("a.txt"));
      writeFileSync(fork.at("a.txt/inner"), "i");
      rmSync(fork.at("src/deep"), { recursive: true });
      writeFileSync(fork.at("src/deep"), "file now");
    },
    expected: [
      "deleted a.txt",
      "added a.txt/inner",
      "added src/deep",
      "deleted src/deep/.gitignore",
      "deleted src/deep/x.txt",
    ],
  },
  {
    name: "renames: moved, copied over and deleted, edited on the way, a whole directory",
    edit: (fork) => {
      renameSync(fork.at("a.txt"), fork.at("b.txt"));
      writeFileSync(
        fork.at("src/moved.txt"),
        `${readFileSync(fork.at("src/long.txt"), "utf8")}end\n`,
      );
      rmSync(fork.at("src/long.txt"));
      renameSync(fork.at("src/deep"), fork.at("src/flat"));
    },
    expected: [
      "renamed b.txt <- a.txt",
      "renamed src/flat/.gitignore <- src/deep/.gitignore",
      "renamed src/flat/x.txt <- src/deep/x.txt",
      "renamed src/moved.txt <- src/long.txt",
    ],
  },
  {
    name: "ignored by the base's rules, whatever the shadow's and the host's say later",
    edit: (fork, fixture) => {
      writeFileSync(fork.at("out/other.js"), "o");
      writeFileSync(fork.at("x.log"), "l");
      writeFileSync(fork.at("keep.log"), "k");
      writeFileSync(fork.at("src/deep/y.tmp"), "t");
      writeFileSync(fork.at("tracked.log"), "edited");
      writeFileSync(fork.at(".gitignore"), "a.txt\nkeep.log\n");
      writeFileSync(`${fixture.workspace}/.gitignore`, "keep.log\n");
    },
    restore: (fixture) => fixture.write(".gitignore", rules),
    expected: [
      "modified .gitignore",
      "added keep.log",
      "added out/other.js (ignored)",
      "added src/deep/y.tmp (ignored)",
      "modified tracked.log",
      "added x.log (ignored)",
    ],
  },
  {
    name: "empty directories",
    edit: (fork) => {
      mkdirSync(fork.at("fresh/inner"), { recursive: true });
      rmSync(fork.at("empty"), { recursive: true });
    },
    expected: ["deleted empty", "added fresh/inner"],
  },
  {
    name: ".git never is part of it",
    edit: (fork) => {
      writeFileSync(fork.at(".git/hooks/pre-commit"), "#!/bin/sh\n", { mode: 0o755 });
      mkdirSync(fork.at("nested/.git"), { recursive: true });
      writeFileSync(fork.at("nested/.git/config"), "[core]\n");
    },
    expected: [],
  },
];

describe("fork: changes", () => {
  let fixture: ForkFixture;
  before(() => {
    fixture = new ForkFixture();
    prepare(fixture);
  });
  after(() => fixture[Symbol.dispose]());

  async function check({ edit, expected, restore }: Case): Promise<void> {
    const forked = await fixture.fork();
    edit(forked, fixture);
    assert.deepEqual(await forked.changeLines(), expected);
    restore?.(fixture);
    await forked.remove();
  }
  for (const one of cases) it(one.name, () => check(one));

  it("asks about each path once: the rules are frozen", async () => {
    const forked = await fixture.fork();
    writeFileSync(forked.at("x.log"), "l");
    writeFileSync(forked.at("b.txt"), "b");
    const expected = ["added b.txt", "added x.log (ignored)"];
    assert.deepEqual(await forked.changeLines(), expected);
    // From here on nobody could answer.
    rmSync(`${forked.paths.state}/rules/git`, { recursive: true });
    assert.deepEqual(await forked.changeLines(), expected);
    rmSync(forked.at("b.txt"));
    assert.deepEqual(await forked.changeLines(), expected.slice(1));
    writeFileSync(forked.at("y.log"), "l");
    await assert.rejects(forked.changeLines(), /git check-ignore failed/);
    await forked.remove();
  });
});
