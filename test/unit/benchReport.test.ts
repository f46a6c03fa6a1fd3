import assert from "node:assert/strict";
import { againstTarget, figureOf } from "../support/bench.ts";
import { benchMarkdown, type BenchGroup } from "../support/benchReport.ts";
import { judgeFigure, promises, unanswered } from "../support/benchTargets.ts";
import { readRepositoryFile, repositoryFiles } from "../support/repository.ts";

const date = "2026-11-29T20:00:00.000Z";

function group(name: string, figures: BenchGroup["figures"], more: object = {}): BenchGroup {
  return { name, title: name, figures, unanswered: [], ...more };
}

describe("the report of the benches", () => {
  const met = againstTarget("one hook call", "ms", [4, 3, 5], { atMost: 5 });
  const missed = againstTarget("start, against bare bwrap", "×", [3.4], { atMost: 3 });
  const promised = judgeFigure("sandbox", figureOf("start to the first instruction", "ms", [16]));
  const least = againstTarget("rate against mockttp", "×", [2.9, 3.1, 2.4], { atLeast: 2 });
  const without = judgeFigure("sandbox", figureOf("one exec, observed", "µs", [700]));

  it("judges the median against what was promised", () => {
    assert.deepEqual(
      [met, missed, least, without].map((one) => one.met),
      [...[true, false, true, undefined]],
    );
    assert.deepEqual(promised.target, { atMost: 15 });
    assert.equal(promised.met, false);
    assert.equal(judgeFigure("fork", figureOf("search", "ms", [9])).met, undefined);
    assert.equal(judgeFigure("sandbox", met), met);
  });

  it("shows the target and whether it is met, and first of all what is not", () => {
    const text = benchMarkdown({
      date,
      machine: { kernel: "Linux 6.18" },
      groups: [group("sandbox", [met, missed, without])],
    });
    assert.match(
      text,
      /- kernel: Linux 6\.18\n\n1 of 2 targets met\.\n✗ sandbox: start, against bare bwrap: 3\.40 ×\n/,
    );
    assert.match(text, /\| one hook call \| 4 \| 3 – 5 \| ms \| ≤ 5 ✓ \| 3 \|/);
    assert.match(text, /\| start, against bare bwrap \| 3\.40 \| .* \| ≤ 3 ✗ \|/);
    assert.match(text, /\| one exec, observed \| 700 \| 700 – 700 \| µs \| {2}\| 1 \|/);
  });

  it("keeps the others when one bench fails, and says which promise has no figure", () => {
    const text = benchMarkdown({
      date,
      machine: {},
      groups: [
        group("fork", [], { failed: "no space left", unanswered: unanswered("fork", []) }),
        group("sandbox", [met], { peers: { bubblewrap: "0.8.0" } }),
      ],
    });
    assert.match(text, /## fork\n\n\*\*Failed:\*\* no space left\n\nNo figure for the targets: `/);
    assert.match(text, /## sandbox\n\nBeside: bubblewrap 0\.8\.0\n\n\| what/);
  });

  it("puts what was measured on several sizes side by side", () => {
    const figures = [5000, 250_000].flatMap((files) => [
      figureOf(`clone, here, ${files} files: fork`, "ms", [files / 100]),
      figureOf(`clone, here, ${files} files: disk used`, "MB", [files / 1000]),
    ]);
    const text = benchMarkdown({ date, machine: {}, groups: [group("fork", figures)] });
    const table = [
      "### Growth",
      "",
      "| what | 5000 files | 250000 files |",
      "|---|---|---|",
      "| clone, here: fork | 50 ms | 2500 ms |",
      "| clone, here: disk used | 5 MB | 250 MB |",
    ];
    assert.ok(text.includes(table.join("\n")), text);
    const one = group("fork", figures.slice(0, 2));
    assert.doesNotMatch(benchMarkdown({ date, machine: {}, groups: [one] }), /Growth/);
  });

  it("every target belongs to a bench that is there", () => {
    const benches = repositoryFiles().flatMap(
      (file) => /^test\/bench\/(\w+)\.bench\.ts$/.exec(file)?.[1] ?? [],
    );
    for (const { bench } of promises) assert.ok(benches.includes(bench), bench);
    for (const bench of ["fork", "publish", "check", "timeline", "prompts"])
      assert.ok(
        promises.some((one) => one.bench === bench),
        bench,
      );
  });

  it("and the figures that were taken answer each", () => {
    if (!repositoryFiles().includes("docs/figures.json")) return;
    const { groups } = JSON.parse(readRepositoryFile("docs/figures.json")) as {
      groups: readonly BenchGroup[];
    };
    for (const { name, figures, unavailable, failed } of groups) {
      if (unavailable !== undefined) continue;
      assert.equal(failed, undefined, name);
      const seen = new Set(figures.map((figure) => figure.name));
      assert.equal(seen.size, figures.length, `two figures of ${name} have one name`);
    }
  });
});
