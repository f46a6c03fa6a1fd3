import type { Manifest } from "./manifest.ts";

/** Paths of files that hold secrets because symbolic links of such a name lead to them, with those links. */
export type SecretLinks = ReadonlyMap<string, readonly string[]>;

const mostHops = 40;

/**
 * Where the workspace's own links lead that are named like files of secrets (`.env` → `config/production`). Found among
 * what the manifest has: nothing is followed on the disk. What leads out of the workspace is not in the sandbox.
 */
export function secretLinks(manifest: Manifest, workspace: string): SecretLinks {
  const found = new Map<string, string[]>();
  for (const path of manifest.suspectLinks()) {
    const target = targetOf(manifest, workspace, path);
    if (target !== undefined) found.set(target, [...(found.get(target) ?? []), path]);
  }
  return found;
}

/** Below a directory that an overlay covers the manifest knows nothing: there the path is taken as it reads. */
function targetOf(manifest: Manifest, workspace: string, path: string): string | undefined {
  const at: string[] = [];
  const ahead = path.split("/");
  for (let hops = 0; ahead.length > 0;) {
    const part = ahead.shift();
    if (part === "" || part === "." || part === undefined) continue;
    if (part === "..") {
      if (at.pop() === undefined) return undefined;
      continue;
    }
    at.push(part);
    const entry = manifest.lookup(at.join("/"));
    if (entry?.target === undefined) continue;
    if (++hops > mostHops) return undefined;
    at.pop();
    let { target } = entry;
    if (target.startsWith("/")) {
      if (!target.startsWith(`${workspace}/`)) return undefined;
      target = target.slice(workspace.length);
      at.length = 0;
    }
    ahead.unshift(...target.split("/"));
  }
  return at.join("/");
}
