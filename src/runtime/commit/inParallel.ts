/** Maps in order of the input with at most `width` calls under way; the first rejection rejects after those end. */
export async function inParallel<T, R>(
  items: readonly T[],
  width: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < items.length) {
      const index = next++;
      results[index] = await work(items[index] as T);
    }
  };
  const lanes = await Promise.allSettled(Array.from({ length: width }, lane));
  for (const done of lanes) if (done.status === "rejected") throw done.reason;
  return results;
}
