import type { StartSpec } from "./startSpec.ts";

/** Alerts that say why `--on-exit` did not come to what was asked. Every ending that fails is told by one of them. */
export const notConcluded = ["conflicts", "not-concluded", "not-clean"] as const;

/** Whether nothing more happens by itself after this entry: the ending that was asked for, or word that it failed. */
export function concludes(
  entry: { readonly kind: string; readonly [member: string]: unknown },
  onExit: StartSpec["onExit"],
): boolean {
  if (entry.kind === "alert") return notConcluded.some((code) => code === entry["code"]);
  if (onExit === "commit") return entry.kind === "commit.published";
  return entry.kind === (onExit === "discard" ? "transaction.discarded" : "transaction.sealed");
}
