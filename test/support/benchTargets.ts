import { judged, type Figure, type Target } from "./bench.ts";

/** What was promised of the figures of a bench, by the names of the figures. */
export interface Promised {
  /** Name of the bench: `NAME.bench.ts`. */
  readonly bench: string;
  readonly figures: RegExp;
  readonly target: Target;
}

function atMost(bench: string, most: number, ...figures: readonly RegExp[]): readonly Promised[] {
  return figures.map((one) => ({ bench, figures: one, target: { atMost: most } }));
}

/**
 * The figures that were promised before anything was measured, where the bench does not say so itself (`againstTarget`). One
 * that no figure answers is told in the report.
 */
export const promises: readonly Promised[] = [
  ...atMost("fork", 25, /^snapshot, .*: fork$/, /^overlay, .*: fork$/),
  ...atMost("fork", 25, /^(snapshot|overlay), .*: fork, listed before$/),
  ...atMost("fork", 150, /^clone, .*: fork with a spare$/),
  ...atMost("fork", 0.2, /^clone, .*: fork \/ cp -a --reflink=auto$/),
  ...atMost("fork", 150, /^(snapshot|clone|copy), .*: change set of 20 edits$/),
  ...atMost("fork", 15, /^overlay, .*: change set of 20 edits$/),
  ...atMost("fork", 20, /: savepoint of 3 edits$/),
  ...atMost("publish", 2, /^ratio of the two$/),
  ...atMost("publish", 1000, /^change set of 10,000 files listed$/),
  ...atMost("sandbox", 15, /^start to the first instruction$/),
  ...atMost("check", 300, /^TypeScript [56], .*: (a leaf|the hub's body), delta$/),
  ...atMost("check", 0.05, /^TypeScript [56], .*: (a leaf|the hub's body), delta \/ cold tsc$/),
  ...atMost("check", 0.8, /^TypeScript [56], .*: the hub's types, delta \/ cold tsc$/),
  ...atMost("check", 1, /^TypeScript 7, .*, delta \/ tsc --incremental$/),
  ...atMost("timeline", 60, /^(in the editor: )?first rows after the layout is there$/),
  ...atMost("timeline", 17, /^(in the editor: )?frame on fast scroll, p95$/),
  ...atMost("timeline", 2, /^(in the editor: )?frames over 25 ms of 150$/),
  ...atMost("timeline", 20, /^(in the editor: )?event loop of the host, p99/),
  ...atMost("timeline", 20, /^(in the editor: )?heap of the w/),
  ...atMost("timeline", 0, /^(in the editor: )?frames over 25 ms while entries stream in$/),
  ...atMost("timeline", 50, /^(in the editor: )?search$/),
  ...atMost("prompts", 0, /^prediction: labelled crossings missed$/),
  ...atMost("prompts", 0.3, /^prediction: asks among calls labelled none$/),
];

/** Puts beside a figure what was promised of it, unless the bench did. */
export function judgeFigure(bench: string, figure: Figure): Figure {
  if (figure.target !== undefined) return figure;
  const promised = promises.find((one) => one.bench === bench && one.figures.test(figure.name));
  return promised === undefined ? figure : judged(figure, promised.target);
}

/** The promises of a bench that none of its figures answers, by the patterns of their names. */
export function unanswered(bench: string, figures: readonly Figure[]): readonly string[] {
  return promises
    .filter((one) => one.bench === bench)
    .filter((one) => !figures.some(({ name }) => one.figures.test(name)))
    .map((one) => one.figures.source);
}
