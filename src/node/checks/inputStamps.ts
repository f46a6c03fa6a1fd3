import { lstat } from "node:fs/promises";
import { join } from "node:path";
import type { CheckContext } from "./checker.ts";
import type { ChangedInput } from "./workerProtocol.ts";

/** Names the content of the changed files by their stamps; nothing of them is read here. */
export async function inputStamps(
  context: CheckContext,
  changed: readonly ChangedInput[],
): Promise<string> {
  const stamps = changed.map(async ({ path, stamp = "" }) => {
    const stat = await lstat(join(context.fork.shadow, path), { bigint: true }).catch(absent);
    return `${path} ${stamp} ${stat?.size.toString() ?? ""} ${stat?.ctimeNs.toString() ?? ""}`;
  });
  return (await Promise.all(stamps)).join("\n");
}

function absent(error: unknown): undefined {
  if (error instanceof Error && "code" in error) return undefined;
  throw error;
}
