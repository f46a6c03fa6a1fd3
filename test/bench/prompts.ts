/**
 * `npm run bench:prompts`: how often a person is asked, over labelled public tool calls.
 *   -- --data FILE    other data of the same form (JSON Lines, compressed or not)
 *   -- --json FILE    everything as JSON, too
 * Ends with 1 when the prediction misses a target.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { predictedEffects } from "../../src/core/predict/effect.ts";
import type { Interval } from "../support/bootstrap.ts";
import {
  confusionOf,
  countPrompts,
  type Confusion,
  type PromptCount,
  sessionsOf,
  targetsOf,
  type Targets,
} from "../support/promptReport.ts";
import {
  developmentData,
  isPeopleAtWork,
  type JudgedCall,
  predictAll,
  readToolCalls,
} from "../support/toolCalls.ts";

const percent = (value: number, digits = 2): string => `${(value * 100).toFixed(digits)} %`;
const interval = ({ low, high }: Interval, digits = 2): string =>
  `${(low * 100).toFixed(digits)}–${(high * 100).toFixed(digits)}`;

function tableOfPrompts(counts: readonly PromptCount[]): string {
  const lines = [
    "| policy | calls that ask | share | 95 % | per session: mean / median / p90 / max | sessions never asked | fewer prompts than per mutation |",
    "|---|---|---|---|---|---|---|",
  ];
  for (const one of counts) {
    const { mean, median, p90, max, never } = one.perSession;
    const saved = `${percent(one.saved.value, 1)} [${interval(one.saved, 1)}]`;
    lines.push(
      `| ${one.title} | ${one.asked} of ${one.calls} | ${percent(one.share.value)} | ${interval(one.share)} | ${mean.toFixed(2)} / ${median} / ${p90} / ${max} | ${percent(never, 1)} | ${saved} |`,
    );
  }
  return lines.join("\n");
}

function tableOfConfusion(confusion: Confusion): string {
  const columns = [...predictedEffects, "unparsable"];
  const lines = [
    `| label \\ prediction | ${columns.join(" | ")} |`,
    `|---|${"---|".repeat(columns.length)}`,
  ];
  for (const label of predictedEffects) {
    lines.push(`| ${label} | ${columns.map((one) => confusion[label]?.[one] ?? 0).join(" | ")} |`);
  }
  return lines.join("\n");
}

function linesOfTargets(targets: Targets): string {
  const { asked, calls } = targets.asksOfNone;
  return [
    `- labelled recoverable or irreversible calls missed: ${targets.missed.length} (target 0)`,
    ...targets.missed.map((one) => `  - ${one}`),
    `- asks among the calls labelled none: ${asked} of ${calls} = ${percent(calls === 0 ? 0 : asked / calls, 3)} (target ≤ 0.3 %)`,
    `- targets ${targets.met ? "met" : "MISSED"}`,
  ].join("\n");
}

interface Part {
  readonly title: string;
  readonly sessions: number;
  readonly prompts: readonly PromptCount[];
  readonly confusion: Confusion;
  readonly targets: Targets;
}

function partOf(title: string, calls: readonly JudgedCall[]): Part {
  return {
    title,
    sessions: sessionsOf(calls).length,
    prompts: countPrompts(calls),
    confusion: confusionOf(calls),
    targets: targetsOf(calls),
  };
}

function markdownOf(part: Part): string {
  const title = `## ${part.title} (${part.sessions} sessions)`;
  const parts = [title, tableOfPrompts(part.prompts), tableOfConfusion(part.confusion)];
  return [...parts, linesOfTargets(part.targets)].join("\n\n");
}

const { values } = parseArgs({ options: { data: { type: "string" }, json: { type: "string" } } });
const begun = performance.now();
const calls = predictAll(readToolCalls(values.data ?? developmentData));
const predictedMs = performance.now() - begun;
const sources = [...new Set(calls.map((one) => one.source))].sort();
const people = calls.filter(isPeopleAtWork);
const parts = [
  partOf("People at work, all sources", people),
  ...sources.map((source) =>
    partOf(
      source,
      calls.filter((one) => one.source === source),
    ),
  ),
];
const targets = targetsOf(calls);
const head = `# How often a person is asked\n\n${calls.length} calls, predicted in ${(predictedMs / 1000).toFixed(1)} s. Intervals: 4,000 bootstrap resamples of sessions.`;
const foot = `## Targets over everything\n\n${linesOfTargets(targets)}`;
process.stdout.write(`${[head, ...parts.map(markdownOf), foot].join("\n\n")}\n`);
if (values.json !== undefined) {
  writeFileSync(
    values.json,
    `${JSON.stringify({ calls: calls.length, parts, targets }, null, 2)}\n`,
  );
}
if (!targets.met) process.exitCode = 1;
