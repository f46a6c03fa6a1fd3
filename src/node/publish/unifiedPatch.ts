import type { ChangeSet } from "../../core/change/changeSet.ts";
import type { ForkReader } from "../../runtime/ports.ts";
import { patchOf } from "./patchStream.ts";

/** The whole patch as one text in which each character stands for one byte; see {@link patchOf} for large change sets. */
export async function unifiedPatch(
  reader: ForkReader,
  changeSet: ChangeSet,
  paths: readonly string[] = [],
): Promise<string> {
  const pieces: string[] = [];
  for await (const piece of patchOf(reader, changeSet, paths)) {
    pieces.push(Buffer.from(piece).toString("latin1"));
  }
  return pieces.join("");
}
