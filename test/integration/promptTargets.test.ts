import assert from "node:assert/strict";
import { countPrompts, targetsOf } from "../support/promptReport.ts";
import {
  developmentData,
  isPeopleAtWork,
  predictAll,
  readToolCalls,
} from "../support/toolCalls.ts";

describe("prompts over the public tool calls", () => {
  const calls = predictAll(readToolCalls(developmentData));

  it("no labelled crossing is missed, and few calls are asked about in vain", () => {
    const targets = targetsOf(calls);
    assert.deepEqual(targets.missed, []);
    assert.ok(targets.asksOfNone.asked <= targets.asksOfNone.calls * 0.003);
  });

  it("the counts are those of the data's own description", () => {
    const counts = countPrompts(calls.filter(isPeopleAtWork));
    const asked = Object.fromEntries(counts.map((one) => [one.policy, one.asked]));
    assert.deepEqual(
      [asked["perMutation"], asked["prefixAllow"], asked["default"], asked["recoverable"]],
      [8_802, 7_762, 355, 147],
    );
  });
});
