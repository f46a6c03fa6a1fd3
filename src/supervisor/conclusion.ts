import type { StartSpec } from "./startSpec.ts";

/** Alerts that say why `--on-exit` did not come to what was asked. Every ending that fails is told by one of them. */
export const notConcluded = ["conflicts", "not-concluded", "not-clean"] as const;

/** Kinds of the entries that may conclude. */
export function concludingKinds(onExit: StartSpec["onExit"]): readonly string[] {
  if (onExit === "commit") return ["alert", "commit.published"];
  return ["alert", onExit === "discard" ? "transaction.discarded" : "transaction.sealed"];
}

/** Whether nothing more happens by itself after this entry: the ending that was asked for, or word that it failed. */
export function concludes(
  entry: { readonly kind: string; readonly [member: string]: unknown },
  onExit: StartSpec["onExit"],
): boolean {
  if (entry.kind === "alert") return notConcluded.some((code) => code === entry["code"]);
  return concludingKinds(onExit).includes(entry.kind);
}
