import type { Splice } from "../../protocol/webview.ts";

/** Positions, in the layout that the splices lead to, of all rows that they inserted. */
export function insertedBy(splices: readonly Splice[]): ReadonlySet<number> {
  let fresh = new Set<number>();
  for (const splice of splices) {
    const shift = splice.inserted - splice.removed;
    const kept = [...fresh].filter((at) => at < splice.at || at >= splice.at + splice.removed);
    fresh = new Set(kept.map((at) => (at < splice.at ? at : at + shift)));
    for (let n = 0; n < splice.inserted; n++) fresh.add(splice.at + n);
  }
  return fresh;
}

/** Neighbouring insertions become one: a busy stream adds row after row at the same end. */
export function joinedSplices(splices: readonly Splice[]): Splice[] {
  const result: Splice[] = [];
  for (const splice of splices) {
    const last = result.at(-1);
    const follows =
      last !== undefined && splice.removed === 0 && splice.at === last.at + last.inserted;
    if (follows) {
      result[result.length - 1] = {
        ...last,
        inserted: last.inserted + splice.inserted,
        tall: [...last.tall, ...splice.tall],
      };
    } else result.push(splice);
  }
  return result;
}
