import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import type { Prediction, PredictedEffect } from "../../src/core/predict/effect.ts";
import type { BranchKind } from "../../src/core/predict/predictGit.ts";
import { Predictor } from "../../src/core/predict/predictor.ts";
import { scriptOfSkeleton } from "./toolCallSkeleton.ts";

/** One labelled call of the public data; its README describes every member. */
export interface LabelledCall {
  readonly session: number;
  readonly n: number;
  readonly source: string;
  readonly tool: string;
  readonly branch?: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly perMutation: boolean;
  readonly prefixAllow: boolean;
  readonly crossing: PredictedEffect;
  readonly reason: string;
}

/** A labelled call and what the prediction says of it. */
export interface JudgedCall extends LabelledCall {
  readonly prediction: Prediction;
}

export const developmentData = new URL("../data/tool-calls/tool-calls.jsonl.gz", import.meta.url);

/** The calls of a file, JSON Lines, compressed or not, in session order. */
export function readToolCalls(file: string | URL): readonly LabelledCall[] {
  const bytes = readFileSync(file);
  const text = (bytes[0] === 0x1f ? gunzipSync(bytes) : bytes).toString("utf8");
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as LabelledCall)
    .sort((a, b) => a.session - b.session || a.n - b.n);
}

/** Predicts every call, session by session. */
export function predictAll(calls: readonly LabelledCall[]): readonly JudgedCall[] {
  let session: number | undefined;
  let predictor = new Predictor();
  return calls.map((call) => {
    if (call.session !== session) predictor = new Predictor();
    session = call.session;
    const { tool } = call;
    const prediction = predictor.predict({ tool, input: inputOf(call), branch: branchOf(call) });
    return { ...call, prediction };
  });
}

/** The five sources of people at work; the sixth is an unattended benchmark run and never pooled with them. */
export function isPeopleAtWork(call: LabelledCall): boolean {
  return call.source !== "mini-swe-agent";
}

function branchOf(call: LabelledCall): BranchKind {
  if (call.branch === "main") return "default";
  return call.branch === "branch" ? "other" : "unknown";
}

const scripts = ["command", "powershell", "code", "url"];

function inputOf(call: LabelledCall): Readonly<Record<string, unknown>> {
  const decoded = scripts.flatMap((name) => {
    const text = call.input[name];
    return typeof text === "string" ? [[name, scriptOfSkeleton(text)] as const] : [];
  });
  return { ...call.input, ...Object.fromEntries(decoded) };
}
