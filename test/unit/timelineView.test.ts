import assert from "node:assert/strict";
import fc from "fast-check";
import type { Entry } from "../../src/core/journal/entry.ts";
import { shiftWindow } from "../../src/protocol/rowWindow.ts";
import { everything, toWebview, type Row, type ToWebview } from "../../src/protocol/webview.ts";
import { TimelineView } from "../../src/vscode/timeline/timelineView.ts";
import { RowCache } from "../../webview/rowCache.ts";
import { spliceTall, type Tall } from "../../webview/rowOffsets.ts";
import { largeJournal } from "../support/largeJournal.ts";
import { sampleJournal } from "../support/sampleJournal.ts";

/** What the webview keeps, without a document: a mirror that only ever hears messages. */
class Mirror {
  total = 0;
  tall: readonly Tall[] = [];
  generation = 0;
  readonly cache = new RowCache();

  receive(message: ToWebview | undefined): void {
    if (message === undefined) return;
    assert.ok(toWebview.safeParse(message).success, "the message fits the protocol");
    if (message.type === "layout") {
      this.total = message.layout.total;
      this.tall = message.layout.tall;
      this.generation = message.layout.generation;
      this.cache.clear();
    } else if (message.type === "rows") {
      this.cache.fill(message.from, message.rows);
    } else if (message.type === "changed") {
      assert.equal(message.generation, ++this.generation);
      for (const splice of message.splices) {
        this.total += splice.inserted - splice.removed;
        this.tall = spliceTall(this.tall, splice);
        this.cache.splice(splice);
      }
      for (const [position, row] of message.rows) this.cache.set(position, row);
    }
  }
}

/** The mirror must show what a view made from scratch shows. */
function agree(view: TimelineView, mirror: Mirror): void {
  const { total, tall } = view.layout();
  assert.equal(mirror.total, total);
  assert.deepEqual(mirror.tall, tall);
  const { from, to } = mirror.cache.window;
  const shown: (Row | undefined)[] = [];
  for (let position = from; position < to; position++) shown.push(mirror.cache.at(position));
  assert.deepEqual(shown, view.rows(from, to - from).rows);
}

function outline(view: TimelineView): string[] {
  return view
    .rows(0, 500)
    .rows.map((row) => `${"  ".repeat(row.level - 1)}${[row.verb, row.title].join(" ").trim()}`);
}

describe("timeline view", () => {
  it("groups by class, strictest first", () => {
    const view = new TimelineView();
    view.apply(sampleJournal("waiting"));
    const groups = view.rows(0, 500).rows.filter((row) => row.role === "group");
    assert.deepEqual(
      groups.map((row) => `${row.verb} ${row.badges[0]?.text ?? ""}`),
      ["Held 1", "Irreversible 3", "Recoverable 1", "Reversible 8"],
    );
  });

  it("opens a tool call into its arguments, effects and result", () => {
    const view = new TimelineView();
    view.apply(sampleJournal("sealed"));
    view.setFilter({ ...everything, text: "git push" });
    const row = view.rows(0, 10).rows.find(({ verb }) => verb === "Bash");
    view.toggle(row?.id ?? "", true);
    assert.deepEqual(outline(view), [
      "Recoverable",
      "  Bash git push -u origin round-prices",
      "    Arguments",
      "    POST github.com/mara/shop.git/git-receive-pack",
      "    Result",
    ]);
    const request = view.rows(0, 10).rows.find(({ verb }) => verb === "POST");
    view.toggle(request?.id ?? "", true);
    assert.deepEqual(outline(view).slice(4, 8), [
      "      Way back delete the branch",
      "      Verdict allow by rule git-new-branch: creates branch round-prices",
      "      Secret used GITHUB in header authorization, to github.com",
      "      Response status 200, 900 bytes sent, 2,400 bytes received".replace(
        "2,400 bytes received",
        "2,400 received",
      ),
    ]);
  });

  const search = (name: string, change: Partial<typeof everything>, titles: string[]): void => {
    it(`filters by ${name}`, () => {
      const view = new TimelineView();
      view.apply(sampleJournal("sealed"));
      view.setFilter({ ...everything, grouping: "time", ...change });
      assert.deepEqual(outline(view), titles);
    });
  };
  search("text below the root", { text: "node_modules/.bin/MOCHA" }, ["Bash npm test"]);
  search("class", { classes: ["recoverable"] }, ["Bash git push -u origin round-prices"]);
  search("tool", { tools: ["Grep"] }, ["Grep price\\("]);
  search("denied", { status: "denied" }, ["crm_archive 214 deals"]);
  search("nothing that is there", { text: "no such thing" }, []);

  it("goes from a row to its parent", () => {
    const view = new TimelineView();
    view.apply(sampleJournal("running"));
    view.setFilter({ ...everything, grouping: "time", tools: ["Task"] });
    const task = view.rows(0, 1).rows[0]?.id ?? "";
    view.toggle(task, true);
    const child = view.rows(0, 10).rows.find((row) => row.level === 2)?.id ?? "";
    const reveal = view.parentOf(child);
    assert.equal(reveal?.type === "reveal" && reveal.position, 0);
  });

  it("folds in slices to what it folds to in one go", () => {
    const journal = largeJournal(400);
    const whole = new TimelineView();
    whole.apply(journal);
    const sliced = new TimelineView();
    for (let at = 0; at < journal.length; at += 37) sliced.apply(journal.slice(at, at + 37));
    assert.deepEqual(sliced.rows(0, 500).rows, whole.rows(0, 500).rows);
    assert.deepEqual(sliced.totals(), whole.totals());
  });

  it("tells a webview every change, whatever happens in which order", () => {
    const journal = sampleJournal("committed");
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.record({ do: fc.constant("apply" as const), n: fc.nat(6) }) },
      { weight: 3, arbitrary: fc.record({ do: fc.constant("toggle" as const), n: fc.nat(60) }) },
      { weight: 2, arbitrary: fc.record({ do: fc.constant("window" as const), n: fc.nat(40) }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant("all" as const), n: fc.nat(40) }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant("filter" as const), n: fc.nat(5) }) },
    );
    const filters = [
      everything,
      { ...everything, grouping: "time" as const },
      { ...everything, grouping: "tool" as const },
      { ...everything, text: "src" },
      { ...everything, classes: ["held" as const, "irreversible" as const] },
      { ...everything, status: "failed" as const },
    ];
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const view = new TimelineView();
        const mirror = new Mirror();
        mirror.receive(view.setFilter(everything));
        let read = 0;
        for (const { do: what, n } of steps) {
          const row =
            view.layout().total === 0 ? undefined : mirror.cache.at(mirror.cache.window.from + n);
          if (what === "apply") {
            const entries: Entry[] = journal.slice(read, read + n);
            read += entries.length;
            mirror.receive(view.apply(entries));
          } else if (what === "toggle" && row !== undefined) {
            mirror.receive(view.toggle(row.id, row.expanded !== true));
          } else if (what === "all" && row !== undefined) {
            mirror.receive(view.openSiblings(row.id));
          } else if (what === "window") mirror.receive(view.rows(n, 12));
          else if (what === "filter") mirror.receive(view.setFilter(filters[n] ?? everything));
          agree(view, mirror);
        }
      }),
      {
        numRuns: 300,
        examples: [
          // A row below another that is opened is told anew itself, alone or with those beside it.
          [
            [
              { do: "apply", n: 5 },
              { do: "toggle", n: 1 },
              { do: "all", n: 2 },
            ],
          ],
          [
            [
              { do: "apply", n: 5 },
              { do: "toggle", n: 1 },
              { do: "toggle", n: 2 },
            ],
          ],
        ],
      },
    );
  });
});

describe("row window", () => {
  const check = (
    name: string,
    from: number,
    to: number,
    splice: [number, number, number],
    expected: [number, number],
  ): void => {
    it(name, () => {
      const [at, removed, inserted] = splice;
      assert.deepEqual(shiftWindow({ from, to }, { at, removed, inserted }), {
        from: expected[0],
        to: expected[1],
      });
    });
  };
  check("is untouched by what comes after", 10, 20, [30, 0, 5], [10, 20]);
  check("moves with what comes before", 10, 20, [2, 1, 4], [13, 23]);
  check("grows by what comes inside", 10, 20, [15, 0, 3], [10, 23]);
  check("grows by what comes at its end", 10, 20, [20, 0, 3], [10, 23]);
  check("shrinks by what goes inside", 10, 20, [12, 4, 0], [10, 16]);
  check("never grows beyond the limit", 10, 20, [15, 0, 9000], [10, 510]);
});
