import { readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { askGit } from "./git.ts";
import { namedGitDirectory } from "./gitDirectory.ts";
import { decodePath, encodePath } from "./pathBytes.ts";
import type { Reader } from "./reader.ts";

/** The shadow of which git is to take no notice of what was masked. */
export interface MaskedShadow {
  readonly workspace: string;
  /** A directory of ours. */
  readonly state: string;
  readonly reader: Reader;
  /** Replaces a file of the shadow. */
  readonly write: (path: string, bytes: Buffer) => void;
}

/** Paths that are named to git one by one; of more it lists all. */
const namedOneByOne = 500;

/**
 * Marks masked files that git tracks in the shadow's own index (`skip-worktree`): for git they are as they were committed, so
 * that its status is that of the workspace, its diff does not show the values, and no commit of the agent's has placeholders
 * in their place. Git works on a copy of the index, in the workspace, which no agent has written. Where it cannot, the
 * shadow's index stays as it is.
 */
export async function markMasked(
  shadow: MaskedShadow,
  masked: readonly string[],
): Promise<readonly string[]> {
  const repositories = shadow.reader.manifest
    .gitDirectories()
    .map((found) => found.slice(0, -".git".length))
    .sort((one, other) => other.length - one.length);
  const within = new Map<string, string[]>();
  for (const file of masked) {
    const root = repositories.find((one) => file.startsWith(one));
    if (root === undefined || file.split("/").includes(".git")) continue;
    within.set(root, [...(within.get(root) ?? []), file.slice(root.length)]);
  }
  const marked: string[] = [];
  for (const [root, files] of within) {
    const those = await markIn(shadow, root, files);
    marked.push(...those.map((one) => root + one));
  }
  return marked;
}

/** Of one repository, `root` is where it lies, with a last slash; `""` for the workspace's own. */
async function markIn(
  { workspace, state, reader, write }: MaskedShadow,
  root: string,
  files: readonly string[],
): Promise<readonly string[]> {
  const index = `${gitDirectoryOf(workspace, root)}/index`;
  const bytes = await reader.read("shadow", index);
  if (bytes === undefined) return [];
  const whole = Buffer.from(bytes);
  const candidates = files.filter((one) => mayHave(whole, one));
  if (candidates.length === 0) return [];
  const copy = path.join(state, "masked-index");
  try {
    writeFileSync(copy, whole, { mode: 0o600 });
    const git = { cwd: path.join(workspace, root), env: { GIT_INDEX_FILE: copy } };
    const some = candidates.length <= namedOneByOne && candidates.every(isPlain) ? candidates : [];
    const list = ["--literal-pathspecs", "ls-files", "-z", "--stage", "--", ...some];
    const listed = await askGit(list, git);
    const tracked = trackedIn(listed.output);
    const those = candidates.filter((one) => tracked.has(one));
    if (listed.code !== 0 || those.length === 0) return [];
    const input = Buffer.concat(those.map((one) => encodePath(`${one}\0`)));
    // In one file: a shared part of it would be written into the workspace's repository.
    const mark = [
      "-c",
      "core.splitIndex=false",
      "update-index",
      "--skip-worktree",
      "-z",
      "--stdin",
    ];
    if ((await askGit(mark, { ...git, input })).code !== 0) return [];
    write(index, readFileSync(copy));
    return those;
  } finally {
    rmSync(copy, { force: true });
  }
}

/** Where the shadow has it: a worktree's is in its own `.git`, a submodule's where its `.git` file says. */
function gitDirectoryOf(workspace: string, root: string): string {
  const named = namedGitDirectory(path.join(workspace, root, ".git"));
  const at = named === undefined ? "" : path.relative(workspace, named);
  return at === "" || at.startsWith("..") ? `${root}.git` : at;
}

/** A look at the bytes, which spares asking git: names stand whole in an index unless it is of version 4 or in two files. */
function mayHave(index: Buffer, file: string): boolean {
  if (index.length < 12 || index.readUInt32BE(4) >= 4 || index.includes("link")) return true;
  return index.includes(encodePath(`${file}\0`));
}

/** It can be an argument as it is. */
function isPlain(file: string): boolean {
  return encodePath(file).equals(Buffer.from(file, "utf8"));
}

/** Paths without a conflict in what `ls-files --stage -z` prints. */
function trackedIn(output: Buffer): ReadonlySet<string> {
  const tracked = new Set<string>();
  for (const line of decodePath(output).split("\0")) {
    const tab = line.indexOf("\t");
    if (line.slice(0, tab).endsWith(" 0")) tracked.add(line.slice(tab + 1));
  }
  return tracked;
}
