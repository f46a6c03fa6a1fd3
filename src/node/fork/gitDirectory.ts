import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import type { Fork } from "../../runtime/ports.ts";
import type { ForkContext } from "./backend.ts";
import { askGit } from "./git.ts";
import type { Manifest } from "./manifest.ts";
import { runNative } from "./runNative.ts";

/** Clones a directory of the host into the shadow: `from` absolute, `to` absolute and absent. */
export type CloneInto = (from: string, to: string, empty: readonly string[]) => Promise<void>;

/** What a worktree's own directory has that is of no use in a directory that stands alone. */
const worktreeOnly: ReadonlySet<string> = new Set(["commondir", "gitdir", "locked"]);

/** The directory that a `.git` file names; undefined when it is no such file. */
export function namedGitDirectory(file: string): string | undefined {
  if (lstatSync(file, { throwIfNoEntry: false })?.isFile() !== true) return undefined;
  const target = /^gitdir: (.+?)\r?\n?$/s.exec(readFileSync(file, "utf8"))?.[1];
  return target === undefined ? undefined : path.resolve(path.dirname(file), target);
}

function isInside(inner: string, outer: string): boolean {
  return inner === outer || inner.startsWith(`${outer}/`);
}

/**
 * Gives a worktree (or a repository whose git directory is elsewhere) in the shadow a git directory of its own, so that
 * a commit in the shadow never moves a branch of the host: the common directory's content with the worktree's HEAD,
 * index and logs over it. `where` is relative to the workspace. Does nothing for a `.git` file that leads to a
 * directory inside the workspace: that one is in the shadow too.
 */
export async function ownGitDirectory(
  workspace: string,
  shadow: string,
  where: string,
  clone: CloneInto,
): Promise<boolean> {
  const own = namedGitDirectory(path.join(workspace, where, ".git"));
  if (own === undefined || !existsSync(own)) return false;
  const real = realpathSync(own);
  if (isInside(real, realpathSync(workspace))) return false;
  const commonFile = path.join(real, "commondir");
  const common = existsSync(commonFile)
    ? path.resolve(real, readFileSync(commonFile, "utf8").trim())
    : real;
  const target = path.join(shadow, where, ".git");
  rmSync(target, { force: true });
  await clone(common, target, ["worktrees"]);
  rmSync(path.join(target, "worktrees"), { recursive: true, force: true });
  if (common !== real) {
    for (const name of readdirSync(real)) {
      if (worktreeOnly.has(name)) continue;
      cpSync(path.join(real, name), path.join(target, name), {
        recursive: true,
        preserveTimestamps: true,
        verbatimSymlinks: true,
      });
    }
  }
  await standAlone(path.join(target, "config"));
  return true;
}

/** The shadow is untouched by any agent yet: its config is the host's own. */
async function standAlone(config: string): Promise<void> {
  const cwd = path.dirname(config);
  await askGit(["config", "--file", config, "--unset-all", "core.worktree"], { cwd });
  await askGit(["config", "--file", config, "core.bare", "false"], { cwd });
}

/** Object directories that this one borrows from, absolute; the borrowed ones' own are included. */
function alternatesOf(objects: string, seen: Set<string>): void {
  const file = path.join(objects, "info/alternates");
  if (!existsSync(file) || seen.size > 20) return;
  for (const line of readFileSync(file, "utf8").split("\n")) {
    if (line === "" || line.startsWith("#")) continue;
    const found = path.resolve(objects, line);
    if (!existsSync(found) || seen.has(realpathSync(found))) continue;
    seen.add(realpathSync(found));
    alternatesOf(found, seen);
  }
}

/** The upper layer of an overlay has no directories yet; those it gets have the modes of the workspace's. */
function makeLike(workspace: string, shadow: string, relative: string): void {
  const parts = relative.split("/");
  for (const [i] of parts.entries()) {
    const at = parts.slice(0, i + 1).join("/");
    if (existsSync(path.join(shadow, at))) continue;
    mkdirSync(path.join(shadow, at));
    chmodSync(path.join(shadow, at), statSync(path.join(workspace, at)).mode & 0o7777);
  }
}

/**
 * Brings borrowed objects (`objects/info/alternates`) that lie outside the workspace into the shadow's git directory:
 * the sandbox does not see the place they are borrowed from. `gitDirectory` is relative to the workspace.
 */
export async function ownAlternates(
  workspace: string,
  shadow: string,
  gitDirectory: string,
  clone: CloneInto,
): Promise<number> {
  const host = path.join(workspace, gitDirectory, "objects");
  const objects = path.join(shadow, gitDirectory, "objects");
  const file = path.join(objects, "info/alternates");
  const borrowed = new Set<string>();
  alternatesOf(existsSync(host) ? host : objects, borrowed);
  if (borrowed.size === 0) return 0;
  const inside = realpathSync(workspace);
  const lines: string[] = [];
  let brought = 0;
  for (const one of borrowed) {
    if (isInside(one, inside)) {
      lines.push(one);
      continue;
    }
    const name = `alternate-${brought++}`;
    const target = path.join(shadow, gitDirectory, name);
    makeLike(workspace, shadow, gitDirectory);
    await clone(one, target, []);
    rmSync(path.join(target, "info/alternates"), { force: true });
    lines.push(`../${name}`);
  }
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, lines.map((line) => `${line}\n`).join(""));
  return brought;
}

/**
 * Worktrees and borrowed objects: nothing in the shadow leads to the host's repositories. With an overlay of the whole tree
 * it is the upper layer that gets them.
 */
export async function separateGit(
  context: ForkContext,
  fork: Fork,
  manifest: Manifest,
): Promise<string[]> {
  const scratch = path.join(context.paths.state, "git-manifest");
  const clone: CloneInto = async (from, to, empty) => {
    const mounts = empty.flatMap((one) => ["--mount", one]);
    const args = ["--from", from, "--to", to, "--manifest", scratch, ...mounts];
    await runNative(context.nativePath, "clone", args, { signal: context.signal });
    rmSync(scratch, { force: true });
  };
  const whole = fork.overlays.find(({ at }) => at === ".");
  const target = whole?.upper ?? fork.shadow;
  const notes: string[] = [];
  for (const found of manifest.gitDirectories()) {
    const where = path.dirname(found) === "." ? "" : path.dirname(found);
    if (whole !== undefined) mkdirSync(path.join(target, where), { recursive: true });
    if (await ownGitDirectory(context.workspace, target, where, clone))
      notes.push(`${found} is a worktree's: the fork has a git directory of its own`);
    const brought = await ownAlternates(context.workspace, target, found, clone);
    if (brought > 0) notes.push(`${found} borrows objects from elsewhere: they were brought in`);
  }
  return notes;
}
