/** A mean or a ratio with its 95 % interval. */
export interface Interval {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

/** Sums of one session: `part` of `whole`. */
export interface Share {
  readonly part: number;
  readonly whole: number;
}

/**
 * The ratio of sums over sessions, with a percentile interval from resampling whole sessions: calls of one session are
 * not independent. The generator is seeded, so that two runs print the same.
 */
export function bootstrapShare(
  sessions: readonly Share[],
  resamples = 4_000,
  ratio: (part: number, whole: number) => number = (part, whole) =>
    whole === 0 ? 0 : part / whole,
): Interval {
  const random = generator(20_261_129);
  const values: number[] = [];
  for (let sample = 0; sample < resamples; sample++) {
    let part = 0;
    let whole = 0;
    for (let drawn = 0; drawn < sessions.length; drawn++) {
      const one = sessions[Math.floor(random() * sessions.length)];
      part += one?.part ?? 0;
      whole += one?.whole ?? 0;
    }
    values.push(ratio(part, whole));
  }
  values.sort((a, b) => a - b);
  const sum = (of: keyof Share) => sessions.reduce((total, one) => total + one[of], 0);
  return {
    value: ratio(sum("part"), sum("whole")),
    low: values[Math.floor(resamples * 0.025)] ?? NaN,
    high: values[Math.ceil(resamples * 0.975) - 1] ?? NaN,
  };
}

/** Mulberry32: small, seeded, good enough to draw sessions. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
