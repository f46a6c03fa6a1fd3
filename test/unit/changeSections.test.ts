import assert from "node:assert/strict";
import type { FileState } from "../../src/core/change/changeSet.ts";
import { isGitOwn, refusedPath } from "../../src/core/change/pathRules.ts";
import { runsLaterReason } from "../../src/core/change/runsLater.ts";

const file = (mode = 0o644): FileState => ({ type: "file", mode, size: 1, sha256: "0" });

/** First words of the reason for each path, or `-`. A golden: a change of it is a change of what needs a tick. */
const byName: readonly (readonly [why: string, paths: string])[] = [
  [
    "git reads it",
    ".gitattributes sub/.gitattributes .gitmodules .GitAttributes .gitATTRIBUTES. .lfsconfig",
  ],
  [
    "git hooks",
    ".husky/pre-commit .husky .githooks/x lefthook.yml lefthook.yaml .pre-commit-config.yaml .lintstagedrc.json pkg/.husky/_/h",
  ],
  [
    "editor configuration",
    ".vscode/settings.json .VSCODE/tasks.json a/.vscode/launch.json .idea/x/y.xml x.code-workspace .zed/tasks.json .exrc .nvim.lua .dir-locals.el .devcontainer/devcontainer.json .sublime-project.sublime-project",
  ],
  [
    "instructions or tools",
    "CLAUDE.md sub/claude.md AGENTS.md GEMINI.md .claude/settings.json .mcp.json .cursor/mcp.json .codex/config.toml .gemini/settings.json .github/copilot-instructions.md .holdfast/policy.json .clinerules .windsurfrules opencode.json .aider.conf.yml",
  ],
  [
    "continuous integration",
    ".github/workflows/ci.yml .gitlab-ci.yml Jenkinsfile .circleci/config.yml azure-pipelines.yml .travis.yml vercel.json .buildkite/pipeline.yml renovate.json",
  ],
  [
    "environment of a directory",
    ".envrc sub/.envrc mise.toml .tool-versions .nvmrc flake.nix shell.nix .bashrc .flaskenv",
  ],
  [
    "package manager",
    ".npmrc .yarnrc.yml .yarn/releases/yarn.cjs .pnpmfile.cjs pyproject.toml setup.py requirements.txt requirements-dev.txt Gemfile Cargo.toml .cargo/config.toml go.mod composer.json pip.conf x.pth",
  ],
  [
    "build or task file",
    "Makefile makefile GNUmakefile rules.mk CMakeLists.txt justfile Taskfile.yml build.rs build.gradle gradlew gradle/wrapper/gradle-wrapper.properties Dockerfile docker-compose.yml conftest.py tox.ini Rakefile Vagrantfile",
  ],
  [
    "tool configuration",
    "eslint.config.mjs .eslintrc.json prettier.config.js .prettierrc.cjs vite.config.ts jest.config.js babel.config.js .storybook/main.ts",
  ],
  [
    "lock file",
    "package-lock.json yarn.lock pnpm-lock.yaml Cargo.lock go.sum poetry.lock uv.lock Gemfile.lock composer.lock bun.lockb sub/package-lock.json",
  ],
  [
    "-",
    "src/main.ts README.md .gitignore LICENSE docs/Makefile.md src/claude.ts vscode/x husky/x .github/ISSUE_TEMPLATE.md test/gradle.ts .env .editorconfig tsconfig.json .prettierrc.json a/makefile/x workspace/x",
  ],
];

describe("runs later", () => {
  for (const [why, paths] of byName) {
    it(why === "-" ? "leaves ordinary files alone" : why, () => {
      const told = paths.split(" ").map((path) => {
        const reason = runsLaterReason({
          path,
          before: file(),
          after: file(),
          beforeText: "x",
          afterText: "y",
        });
        return `${path}: ${reason === undefined ? "-" : reason.startsWith(why) ? why : reason}`;
      });
      assert.deepEqual(
        told,
        paths.split(" ").map((path) => `${path}: ${why}`),
      );
    });
  }

  const folded = [
    "\uFF2D\uFF41\uFF4B\uFF45\uFF46\uFF49\uFF4C\uFF45",
    ".vs\u200Bcode/x",
    ".gitmodules ",
    ".HUSKY/x",
    "MA\u212AEFILE",
    ".\u017Fublime-project.sublime-project",
  ];
  it("sees through case, width, look-alike letters and ignorable characters", () => {
    assert.deepEqual(
      folded.filter((path) => runsLaterReason({ path, after: file() }) === undefined),
      [],
    );
  });

  const byNature: readonly (readonly [
    string,
    Parameters<typeof runsLaterReason>[0],
    string | undefined,
  ])[] = [
    ["a new executable", { path: "x", after: file(0o755) }, "becomes executable"],
    [
      "an executable that stays one",
      { path: "x", before: file(0o755), after: file(0o755) },
      undefined,
    ],
    [
      "a bit for others only",
      { path: "x", before: file(), after: file(0o645) },
      "becomes executable",
    ],
    [
      "a new link",
      { path: "x", after: { type: "symlink", target: "y" } },
      "a symbolic link, to y: what is written to it lands there",
    ],
    [
      "a link out",
      { path: "x", after: { type: "symlink", target: "/etc" } },
      "a symbolic link that leads out of the workspace, to /etc",
    ],
    [
      "a link replaced",
      { path: "x", before: { type: "symlink", target: "y" }, after: file() },
      "replaces or removes a symbolic link",
    ],
    [
      "renamed into place",
      { path: "x", from: ".husky/x", before: file(), after: file() },
      "git hooks or their tool: runs at the next commit, checkout or push",
    ],
    [
      "scripts",
      {
        path: "package.json",
        before: file(),
        after: file(),
        beforeText: '{"scripts":{}}',
        afterText: '{"scripts":{"postinstall":"x"}}',
      },
      "package manifest: scripts acts at the next install or script",
    ],
    [
      "a dependency",
      {
        path: "a/package.json",
        before: file(),
        after: file(),
        beforeText: "{}",
        afterText: '{"dependencies":{"x":"1"},"bin":"y"}',
      },
      "package manifest: dependencies, bin act at the next install or script",
    ],
    [
      "other members",
      {
        path: "package.json",
        before: file(),
        after: file(),
        beforeText: '{"version":"1","scripts":{"a":"b"}}',
        afterText: '{"scripts":{"a":"b"},"version":"2"}',
      },
      undefined,
    ],
    [
      "not JSON",
      { path: "package.json", before: file(), after: file(), beforeText: "{}", afterText: "{" },
      "a package manifest that cannot be read as JSON",
    ],
    [
      "a new source of packages",
      {
        path: "package-lock.json",
        before: file(),
        after: file(),
        beforeText: '"resolved": "https://registry.example.com/a"',
        afterText: '"resolved": "https://registry.example.com/a" "https://evil.example/b"',
      },
      "lock file: packages now come from evil.example",
    ],
    [
      "compiler plugins",
      {
        path: "tsconfig.json",
        before: file(),
        after: file(),
        beforeText: "{}",
        afterText: '{"compilerOptions":{"plugins":[]}}',
      },
      "compiler plugins: the editor's language server loads them",
    ],
  ];
  for (const [name, question, reason] of byNature) {
    it(name, () => assert.equal(runsLaterReason(question), reason));
  }
});

describe("paths that are never published", () => {
  const refused = [
    ".git/config",
    "a/.git",
    ".GIT/hooks/x",
    ".git./x",
    ".git /x",
    "git~1/x",
    ".g\u200Bit/config",
    ".git::$INDEX_ALLOCATION/x",
    "a\nb",
    "a\rb",
    "a/\u202Eb",
    "../x",
    "a//b",
    "a/./b",
    "",
  ];
  for (const path of refused) {
    it(JSON.stringify(path), () => assert.notEqual(refusedPath(path), undefined));
  }

  it("are not taken for others", () => {
    for (const path of [".gitignore", "a/.github/x", "git/x", "x.git/y", "ümlaut", "a b"]) {
      assert.equal(refusedPath(path), undefined, path);
      assert.equal(isGitOwn(path), false, path);
    }
  });
});
