/** One side of a possible rename. `identity` names the inode over its whole life (inode, birth, change time). */
export interface RenameSide {
  readonly path: string;
  readonly size: number;
  readonly ino: string;
  readonly btime: string;
  readonly ctime: string;
  readonly ignored: boolean;
}

/** Reads a side's content; undefined when it cannot or should not be read. */
export type ReadSide = (side: RenameSide) => Promise<Uint8Array | undefined>;

const largestCompared = 1 << 20;
const mostPairs = 2500;
const similarEnough = 0.5;

/** Share of lines (of the longer side, by bytes) that both sides have, 0 to 1. */
export function similarity(left: Uint8Array, right: Uint8Array): number {
  const longer = Math.max(left.length, right.length);
  if (longer === 0) return 1;
  const counts = new Map<string, number>();
  for (const line of linesOf(left)) counts.set(line, (counts.get(line) ?? 0) + 1);
  let common = 0;
  for (const line of linesOf(right)) {
    const count = counts.get(line) ?? 0;
    if (count === 0) continue;
    counts.set(line, count - 1);
    common += line.length;
  }
  return common / longer;
}

function linesOf(bytes: Uint8Array): string[] {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    .toString("latin1")
    .split(/(?<=\n)/);
}

function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** Best partner first: the same name, then the nearest path. */
function nearest(from: RenameSide, candidates: readonly RenameSide[]): RenameSide | undefined {
  const same = candidates.find((one) => baseName(one.path) === baseName(from.path));
  return same ?? candidates[0];
}

/**
 * Pairs deleted with added regular files: first the inode that moved, then equal content, then similar text (at least
 * half of the longer side, up to 1 MiB). Empty files and pairs of which one is ignored are never renames. Returns added
 * path → deleted path.
 */
export async function findRenames(
  deleted: readonly RenameSide[],
  added: readonly RenameSide[],
  read: { readonly deleted: ReadSide; readonly added: ReadSide },
): Promise<ReadonlyMap<string, string>> {
  const renames = new Map<string, string>();
  const open = {
    deleted: new Set(deleted.filter((side) => side.size > 0 && !side.ignored)),
    added: new Set(added.filter((side) => side.size > 0 && !side.ignored)),
  };
  const pair = (from: RenameSide, to: RenameSide): void => {
    renames.set(to.path, from.path);
    open.deleted.delete(from);
    open.added.delete(to);
  };
  const contents = new Map<RenameSide, Uint8Array | undefined>();
  const contentOf = async (side: RenameSide, of: "deleted" | "added") => {
    if (!contents.has(side) && side.size <= largestCompared)
      contents.set(side, await read[of](side));
    return contents.get(side);
  };

  const byInode = new Map(added.map((side) => [`${side.ino} ${side.btime}`, side]));
  for (const from of [...open.deleted]) {
    const to = byInode.get(`${from.ino} ${from.btime}`);
    if (to === undefined || !open.added.has(to)) continue;
    if (from.ctime === to.ctime && from.size === to.size) {
      pair(from, to);
      continue;
    }
    const [left, right] = [await contentOf(from, "deleted"), await contentOf(to, "added")];
    if (
      left === undefined || right === undefined
        ? from.size === to.size
        : similarity(left, right) >= similarEnough
    )
      pair(from, to);
  }
  const bySize = new Map<number, RenameSide[]>();
  for (const to of open.added) bySize.set(to.size, [...(bySize.get(to.size) ?? []), to]);
  for (const from of [...open.deleted]) {
    const equal: RenameSide[] = [];
    for (const to of bySize.get(from.size) ?? []) {
      if (!open.added.has(to)) continue;
      const [left, right] = [await contentOf(from, "deleted"), await contentOf(to, "added")];
      if (left !== undefined && right !== undefined && Buffer.compare(left, right) === 0)
        equal.push(to);
    }
    const to = nearest(from, equal);
    if (to !== undefined) pair(from, to);
  }
  if (open.deleted.size * open.added.size > mostPairs) return renames;
  for (const { from, to } of await similarPairs(open.deleted, open.added, contentOf))
    if (open.deleted.has(from) && open.added.has(to)) pair(from, to);
  return renames;
}

async function similarPairs(
  deleted: ReadonlySet<RenameSide>,
  added: ReadonlySet<RenameSide>,
  contentOf: (side: RenameSide, of: "deleted" | "added") => Promise<Uint8Array | undefined>,
): Promise<readonly { readonly from: RenameSide; readonly to: RenameSide }[]> {
  const pairs: { from: RenameSide; to: RenameSide; score: number }[] = [];
  for (const from of deleted) {
    for (const to of added) {
      if (Math.min(from.size, to.size) < Math.max(from.size, to.size) * similarEnough) continue;
      const [left, right] = [await contentOf(from, "deleted"), await contentOf(to, "added")];
      if (left === undefined || right === undefined) continue;
      const score = similarity(left, right);
      if (score >= similarEnough) pairs.push({ from, to, score });
    }
  }
  return pairs.sort((a, b) => b.score - a.score);
}
