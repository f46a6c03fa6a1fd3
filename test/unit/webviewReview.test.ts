import assert from "node:assert/strict";
import { ReviewModel, type ChangedFile } from "../../src/vscode/changes/reviewModel.ts";

const file = (path: string, section: ChangedFile["section"], hunks = 0): ChangedFile => ({
  path,
  kind: "modified",
  binary: false,
  section,
  hunks: Array.from({ length: hunks }, (_, n) => ({
    id: `${path}#${n}`,
    oldStart: n * 10 + 1,
    oldLines: 1,
    newStart: n * 10 + 1,
    newLines: 1,
  })),
});

const files = [
  file("src/a.ts", "change", 2),
  file("src/b.ts", "change", 1),
  file(".github/workflows/ci.yml", "runsLater", 1),
  file("build/out.js", "ignored", 1),
  file("src/both.ts", "conflict", 1),
];

function loaded(): ReviewModel {
  const model = new ReviewModel();
  model.load({ files });
  return model;
}

describe("review model", () => {
  const check = (
    name: string,
    act: (model: ReviewModel) => void,
    expected: ReturnType<ReviewModel["selection"]>,
  ): void => {
    it(name, () => {
      const model = loaded();
      act(model);
      assert.deepEqual(model.selection(), expected);
    });
  };

  check("ticks what is in section change and nothing else", () => undefined, {
    paths: ["src/a.ts", "src/b.ts"],
    hunks: [],
  });
  check(
    "names the accepted hunks of a file with a rejected one",
    (m) => m.toggleHunk("src/a.ts", "src/a.ts#0"),
    {
      paths: ["src/b.ts"],
      hunks: ["src/a.ts#1"],
    },
  );
  check(
    "leaves a file out when its last hunk is rejected",
    (m) => m.toggleHunk("src/b.ts", "src/b.ts#0"),
    { paths: ["src/a.ts"], hunks: [] },
  );
  check(
    "takes one hunk of a file that was left out",
    (m) => {
      m.tick("src/a.ts", false);
      m.toggleHunk("src/a.ts", "src/a.ts#1");
    },
    { paths: ["src/b.ts"], hunks: ["src/a.ts#1"] },
  );
  check(
    "takes all of a file that is ticked again",
    (m) => {
      m.toggleHunk("src/a.ts", "src/a.ts#0");
      m.tick("src/a.ts", true);
    },
    { paths: ["src/a.ts", "src/b.ts"], hunks: [] },
  );
  check(
    "says so when something that runs later is ticked",
    (m) => m.tick(".github/workflows/ci.yml", true),
    {
      paths: ["src/a.ts", "src/b.ts", ".github/workflows/ci.yml"],
      hunks: [],
      includeRunsLater: true,
    },
  );
  check("says so when ignored output is ticked", (m) => m.tick("build/out.js", true), {
    paths: ["src/a.ts", "src/b.ts", "build/out.js"],
    hunks: [],
    includeIgnored: true,
  });
  check("takes the agent's side of a conflict", (m) => m.resolve("src/both.ts", "theirs"), {
    paths: ["src/a.ts", "src/b.ts", "src/both.ts"],
    hunks: [],
    resolutions: { "src/both.ts": "theirs" },
  });
  check("keeps the person's side of a conflict", (m) => m.resolve("src/both.ts", "mine"), {
    paths: ["src/a.ts", "src/b.ts"],
    hunks: [],
    resolutions: { "src/both.ts": "mine" },
  });
  check("ignores a hunk that is not there", (m) => m.toggleHunk("src/a.ts", "no such hunk"), {
    paths: ["src/a.ts", "src/b.ts"],
    hunks: [],
  });

  it("keeps choices about what is still there when the change set is new", () => {
    const model = loaded();
    model.toggleHunk("src/a.ts", "src/a.ts#0");
    model.tick("src/b.ts", false);
    model.load({ files: files.filter(({ path }) => path !== "src/b.ts") });
    assert.deepEqual(model.selection(), { paths: [], hunks: ["src/a.ts#1"] });
    model.load({ files });
    assert.ok(model.isTicked("src/b.ts"), "a file that comes back is as good as new");
  });

  it("knows which conflicts nobody has settled", () => {
    const model = loaded();
    assert.deepEqual(model.unresolved(), ["src/both.ts"]);
    model.resolve("src/both.ts", "mine");
    assert.deepEqual(model.unresolved(), []);
  });

  it("chooses among ten thousand files without a pause", () => {
    const model = new ReviewModel();
    const names = Array.from({ length: 10_000 }, (_, at) => `src/d${at % 40}/f${at}.ts`);
    const files = names.map((path) => ({
      path,
      kind: "modified" as const,
      binary: false,
      section: "change" as const,
      hunks: [{ id: `h-${path}`, oldStart: 1, oldLines: 1, newStart: 1, newLines: 1 }],
    }));
    const begun = process.cpuUsage();
    model.load({ files });
    for (const path of names.slice(0, 5000)) model.tick(path, false);
    const { paths = [] } = model.selection();
    const { user, system } = process.cpuUsage(begun);
    assert.equal(paths.length, 5000);
    // Comparing every file with every other takes seconds.
    assert.ok((user + system) / 1000 < 500, `${(user + system) / 1000} ms`);
  });
});
