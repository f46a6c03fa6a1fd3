import type { PairAnswer } from "../../core/check/answers.ts";
import type { DeltaInput } from "../../core/check/delta.ts";
import { hunksBetween, lineMapOf, type LineMap } from "../../core/check/lineMap.ts";
import { renamePairs, type LoneFile } from "../../core/check/renamePairs.ts";
import type { ForkSide } from "../../runtime/ports.ts";
import type { CheckContext } from "./checker.ts";

/** How diagnostics of base and shadow correspond: renamed files and moved lines, for files that have diagnostics. */
export async function comparison(
  context: CheckContext,
  pairs: readonly PairAnswer[],
): Promise<Omit<DeltaInput, "base" | "shadow">> {
  const inBase = pathsOf(pairs, "base");
  const inShadow = pathsOf(pairs, "shadow");
  const renames = await renamesOf(context, inBase, inShadow);
  const maps = new Map<string, LineMap>();
  const changed = new Set(context.changed.map((change) => change.path));
  for (const path of inBase) {
    const now = renames.get(path) ?? path;
    if (!changed.has(now) || !inShadow.has(now)) continue;
    const [base, shadow] = [await text(context, "base", path), await text(context, "shadow", now)];
    if (base !== undefined && shadow !== undefined) {
      maps.set(path, lineMapOf(hunksBetween(base, shadow)));
    }
  }
  return { renames, lines: (path) => maps.get(path) };
}

function pathsOf(pairs: readonly PairAnswer[], side: ForkSide): ReadonlySet<string> {
  return new Set(pairs.flatMap((pair) => pair[side].diagnostics.map((d) => d.path)));
}

/** The renames that the fork tells, and those that show in the content of files that came and went. */
async function renamesOf(
  context: CheckContext,
  inBase: ReadonlySet<string>,
  inShadow: ReadonlySet<string>,
): Promise<ReadonlyMap<string, string>> {
  const renames = new Map<string, string>();
  const deleted: LoneFile[] = [];
  const added: LoneFile[] = [];
  for (const change of context.changed) {
    if (change.from !== undefined) renames.set(change.from, change.path);
    else if (change.change === "deleted" && inBase.has(change.path)) {
      deleted.push({ path: change.path, text: (await text(context, "base", change.path)) ?? "" });
    } else if (change.change === "added" && inShadow.has(change.path)) {
      added.push({ path: change.path, text: (await text(context, "shadow", change.path)) ?? "" });
    }
  }
  for (const [from, to] of renamePairs(deleted, added)) renames.set(from, to);
  return renames;
}

async function text(
  context: CheckContext,
  side: ForkSide,
  path: string,
): Promise<string | undefined> {
  const bytes = await context.reader.read(side, path);
  return bytes === undefined ? undefined : Buffer.from(bytes).toString("utf8");
}
