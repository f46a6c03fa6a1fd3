/** What a call would do outside the machine, from nothing to final. */
export type PredictedEffect = "none" | "disclosure" | "recoverable" | "irreversible";

/** From harmless to final; the place in this list is the order. */
export const predictedEffects: readonly PredictedEffect[] = [
  "none",
  "disclosure",
  "recoverable",
  "irreversible",
];

/** What a declared call will probably do. Shown and measured, never a ground for a verdict. */
export interface Prediction {
  readonly effect: PredictedEffect;
  /** For people: "pushes a branch". */
  readonly does: string;
  /** How to undo it on the platform; with a recoverable effect. */
  readonly wayBack?: string;
  /** The command could not be understood: it counts as asking. */
  readonly unparsable?: true;
}

/** Nothing leaves the machine. */
export function local(does = "stays on this machine"): Prediction {
  return { effect: "none", does };
}

/** A read request leaves, nothing changes there. */
export function discloses(does: string): Prediction {
  return { effect: "disclosure", does };
}

export function recoverable(does: string, wayBack: string): Prediction {
  return { effect: "recoverable", does, wayBack };
}

export function irreversible(does: string): Prediction {
  return { effect: "irreversible", does };
}

export function unparsable(why: string): Prediction {
  return { effect: "none", does: why, unparsable: true };
}

/** The strictest of several; what cannot be understood stays marked. */
export function strictest(all: readonly Prediction[]): Prediction {
  const rank = (one: Prediction) => predictedEffects.indexOf(one.effect);
  const worst = all.reduce((best, one) => (rank(one) > rank(best) ? one : best), local());
  const unclear = all.find((one) => one.unparsable === true);
  return unclear === undefined || asks(worst)
    ? worst
    : { ...worst, does: unclear.does, unparsable: true };
}

/** Whether a person would be asked under the default policy. */
export function asks(prediction: Prediction): boolean {
  return (
    prediction.unparsable === true ||
    prediction.effect === "recoverable" ||
    prediction.effect === "irreversible"
  );
}
