import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { CommandChecker } from "../../src/node/checks/commandChecker.ts";
import { commandTool, tools, type CommandCheck } from "../../src/node/checks/tools.ts";
import { CheckFork, linkTree, type Tree } from "../support/checkFork.ts";
import { CheckRun } from "../support/checkRun.ts";

const modules = join(import.meta.dirname, "../../node_modules");

interface Case {
  readonly tool: string | CommandCheck;
  readonly tree: Tree;
  /** Packages that the workspace has installed: linked copies of ours. */
  readonly packages?: readonly string[];
  readonly change: Readonly<Record<string, string | undefined>>;
  readonly status: string;
  readonly introduced: readonly string[];
  readonly resolved: readonly string[];
  readonly unchanged: number;
}

/** Copies a package of ours with all that it depends on. */
function installPackage(name: string, workspace: string): void {
  const to = join(workspace, "node_modules", name);
  if (existsSync(to) || !existsSync(join(modules, name))) return;
  linkTree(join(modules, name), to);
  for (const one of dependenciesOf(to)) installPackage(one, workspace);
}

/** Of a package and of those that it holds itself. */
function dependenciesOf(directory: string): readonly string[] {
  const manifest = JSON.parse(readFileSync(join(directory, "package.json"), "utf8")) as {
    readonly dependencies?: Readonly<Record<string, string>>;
  };
  const inside = join(directory, "node_modules");
  const held = existsSync(inside)
    ? readdirSync(inside, { recursive: true, encoding: "utf8" })
        .filter((path) => /(?:^|node_modules\/)(?:@[^/]+\/)?[^/@]+\/package\.json$/.test(path))
        .map((path) => dirname(join(inside, path)))
    : [];
  return [...Object.keys(manifest.dependencies ?? {}), ...held.flatMap(dependenciesOf)];
}

/** Runs the real tool over base and shadow; the delta names places as `path:line code`. */
function check(name: string, expected: Case): void {
  it(name, async () => {
    const fork = new CheckFork(expected.tree, (workspace) => {
      for (const one of expected.packages ?? []) installPackage(one, workspace);
    });
    const { tool } = expected;
    const found = typeof tool === "string" ? tools.find((t) => t.name === tool) : commandTool(tool);
    assert(found);
    await using run = new CheckRun(fork, "", {}, [new CommandChecker(found)]);
    const first = await run.next();
    assert.deepEqual(
      [first.status, first.introduced, first.resolved],
      ["passed", [], []],
      first.note,
    );
    fork.write(expected.change);
    const result = await run.next();
    const places = (list: typeof result.introduced) =>
      list.map((d) => `${d.path}:${d.line} ${d.code}`);
    assert.deepEqual(
      {
        status: result.status,
        introduced: places(result.introduced),
        resolved: places(result.resolved),
        unchanged: result.unchanged,
      },
      {
        status: expected.status,
        introduced: expected.introduced,
        resolved: expected.resolved,
        unchanged: expected.unchanged,
      },
      result.note,
    );
  });
}

describe("checks by other tools", function () {
  this.timeout(120_000);

  check("cargo: a warning stays, a wrong type is introduced", {
    tool: "cargo",
    tree: {
      "Cargo.toml": `[package]\nname = "x"\nversion = "0.1.0"\nedition = "2021"\n`,
      "src/main.rs": 'mod a;\nfn main() { println!("{}", a::one()); }\n',
      "src/a.rs": "pub fn one() -> u32 { let unused = 1; 1 }\n",
    },
    change: { "src/a.rs": 'pub fn one() -> u32 {\n  "one"\n}\n' },
    status: "failed",
    introduced: ["src/a.rs:2 E0308"],
    resolved: [],
    unchanged: 0,
  });
  check("cargo: a resolved warning", {
    tool: "cargo",
    tree: {
      "Cargo.toml": `[package]\nname = "x"\nversion = "0.1.0"\nedition = "2021"\n`,
      "src/main.rs": "fn main() { let unused = 1; }\n",
    },
    change: { "src/main.rs": "fn main() {}\n" },
    status: "passed",
    introduced: [],
    resolved: ["src/main.rs:1 unused_variables"],
    unchanged: 0,
  });
  check("go vet: a wrong format stays, another is introduced", {
    tool: "go",
    tree: {
      "go.mod": "module x\n\ngo 1.19\n",
      "main.go": 'package main\n\nimport "fmt"\n\nfunc main() {\n\tfmt.Printf("%d", "x")\n}\n',
    },
    change: {
      "main.go":
        'package main\n\nimport "fmt"\n\nfunc main() {\n\tfmt.Printf("%s", 1)\n\tfmt.Printf("%d", "x")\n}\n',
    },
    status: "failed",
    introduced: ["main.go:6 printf"],
    resolved: [],
    unchanged: 1,
  });
  check("mypy: shifted lines are the same error", {
    tool: "mypy",
    tree: { "mypy.ini": "[mypy]\n", "a.py": "def f(x: int) -> str:\n    return x\n" },
    change: {
      "a.py": "# moved\n\ndef f(x: int) -> str:\n    return x\n",
      "b.py": "import a\na.f('one')\n",
    },
    status: "failed",
    introduced: ["b.py:2 arg-type"],
    resolved: [],
    unchanged: 1,
  });
  check("mypy: syntax hides the rest", {
    tool: "mypy",
    tree: { "mypy.ini": "[mypy]\n", "a.py": "def f(x: int) -> str:\n    return x\n" },
    change: { "b.py": "def (\n" },
    status: "notChecked",
    introduced: ["b.py:1 syntax"],
    resolved: [],
    unchanged: 0,
  });
  check("pyright", {
    tool: "pyright",
    packages: ["pyright"],
    tree: {
      "pyrightconfig.json": `{"exclude":["node_modules"]}`,
      "a.py": "def f(x: int) -> str:\n    return x\n",
    },
    change: { "a.py": "def f(x: int) -> str:\n    return str(x)\n\nf('a')\n" },
    status: "failed",
    introduced: ["a.py:4 reportArgumentType"],
    resolved: ["a.py:2 reportReturnType"],
    unchanged: 0,
  });
  const eslint = {
    tool: "eslint",
    packages: ["eslint"],
    tree: {
      "eslint.config.mjs": `export default [{ rules: { "no-undef": "error", "no-var": "warn" } }];\n`,
      "a.js": "var a = missing;\n",
    },
  } as const;
  check("eslint: a file that is renamed and shifted keeps its messages", {
    ...eslint,
    change: { "a.js": undefined, "b.js": "\n\nvar a = missing;\nother();\n" },
    status: "failed",
    introduced: ["b.js:4 no-undef"],
    resolved: [],
    unchanged: 2,
  });
  check("eslint: a file that does not parse resolves nothing", {
    ...eslint,
    change: { "a.js": "var a = ;\n" },
    status: "failed",
    introduced: ["a.js:1 parse"],
    resolved: [],
    unchanged: 0,
  });
  check("a person's own command with a problem matcher", {
    tool: {
      name: "todo",
      command: "grep -rn FIXME --include=*.txt . || true",
      problemMatcher: {
        pattern: { regexp: "^(.+?):(\\d+):(.*)$", file: 1, line: 2, message: 3 },
        severity: "warning",
      },
    },
    tree: { "a.txt": "FIXME one\n" },
    change: { "b.txt": "fine\nFIXME two\n" },
    status: "passed",
    introduced: ["b.txt:2 "],
    resolved: [],
    unchanged: 1,
  });
});
