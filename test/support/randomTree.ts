/** A small deterministic generator (mulberry32). */
export class Chance {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** A number in [0, 1). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let word = this.#state;
    word = Math.imul(word ^ (word >>> 15), word | 1);
    word ^= word + Math.imul(word ^ (word >>> 7), word | 61);
    return ((word ^ (word >>> 14)) >>> 0) / 4294967296;
  }

  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  pick<T>(items: readonly T[]): T {
    const item = items[this.below(items.length)];
    if (item === undefined) throw new Error("nothing to pick from");
    return item;
  }

  happens(share: number): boolean {
    return this.next() < share;
  }
}

/** What a path is in a random tree. */
export type RandomNode =
  { readonly content: string; readonly mode: number } | { readonly linkTo: string };

export type RandomTree = ReadonlyMap<string, RandomNode>;

const names = ["a", "b.txt", "c\u00fc", "d/a", "d/b", "d/e/f", "g/h", "g/i j", "k", "l/m/n/o"];
const endings = ["\n", "\n", "\n", "\r\n"];

/** Lines that are nearly all different, so that there is one way to align them. */
export function randomText(chance: Chance): string {
  const ending = chance.pick(endings);
  const count = chance.below(14);
  let text = "";
  for (let line = 0; line < count; line++) text += `line ${line} ${chance.below(1e6)}${ending}`;
  return chance.happens(0.2) ? text.trimEnd() : text;
}

/** The same text with some lines changed, added or taken away. */
export function editText(chance: Chance, text: string): string {
  const lines = text.split(/(?<=\n)/);
  for (let edits = 1 + chance.below(3); edits > 0; edits--) {
    const at = chance.below(lines.length + 1);
    const fresh = `edit ${chance.below(1e9)}\n`;
    if (chance.happens(0.4) && at < lines.length) lines[at] = fresh;
    else if (chance.happens(0.5) && at < lines.length) lines.splice(at, 1);
    else lines.splice(at, 0, fresh);
  }
  return lines.join("");
}

function randomNode(chance: Chance): RandomNode {
  if (chance.happens(0.12)) return { linkTo: chance.pick(["a", "d/b", "x", "../y"]) };
  const mode = chance.pick([0o644, 0o644, 0o755, 0o600]);
  if (chance.happens(0.1)) return { content: `\0${chance.below(1000)}`, mode };
  return { content: randomText(chance), mode };
}

export function randomTree(chance: Chance): RandomTree {
  const tree = new Map<string, RandomNode>();
  for (const name of names) if (chance.happens(0.6)) tree.set(name, randomNode(chance));
  return tree;
}

/** The tree as somebody left it who worked on some of its files. `shared` edits come out the same for everybody. */
export function editTree(chance: Chance, tree: RandomTree, shared: number): RandomTree {
  const edited = new Map(tree);
  for (const name of names) {
    if (!chance.happens(0.45)) continue;
    const source = chance.happens(0.15) ? new Chance(shared + name.length) : chance;
    const node = edited.get(name);
    if (node === undefined || source.happens(0.12)) edited.set(name, randomNode(source));
    else if (source.happens(0.15)) edited.delete(name);
    else if (!("content" in node)) edited.set(name, { linkTo: source.pick(["q", "r"]) });
    else if (source.happens(0.15)) edited.set(name, { ...node, mode: source.pick([0o755, 0o644]) });
    else edited.set(name, { ...node, content: editText(source, node.content) });
  }
  return edited;
}
