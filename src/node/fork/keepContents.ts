import { decodePath, encodePath } from "./pathBytes.ts";
import { runNative } from "./runNative.ts";

/** Fewer files are kept one by one in the time that a program takes to start. */
const fewest = 32;

/** A file of a tree, decoded by pathBytes.ts. */
export interface WrittenFile {
  readonly root: string;
  readonly at: string;
}

/** Of many small files: the names (SHA-256) under which the native program has copied their contents to `blobs`, by `keyOf`. */
export async function keepContents(
  nativePath: string,
  blobs: string,
  files: readonly WrittenFile[],
): Promise<ReadonlyMap<string, string>> {
  const kept = new Map<string, string>();
  for (const root of new Set(files.map((one) => one.root))) {
    const those = files.filter((one) => one.root === root);
    if (those.length < fewest) continue;
    const input = Buffer.concat(those.map(({ at }) => encodePath(`${at}\0`)));
    const args = ["--tree", root, "--blobs", blobs];
    const { output } = await runNative(nativePath, "contents", args, { input });
    const names = decodePath(output).split("\0");
    for (const [i, one] of those.entries()) {
      const name = names[i] ?? "";
      if (name !== "") kept.set(keyOf(one), name); // the others are for who asks for them one by one
    }
  }
  return kept;
}

/** Tells one file from all others. */
export function keyOf({ root, at }: WrittenFile): string {
  return `${root}\0${at}`;
}
