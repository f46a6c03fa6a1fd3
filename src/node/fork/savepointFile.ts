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
import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { Failure } from "../../base/errors.ts";
import type { Savepoint, TransactionPaths } from "../../runtime/ports.ts";

/** Nanoseconds. */
const time = z.string().regex(/^-?\d+$/);

const difference = z.discriminatedUnion("is", [
  z.object({ is: z.literal("absent"), directory: z.literal(true).optional() }),
  z.object({ is: z.literal("directory"), mode: z.number(), mtime: time.optional() }),
  z.object({
    is: z.literal("symlink"),
    target: z.string(),
    stamp: z.string().optional(),
    mtime: time.optional(),
  }),
  z.object({
    is: z.literal("file"),
    mode: z.number(),
    blob: z.string(),
    stamp: z.string(),
    mtime: time.optional(),
  }),
  z.object({ is: z.enum(["fifo", "socket", "other"]), mode: z.number(), mtime: time }),
  z.object({ is: z.literal("same"), stamp: z.string().optional(), mtime: time }),
]);

/**
 * What stands at a path of a savepoint where the base has something else. `directory`: the base has one there. `stamp`: inode,
 * ctime and size in the shadow; what has the same is one file with several names. `same`: what the base has, but for its time or
 * (with a stamp) the names of its inode; without one these are the base's.
 */
export type Difference = z.infer<typeof difference>;

const savedShape = z.object({
  savepoint: z.string(),
  at: z.string(),
  name: z.string().optional(),
  files: z.number(),
  /** Absent in those that left overlays out: they cannot bring these back, and leave them as they are. */
  overlays: z.literal(true).optional(),
  /** Absent in those that told neither times nor FIFOs and sockets: they leave these as they are. */
  exact: z.literal(true).optional(),
  differences: z.array(z.tuple([z.string(), difference])),
});

/** A savepoint with what it restores. */
export interface Saved extends Savepoint {
  readonly overlays: boolean;
  readonly exact: boolean;
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
  const { name, overlays, exact, ...saved } = savedShape.parse(
    JSON.parse(readFileSync(file, "utf8")),
  );
  return {
    ...saved,
    ...(name !== undefined && { name }),
    overlays: overlays === true,
    exact: exact === true,
    differences: new Map(saved.differences),
  };
}

/** Appears whole, by rename. */
export function storeSavepoint(paths: TransactionPaths, saved: Saved): void {
  const file = path.join(savepointsIn(paths), `${saved.savepoint}.json`);
  const { overlays, exact, ...rest } = saved;
  const text = JSON.stringify({
    ...rest,
    ...(overlays && { overlays }),
    ...(exact && { exact }),
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

/** Without what alone is no change: times, and the inode. */
function contentOf(one: Difference | undefined): Difference | undefined {
  if (one === undefined || one.is === "same") return undefined;
  if (one.is === "absent") return one;
  if (one.is === "file") return { ...one, stamp: "", mtime: "0" };
  if (one.is === "symlink") return { is: one.is, target: one.target };
  return { is: one.is, mode: one.mode, mtime: "0" };
}

/** The paths that have one inode with others, where that is not what the base has. */
function linksOf(differences: ReadonlyMap<string, Difference>): ReadonlyMap<string, string> {
  const byStamp = new Map<string, string[]>();
  for (const [one, state] of differences) {
    const stamp = "stamp" in state ? state.stamp : undefined;
    if (stamp === undefined) continue;
    const known = byStamp.get(stamp);
    if (known === undefined) byStamp.set(stamp, [one]);
    else known.push(one);
  }
  const links = new Map<string, string>();
  for (const paths of byStamp.values()) {
    const [first = ""] = paths;
    if (paths.length > 1 || differences.get(first)?.is === "same")
      for (const one of paths) links.set(one, paths.sort().join("\0"));
  }
  return links;
}

/** Paths at which two states are not the same, parents first; a time alone is no change. */
export function pathsThatDiffer(
  a: ReadonlyMap<string, Difference>,
  b: ReadonlyMap<string, Difference>,
): readonly string[] {
  const [linksOfA, linksOfB] = [linksOf(a), linksOf(b)];
  const paths = [...new Set([...a.keys(), ...b.keys()])];
  const isSame = (one: string): boolean =>
    linksOfA.get(one) === linksOfB.get(one) &&
    isDeepStrictEqual(contentOf(a.get(one)), contentOf(b.get(one)));
  return paths.filter((one) => !isSame(one)).sort();
}
