import { Failure } from "../../base/errors.ts";
import type { Tree } from "../fork/overlayView.ts";

/** The commit that HEAD of the shadow names, read as plain files and never followed through links. Throws a Failure when
 * there is none. */
export function shadowHead(shadow: Tree): string {
  const nothing = new Failure(
    "failed",
    "no-commits",
    "the transaction has no git commits of its own to bring over",
  );
  if (shadow.stat(".git/objects")?.isDirectory() !== true) throw nothing;
  let text = textOf(shadow, ".git/HEAD");
  for (let step = 0; step < 5; step++) {
    if (text === undefined) throw nothing;
    if (/^([0-9a-f]{40}|[0-9a-f]{64})$/.test(text)) return text;
    const name = /^ref: (refs\/[\w./-]+)$/.exec(text)?.[1];
    if (name === undefined || name.split("/").some((part) => /^\.*$/.test(part))) throw nothing;
    text = textOf(shadow, `.git/${name}`) ?? packedRef(shadow, name);
  }
  throw nothing;
}

function textOf(shadow: Tree, at: string): string | undefined {
  return shadow.read(at)?.bytes.toString("latin1").trim();
}

function packedRef(shadow: Tree, name: string): string | undefined {
  const lines = textOf(shadow, ".git/packed-refs")?.split("\n") ?? [];
  return lines.find((line) => line.endsWith(` ${name}`))?.split(" ")[0];
}
