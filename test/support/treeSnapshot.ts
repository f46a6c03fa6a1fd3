import { lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import path from "node:path";
import { createHash } from "node:crypto";

/** A tree as lines `path type mode content`, sorted; with `times` also the modification times. */
export function snapshotTree(root: string, times = false): readonly string[] {
  const lines: string[] = [];
  const visit = (relative: string): void => {
    for (const name of readdirSync(path.join(root, relative)).sort()) {
      const at = relative === "" ? name : `${relative}/${name}`;
      const stat = lstatSync(path.join(root, at), { bigint: true });
      const mode = (stat.mode & 0o7777n).toString(8);
      const time = times ? ` ${stat.mtimeNs}` : "";
      if (stat.isDirectory()) {
        lines.push(`${at}/ ${mode}${times ? time : ""}`);
        visit(at);
      } else if (stat.isSymbolicLink()) {
        lines.push(`${at} -> ${readlinkSync(path.join(root, at))}`);
      } else {
        const hash = createHash("sha256").update(readFileSync(path.join(root, at)));
        lines.push(`${at} ${mode} ${hash.digest("hex").slice(0, 12)}${time}`);
      }
    }
  };
  visit("");
  return lines;
}
