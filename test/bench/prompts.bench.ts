import { type Bench, type Figure } from "../support/bench.ts";
import { countPrompts, type PromptCount, targetsOf } from "../support/promptReport.ts";
import {
  developmentData,
  isPeopleAtWork,
  predictAll,
  readToolCalls,
} from "../support/toolCalls.ts";

/** A share with its bootstrap interval in the columns of a figure. */
function figureOfShare(count: PromptCount): Figure {
  const { value, low, high } = count.share;
  const { mean, never } = count.perSession;
  return {
    name: `calls that ask: ${count.title}`,
    unit: "%",
    median: value * 100,
    min: low * 100,
    max: high * 100,
    runs: count.calls,
    note: `min – max: 95 % by session; ${mean.toFixed(2)} a session, ${(never * 100).toFixed(1)} % of sessions never`,
  };
}

/** How often a person is asked; `npm run bench:prompts` prints the whole of it. */
export const bench: Bench = {
  title: "Prompts (labelled public tool calls of people at work)",
  run: () => {
    const calls = predictAll(readToolCalls(developmentData));
    const { missed, asksOfNone } = targetsOf(calls);
    const plain = (name: string, unit: string, value: number, note: string): Figure => ({
      name,
      unit,
      median: value,
      min: value,
      max: value,
      runs: calls.length,
      note,
    });
    const share = (asksOfNone.asked / asksOfNone.calls) * 100;
    return Promise.resolve([
      ...countPrompts(calls.filter(isPeopleAtWork)).map(figureOfShare),
      plain("prediction: labelled crossings missed", "calls", missed.length, "target 0"),
      plain("prediction: asks among calls labelled none", "%", share, "target ≤ 0.3"),
    ]);
  },
};
