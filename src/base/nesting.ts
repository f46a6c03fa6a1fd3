/**
 * So many levels deep may arrays and objects lie in each other in what comes out of a sandbox. Whatever walks through a value
 * goes one call deeper with each level, JSON on its way out too: a few thousand are more than the stack has.
 */
export const deepestNesting = 500;

/** What stands in the place of a part that lies deeper. */
const leftOut = `nested more than ${deepestNesting} levels deep: left out`;

function members(value: unknown): readonly unknown[] | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  return Array.isArray(value) ? (value as readonly unknown[]) : Object.values(value);
}

/** Whether a parsed JSON value has arrays and objects in more than so many levels. */
export function isNestedDeeper(value: unknown, levels = deepestNesting): boolean {
  const inside = members(value);
  if (inside === undefined) return false;
  return levels === 0 || inside.some((one) => isNestedDeeper(one, levels - 1));
}

/** The value itself; or where it is nested deeper a copy without what lies too deep, which says so. */
export function withoutDeep(value: unknown): unknown {
  return isNestedDeeper(value) ? cut(value, deepestNesting) : value;
}

function cut(value: unknown, levels: number): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (levels === 0) return leftOut;
  if (Array.isArray(value)) return value.map((one) => cut(one, levels - 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, cut(one, levels - 1)]),
  );
}
