import { execFileSync } from "node:child_process";
import path from "node:path";
import fc from "fast-check";
import type { Fork } from "../../src/runtime/ports.ts";

/** One thing that a program does to a tree. */
export interface TreeEdit {
  readonly act:
    | "write"
    | "append"
    | "remove"
    | "mkdir"
    | "symlink"
    | "chmod"
    | "rename"
    | "link"
    | "touch"
    | "fifo";
  readonly path: string;
  readonly to?: string;
  readonly content?: string;
  readonly target?: string;
  readonly mode?: number;
}

/** A tree as the actor sees it: path → type, mode and content in one line. */
export type Seen = ReadonlyMap<string, string>;

/** How often a property is tried on random trees: half as often where a suite runs again as another user or on another build. */
export function randomRuns(count: number): number {
  return process.env["HOLDFAST_TEST_NATIVE"] === undefined ? count : Math.ceil(count / 2);
}

const actor = path.join(import.meta.dirname, "treeActor.mjs");

/** Applies edits to a directory and looks at it; with a fork's overlays, inside a mount namespace that has them. */
export function actOn(
  root: string,
  edits: readonly TreeEdit[],
  overlays: Fork["overlays"] = [],
  exact = false,
): Seen {
  const layers = overlays.flatMap(({ at, lower, upper, work }) => [
    path.join(root, at),
    lower,
    upper,
    work,
  ]);
  const node = [process.execPath, actor, ...layers];
  const own = process.getuid?.() === 0 ? ["-m"] : ["-Um", "--map-current-user", "--keep-caps"];
  const argv = layers.length === 0 ? node : ["unshare", ...own, ...node];
  const [program = "", ...args] = argv;
  const input = JSON.stringify({ root, edits, exact });
  const output = execFileSync(program, args, { input, encoding: "utf8", maxBuffer: 1 << 28 });
  return new Map(JSON.parse(output) as [string, string][]);
}

/** The same, and the look also tells times, which names are one file, FIFOs and sockets. */
export function actExactly(
  root: string,
  edits: readonly TreeEdit[],
  overlays: Fork["overlays"] = [],
): Seen {
  return actOn(root, edits, overlays, true);
}

/** What changed between two looks, in the words of a change set, renames as a deletion and an addition. */
export function oracleLines(base: Seen, shadow: Seen): string[] {
  const lines: string[] = [];
  for (const one of new Set([...base.keys(), ...shadow.keys()])) {
    const [was, is] = [base.get(one), shadow.get(one)];
    if (was === is) continue;
    const [wasType, isType] = [was?.[0], is?.[0]];
    if (was !== undefined && is !== undefined && wasType !== "d" && isType !== "d") {
      if (wasType !== isType || isType === "l") lines.push(`symlink ${one}`);
      else lines.push(`${was.split(" ")[2] === is.split(" ")[2] ? "mode" : "modified"} ${one}`);
    } else if (wasType === "d" && isType === "d") {
      if (was?.split(" ")[1] !== is?.split(" ")[1]) lines.push(`mode ${one}`);
    } else {
      if (was !== undefined && !was.endsWith("full")) lines.push(`deleted ${one}`);
      if (is !== undefined && !is.endsWith("full")) lines.push(`added ${one}`);
    }
  }
  return lines.sort();
}

const names = [
  "a",
  "b",
  "dir",
  "-dash",
  "new\nline",
  "caf\u00e9",
  "cafe\u0301",
  "bad\udcff",
  "sp ace",
];
const somePath = fc
  .array(fc.constantFrom(...names), { minLength: 1, maxLength: 3 })
  .map((parts) => parts.join("/"));
const content = fc.string({ maxLength: 40 });
const mode = fc.constantFrom(0o644, 0o600, 0o755, 0o444, 0o700);

/** Any edit on a small set of odd names. */
export const someEdit: fc.Arbitrary<TreeEdit> = fc.oneof(
  fc.record({ act: fc.constant("write" as const), path: somePath, content }),
  fc.record({ act: fc.constant("append" as const), path: somePath, content }),
  fc.record({ act: fc.constant("remove" as const), path: somePath }),
  fc.record({ act: fc.constant("mkdir" as const), path: somePath }),
  fc.record({
    act: fc.constant("symlink" as const),
    path: somePath,
    target: fc.constantFrom("a", "../b", "gone"),
  }),
  fc.record({ act: fc.constant("chmod" as const), path: somePath, mode }),
  fc.record({ act: fc.constant("rename" as const), path: somePath, to: somePath }),
  fc.record({ act: fc.constant("link" as const), path: somePath, to: somePath }),
  fc.record({ act: fc.constant("touch" as const), path: somePath }),
);

/** Also what no commit carries, and hard links more often. */
export const someEditOfAnyKind: fc.Arbitrary<TreeEdit> = fc.oneof(
  { weight: 6, arbitrary: someEdit },
  { weight: 1, arbitrary: fc.record({ act: fc.constant("fifo" as const), path: somePath }) },
  {
    weight: 2,
    arbitrary: fc.record({ act: fc.constant("link" as const), path: somePath, to: somePath }),
  },
);

/** Edits that build a tree from nothing: directories first. */
export const someTree: fc.Arbitrary<readonly TreeEdit[]> = fc
  .tuple(
    fc.uniqueArray(somePath, { maxLength: 6 }),
    fc.array(someEdit, { minLength: 4, maxLength: 25 }),
  )
  .map(([directories, edits]) => [
    ...directories.sort().map((one): TreeEdit => ({ act: "mkdir", path: one })),
    ...edits,
  ]);
