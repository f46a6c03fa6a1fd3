import assert from "node:assert/strict";
import type { EntryDraft } from "../../src/core/journal/entry.ts";
import { treeData, treeLines } from "../../src/core/timeline/treeText.ts";
import { begun, entriesOf, toolStarted } from "../support/entries.ts";
import { sampleJournal } from "../support/sampleJournal.ts";

describe("the causal tree as text", () => {
  const entries = sampleJournal("waiting");
  const lines = treeLines(entries);

  it("shows what hangs under what, with times", () => {
    const at = lines.findIndex((line) => line.includes("Bash npm test"));
    assert.match(lines[at] ?? "", /^ +\+\d+\.\d\d s +3\.22 s ○ failed · Bash npm test$/);
    assert.match(lines[at + 1] ?? "", /3\.14 s ○ └─ failed · \$ npm test -- --reporter dot$/);
    assert.match(lines[at + 2] ?? "", /2\.81 s ○ {4}└─ failed · \$ node node_modules/);
  });

  it("hangs a process under the one that started it", () => {
    const exec = (pid: number, ppid: number, program: string): EntryDraft => ({
      kind: "process.exec",
      source: "kernel",
      parent: 2,
      pid,
      ppid,
      argv: [program],
      cwd: "/w",
      program,
    });
    const exit = (pid: number): EntryDraft => ({
      kind: "process.exit",
      source: "kernel",
      parent: 2,
      pid,
      exitCode: 0,
      durationMs: 1000,
    });
    const tree = treeLines(
      entriesOf([
        ...[
          begun,
          toolStarted("make"),
          exec(10, 9, "make"),
          exec(11, 10, "cc"),
          exec(12, 11, "ld"),
        ],
        ...[exit(12), exec(13, 11, "as"), exit(13), exit(11)],
        ...[exec(11, 10, "strip"), exit(11), exit(10)], // a pid is used again
      ]),
    );
    assert.deepEqual(
      tree.slice(0, -2).map((line) => line.slice(line.indexOf("○") + 2)),
      [
        "running · make",
        "└─ $ make",
        "   ├─ $ cc",
        "   │  ├─ $ ld",
        "   │  └─ $ as",
        "   └─ $ strip",
      ],
    );
  });

  it("names the sub-agent that did it", () => {
    const inner = lines.filter((line) => line.includes("[explorer]"));
    assert.equal(inner.length, 2);
    assert.match(inner[0] ?? "", /├─ \[explorer\] · Read src\/client\.ts$/);
    assert.match(inner[1] ?? "", /└─ \[explorer\] · Edit src\/client\.ts$/);
  });

  it("is in the order of time and says each class", () => {
    const offsets = lines
      .filter((line) => /^ *\+[\d.]+ s/.test(line) && !/[├└]/.test(line))
      .map((line) => Number(/\+([\d.]+)/.exec(line)?.[1]));
    assert.deepEqual(
      offsets,
      offsets.toSorted((a, b) => a - b),
    );
    assert.ok(lines.some((line) => /■ .*Archive 214 deals|■ .*crm_archive/.test(line)));
    assert.ok(lines.some((line) => /◆ Bash git push/.test(line)));
    assert.match(lines.at(-1) ?? "", /■ 1 held {3}⬣ \d+ irreversible {3}◆ 1 recoverable/);
  });

  it("has one line for the model and one for each host that was read", () => {
    assert.equal(lines.filter((line) => line.includes("Model traffic")).length, 1);
    assert.ok(lines.some((line) => /× 4 · Read requests to registry\.npmjs\.org/.test(line)));
  });

  it("keeps within a terminal's width and cuts nothing otherwise", () => {
    const long = entriesOf([begun, toolStarted(`x${"y".repeat(500)}`)]);
    for (const line of treeLines(long, 80).slice(0, -2))
      assert.ok(Array.from(line).length <= 80, line);
    assert.ok(treeLines(long)[0]?.endsWith("y".repeat(500)));
  });

  it("shows control characters instead of obeying them", () => {
    const [line = ""] = treeLines(entriesOf([begun, toolStarted("a\u001b[2Jb\u202Ec")]));
    assert.match(line, /a\\u001b\[2Jb\\u202ec/);
  });

  it("is data with --json, whole", () => {
    const text = JSON.stringify(treeData(entries));
    assert.match(text, /"title":"Task find every caller/);
    const nodes = text.match(/"id":/g)?.length ?? 0;
    assert.ok(nodes > 20, String(nodes));
  });
});
