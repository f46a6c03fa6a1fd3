import { predictedEffects, asks } from "../../src/core/predict/effect.ts";
import { bootstrapShare, type Interval } from "./bootstrap.ts";
import { promptPolicies, type PromptPolicy } from "./promptPolicies.ts";
import type { JudgedCall } from "./toolCalls.ts";

/** How often one policy asks over some sessions. */
export interface PromptCount {
  readonly policy: string;
  readonly title: string;
  readonly asked: number;
  readonly calls: number;
  readonly share: Interval;
  readonly perSession: {
    readonly mean: number;
    readonly median: number;
    readonly p90: number;
    readonly max: number;
    readonly never: number;
  };
  /** Share of the prompts of the first policy (per mutation) that are saved. */
  readonly saved: Interval;
}

/** Labels by predictions, counts of calls. */
export type Confusion = Readonly<Record<string, Readonly<Record<string, number>>>>;

/** The two targets of the prediction. */
export interface Targets {
  readonly missed: readonly string[];
  readonly asksOfNone: { readonly asked: number; readonly calls: number };
  readonly met: boolean;
}

/** Sessions in order, each with its calls in order. */
export function sessionsOf(calls: readonly JudgedCall[]): readonly (readonly JudgedCall[])[] {
  const sessions = new Map<number, JudgedCall[]>();
  for (const call of calls) {
    const session = sessions.get(call.session);
    if (session === undefined) sessions.set(call.session, [call]);
    else session.push(call);
  }
  return [...sessions.values()];
}

/** Counts every policy over the same sessions. */
export function countPrompts(calls: readonly JudgedCall[]): readonly PromptCount[] {
  const sessions = sessionsOf(calls);
  const customary = sessions.map((session) => countSession(session, promptPolicies[0]));
  return promptPolicies.map((policy) => {
    const counts = sessions.map((session) => countSession(session, policy));
    const sorted = [...counts].sort((a, b) => a - b);
    const at = (part: number) => quantile(sorted, part);
    const asked = counts.reduce((sum, one) => sum + one, 0);
    const shares = counts.map((part, index) => ({ part, whole: sessions[index]?.length ?? 0 }));
    const against = counts.map((part, index) => ({ part, whole: customary[index] ?? 0 }));
    return {
      policy: policy.id,
      title: policy.title,
      asked,
      calls: calls.length,
      share: bootstrapShare(shares),
      perSession: {
        mean: asked / Math.max(1, sessions.length),
        median: at(0.5),
        p90: at(0.9),
        max: at(1),
        never: counts.filter((one) => one === 0).length / Math.max(1, sessions.length),
      },
      saved: bootstrapShare(against, 4_000, (part, whole) => (whole === 0 ? 0 : 1 - part / whole)),
    };
  });
}

/** Linear between the two nearest, to one decimal. */
function quantile(sorted: readonly number[], part: number): number {
  const place = (sorted.length - 1) * part;
  const low = sorted[Math.floor(place)] ?? 0;
  const high = sorted[Math.ceil(place)] ?? low;
  return Math.round((low + (high - low) * (place - Math.floor(place))) * 10) / 10;
}

function countSession(session: readonly JudgedCall[], policy: PromptPolicy | undefined): number {
  const seen = new Set<string>();
  return session.filter((call) => policy?.asks(call, seen) === true).length;
}

/** How the prediction compares with the labels. */
export function confusionOf(calls: readonly JudgedCall[]): Confusion {
  const table: Record<string, Record<string, number>> = {};
  for (const label of predictedEffects) table[label] = {};
  for (const { crossing, prediction } of calls) {
    const said =
      prediction.unparsable === true && prediction.effect === "none"
        ? "unparsable"
        : prediction.effect;
    const row = (table[crossing] ??= {});
    row[said] = (row[said] ?? 0) + 1;
  }
  return table;
}

/** No labelled crossing missed, and at most 0.3 % of the calls that cross nothing asked about. */
export function targetsOf(calls: readonly JudgedCall[]): Targets {
  const crossing = calls.filter(
    (one) => one.crossing === "recoverable" || one.crossing === "irreversible",
  );
  const missed = crossing
    .filter((one) => !asks(one.prediction))
    .map((one) => `session ${one.session}, call ${one.n}: ${one.reason}`);
  const none = calls.filter((one) => one.crossing === "none");
  const asked = none.filter((one) => asks(one.prediction)).length;
  const met = missed.length === 0 && asked <= none.length * 0.003;
  return { missed, asksOfNone: { asked, calls: none.length }, met };
}
