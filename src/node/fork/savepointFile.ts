import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { z } from "zod";
import { Failure } from "../../base/errors.ts";
import type { Savepoint, TransactionPaths } from "../../runtime/ports.ts";

const difference = z.discriminatedUnion("is", [
  z.object({ is: z.literal("absent"), directory: z.literal(true).optional() }),
  z.object({ is: z.literal("directory"), mode: z.number() }),
  z.object({ is: z.literal("symlink"), target: z.string() }),
  z.object({ is: z.literal("file"), mode: z.number(), blob: z.string(), stamp: z.string() }),
]);

/** What stands at a path of a savepoint where the base has something else. `directory`: the base has one there. `stamp`: inode, ctime and size in the shadow. */
export type Difference = z.infer<typeof difference>;

const savedShape = z.object({
  savepoint: z.string(),
  at: z.string(),
  name: z.string().optional(),
  files: z.number(),
  /** Absent in those that left overlays out: they cannot bring these back, and leave them as they are. */
  overlays: z.literal(true).optional(),
  differences: z.array(z.tuple([z.string(), difference])),
});

/** A savepoint with what it restores. */
export interface Saved extends Savepoint {
  readonly overlays: boolean;
  readonly differences: ReadonlyMap<string, Difference>;
}

/** Where the savepoints of a transaction lie. */
export function savepointsIn(paths: TransactionPaths): string {
  return path.join(paths.state, "savepoints");
}

/** The numbers of the savepoints there are, oldest first. */
export function savepointNumbers(paths: TransactionPaths): readonly number[] {
  const directory = savepointsIn(paths);
  if (!existsSync(directory)) return [];
  return readdirSync(directory)
    .flatMap((name) => /^s(\d+)\.json$/.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b);
}

/** Throws a Failure `no-savepoint` when there is none of that name. */
export function loadSavepoint(paths: TransactionPaths, savepoint: string): Saved {
  const file = path.join(savepointsIn(paths), `${savepoint}.json`);
  if (!/^s\d+$/.test(savepoint) || !existsSync(file)) {
    const fix = "`holdfast savepoints` lists those there are";
    throw new Failure("failed", "no-savepoint", `there is no savepoint ${savepoint}`, fix);
  }
  const { name, overlays, ...saved } = savedShape.parse(JSON.parse(readFileSync(file, "utf8")));
  return {
    ...saved,
    ...(name !== undefined && { name }),
    overlays: overlays === true,
    differences: new Map(saved.differences),
  };
}

/** Appears whole, by rename. */
export function storeSavepoint(paths: TransactionPaths, saved: Saved): void {
  const file = path.join(savepointsIn(paths), `${saved.savepoint}.json`);
  const { overlays, ...rest } = saved;
  const text = JSON.stringify({
    ...rest,
    ...(overlays && { overlays }),
    differences: [...saved.differences],
  });
  writeFileSync(`${file}.new`, text, { mode: 0o600 });
  const fd = openSync(`${file}.new`, "r");
  fsyncSync(fd);
  closeSync(fd);
  renameSync(`${file}.new`, file);
}

/** As the port tells it. */
export function viewOf({ savepoint, at, name, files }: Savepoint): Savepoint {
  return { savepoint, at, files, ...(name !== undefined && { name }) };
}

function same(a: Difference | undefined, b: Difference | undefined): boolean {
  if (a?.is !== b?.is) return false;
  if (a?.is === "file" && b?.is === "file") return a.blob === b.blob && a.mode === b.mode;
  return JSON.stringify(a) === JSON.stringify(b);
}

/** Paths at which two states are not the same, parents first. */
export function pathsThatDiffer(
  a: ReadonlyMap<string, Difference>,
  b: ReadonlyMap<string, Difference>,
): readonly string[] {
  const paths = [...new Set([...a.keys(), ...b.keys()])];
  return paths.filter((one) => !same(a.get(one), b.get(one))).sort();
}
