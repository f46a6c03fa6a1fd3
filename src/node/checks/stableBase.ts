import type { ChangedPath } from "../../runtime/ports.ts";
import { CheckFailure } from "./checkFailure.ts";
import type { CheckContext } from "./checker.ts";

/** How often a base run is repeated because the agent wrote while it ran. */
const mostTries = 4;

/**
 * Runs something over the base view until no file was changed for the first time while it ran: the base view is the shadow with
 * the base's content in the place of the changes known at the start, so later changes would show through.
 * `run` gets the paths that the base lacks, and whether the shadow has no changes at all, when the plain shadow is the base.
 */
export async function stableBase<T>(
  context: CheckContext,
  concerns: (change: ChangedPath) => boolean,
  run: (absent: readonly string[], unchanged: boolean) => Promise<T>,
): Promise<T> {
  let changed = context.changed.filter(concerns);
  for (let attempt = 0; attempt < mostTries; attempt++) {
    const mounted = (path: string): boolean => belowOverlay(context, path);
    const plain = changed.filter((change) => !mounted(change.path));
    const inputs = await context.base.inputs(plain, () => true);
    const absent = inputs.filter((input) => input.base === "absent").map((input) => input.path);
    const result = await run(absent, changed.length === 0);
    if (context.changesNow === undefined) return result;
    const known = new Set(changed.map((change) => change.path));
    const now = (await context.changesNow()).filter(concerns);
    if (now.every((change) => known.has(change.path))) return result;
    changed = now;
  }
  throw new CheckFailure("skipped", "the workspace changed each time while its base was checked");
}

/** Overlays have their base as a layer of their own. */
function belowOverlay(context: CheckContext, path: string): boolean {
  return context.fork.overlays.some(
    ({ at }) => at !== "" && at !== "." && (path === at || path.startsWith(`${at}/`)),
  );
}
