import { readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";

/**
 * Names of the branches that the remotes of a workspace call default, from `refs/remotes/*\/HEAD` of its git directory;
 * read as files, since no git may run on a workspace. Empty when there is none, or no repository.
 */
export function defaultBranches(workspace: string): readonly string[] {
  const directory = commonGitDirectory(path.join(workspace, ".git"));
  if (directory === undefined) return [];
  const remotes = path.join(directory, "refs", "remotes");
  const names = listOf(remotes).flatMap((remote) => {
    const head = textOf(path.join(remotes, remote, "HEAD"));
    const prefix = `ref: refs/remotes/${remote}/`;
    return head?.startsWith(prefix) === true ? [head.slice(prefix.length).trim()] : [];
  });
  return [...new Set(names)];
}

/** The directory with the refs: `.git`, or where a linked worktree's `.git` file and its `commondir` lead. */
function commonGitDirectory(dotGit: string): string | undefined {
  const found = statSync(dotGit, { throwIfNoEntry: false });
  if (found === undefined) return undefined;
  if (found.isDirectory()) return dotGit;
  const linked = /^gitdir: (.+)$/m.exec(textOf(dotGit) ?? "")?.[1];
  if (linked === undefined) return undefined;
  const own = path.resolve(path.dirname(dotGit), linked);
  return path.resolve(own, (textOf(path.join(own, "commondir")) ?? ".").trim());
}

function listOf(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return []; // No remotes: nothing to name.
  }
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8").slice(0, 4_096);
  } catch {
    return undefined; // Not there, or not for us to read.
  }
}
