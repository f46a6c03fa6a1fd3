import type { Timeline } from "../../core/timeline/timeline.ts";
import type { TimelineNode } from "../../core/timeline/timelineNode.ts";
import type { Filter, RowClass } from "../../protocol/webview.ts";

/** What filters ask about a root, kept so that a search over all roots is one pass over short strings. */
interface Facts {
  readonly class: RowClass;
  readonly tool: string;
  /** Lower-case words of the root and everything below it. */
  readonly words: string;
  readonly failed: boolean;
  readonly held: boolean;
  readonly denied: boolean;
}

/** Longest text kept for the search of one root, in characters. */
const wordsLimit = 4000;

const kindTools: Readonly<Partial<Record<TimelineNode["kind"], string>>> = {
  disclosures: "Read requests",
  model: "Model traffic",
  check: "Checks",
  savepoint: "Savepoints",
  commit: "Commits",
  event: "Agent messages",
  alert: "Alerts",
  process: "Processes",
  file: "Files",
  request: "Requests",
  hold: "Holds",
};

/** Facts about every root of a timeline, updated when one changes. */
export class RootFacts {
  readonly #timeline: Timeline;
  readonly #facts = new Map<number, Facts>();
  readonly #counts: Record<RowClass, number> = {
    held: 0,
    irreversible: 0,
    recoverable: 0,
    reversible: 0,
  };
  readonly #tools = new Set<string>();

  constructor(timeline: Timeline) {
    this.#timeline = timeline;
  }

  counts(): Readonly<Record<RowClass, number>> {
    return this.#counts;
  }

  /** Names for the filter, in alphabetical order. */
  tools(): string[] {
    return [...this.#tools].sort();
  }

  toolOf(root: number): string {
    return this.#facts.get(root)?.tool ?? "";
  }

  update(root: number): void {
    const node = this.#timeline.node(root);
    if (node === undefined) return;
    const before = this.#facts.get(root);
    if (before !== undefined) this.#counts[before.class]--;
    const facts = this.#gather(node);
    this.#counts[facts.class]++;
    this.#tools.add(facts.tool);
    this.#facts.set(root, facts);
  }

  matches(root: number, filter: Filter): boolean {
    const facts = this.#facts.get(root);
    if (facts === undefined) return false;
    if (filter.classes.length > 0 && !filter.classes.includes(facts.class)) return false;
    if (filter.tools.length > 0 && !filter.tools.includes(facts.tool)) return false;
    if (filter.status !== "all" && !facts[filter.status]) return false;
    return filter.text === "" || facts.words.includes(filter.text.toLowerCase());
  }

  #gather(root: TimelineNode): Facts {
    let words = "";
    let failed = false;
    let held = false;
    let denied = false;
    const visit = (node: TimelineNode): void => {
      if (words.length < wordsLimit) {
        const parts = [
          node.tool ?? "",
          node.title,
          node.target,
          node.subAgent ?? "",
          node.rule ?? "",
        ];
        words += `${parts.join(" ")}\n`;
      }
      failed ||= node.status === "failed";
      held ||= node.verdict === "hold" || node.kind === "hold";
      denied ||= node.status === "denied";
      // A collapsed row may have tens of thousands of children that all say the same.
      if (node.id < 0) return;
      for (const child of node.children) {
        const below = this.#timeline.node(child);
        if (below !== undefined) visit(below);
      }
    };
    visit(root);
    return {
      class: this.#timeline.groupOf(root.id),
      tool: root.tool ?? kindTools[root.kind] ?? root.kind,
      words: words.toLowerCase(),
      failed,
      held,
      denied,
    };
  }
}
