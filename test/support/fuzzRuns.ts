/** How many inputs a property is tried with: `usual`, or `HOLDFAST_FUZZ_RUNS` when a person wants more. */
export function fuzzRuns(usual: number): number {
  const wanted = Number(process.env["HOLDFAST_FUZZ_RUNS"] ?? usual);
  if (!Number.isSafeInteger(wanted) || wanted < 1)
    throw new Error("HOLDFAST_FUZZ_RUNS is a number of runs, from 1 on");
  return wanted;
}
