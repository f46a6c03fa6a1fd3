import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { Failure, messageOf } from "../../base/errors.ts";
import type { Fork } from "../../runtime/ports.ts";
import { Beneath } from "../fork/beneath.ts";
import { OverlayView, type Tree } from "../fork/overlayView.ts";
import { shadowHead } from "./shadowHead.ts";

const run = promisify(execFile);

/** One git commit that the agent made. Texts are as it wrote them: untrusted. */
export interface AgentCommit {
  readonly commit: string;
  readonly author: string;
  /** ISO 8601, as the author's clock said. */
  readonly at: string;
  readonly subject: string;
}

/** Commits that HEAD of the shadow leads to and no branch or tag of the workspace does; the newest first. */
export interface AgentCommits {
  /** Where they come to in the workspace's repository, and whether they are there. */
  readonly ref: string;
  readonly brought: boolean;
  readonly head: string;
  readonly commits: readonly AgentCommit[];
  /** Files into which they put placeholders, where hidden values stood in the shadow. */
  readonly placeholders: readonly string[];
}

/** Where commits are looked for, and what for. */
export interface CommitsRequest {
  readonly workspace: string;
  readonly fork: Pick<Fork, "shadow" | "overlays">;
  readonly transaction: string;
  /** A directory of ours. */
  readonly scratch: string;
}

/** Nothing of anybody's configuration, hooks or helpers; git's own checks of every object. */
const quiet = [
  ...["-c", "core.hooksPath=/dev/null"],
  ...["-c", "core.fsmonitor=false"],
  ...["-c", "core.logAllRefUpdates=false"],
  ...["-c", "fetch.fsckObjects=true"],
  ...["-c", "transfer.fsckObjects=true"],
  ...["-c", "gc.auto=0"],
  ...["-c", "maintenance.auto=false"],
  ...["-c", "protocol.file.allow=always"],
];

const environment = {
  PATH: process.env["PATH"] ?? "",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_OPTIONAL_LOCKS: "0",
  GIT_TERMINAL_PROMPT: "0",
  LC_ALL: "C",
};

/** More are not listed; they are brought all the same. */
const listed = 1000;

/**
 * Lists the agent's own commits. Git never runs in the shadow: its objects are lent to an empty repository of ours in
 * `scratch`. Throws a Failure when there is no repository or no commit of the agent's.
 */
export async function listCommits(request: CommitsRequest): Promise<AgentCommits> {
  await requireRepository(request.workspace);
  const head = shadowHead(treeOf(request.fork));
  const { known, brought } = await workspaceRefs(request, head);
  // With the workspace's own objects beside, what was committed there since the fork tells what is not the agent's.
  const own = await git(request.workspace, ["rev-parse", "--git-path", "objects"]);
  const objects = [path.resolve(request.workspace, own.trim())];
  const found = await withLender(request, head, objects, async (lender) => ({
    commits: await commitsIn(lender, head, known),
    placeholders: await placeholdersIn(lender, head, known),
  }));
  if (found.commits.length === 0) {
    throw new Failure("failed", "no-commits", "the agent made no git commits of its own");
  }
  return { ref: refOf(request), brought, head, ...found };
}

/**
 * Brings what HEAD of the shadow leads to into the workspace's repository, as objects under `refs/holdfast/TRANSACTION` and
 * nothing else: index, branches, configuration and hooks of the workspace stay as they are, and none of the shadow's is read.
 * `head` is what {@link listCommits} told; git's own check looks at every object.
 */
export async function bringCommits(request: CommitsRequest, head: string): Promise<void> {
  await withLender(request, head, [], async (lender) => {
    const fetch = [
      "fetch",
      "--quiet",
      "--no-tags",
      "--no-write-fetch-head",
      "--no-recurse-submodules",
      "--no-auto-maintenance",
    ];
    await git(request.workspace, [...fetch, lender, `+refs/heads/brought:${refOf(request)}`]);
  });
}

function refOf({ transaction }: CommitsRequest): string {
  return `refs/holdfast/${transaction}`;
}

async function requireRepository(workspace: string): Promise<void> {
  try {
    await git(workspace, ["rev-parse", "--git-dir"]);
  } catch (error) {
    if (error instanceof Failure && error.code === "git-missing") throw error;
    throw new Failure(
      "failed",
      "no-repository",
      `${workspace} is not a git repository: there is nowhere to bring commits to`,
      "the files can be committed all the same: holdfast commit",
    );
  }
}

/** What the workspace's own references lead to, and whether `head` has been brought already. */
async function workspaceRefs(
  request: CommitsRequest,
  head: string,
): Promise<{ readonly known: readonly string[]; readonly brought: boolean }> {
  const told = await git(request.workspace, [
    "for-each-ref",
    "--format=%(objectname) %(refname)",
    ...["refs/heads", "refs/remotes", "refs/tags", refOf(request)],
  ]);
  const refs = told.split("\n").filter((line) => line !== "");
  const isOurs = (line: string): boolean => line.endsWith(` ${refOf(request)}`);
  const known = refs.filter((line) => !isOurs(line)).map((line) => line.split(" ")[0] ?? "");
  // A detached HEAD leads somewhere too; a repository without a commit has none.
  const own = await git(request.workspace, ["rev-parse", "-q", "--verify", "HEAD"]).catch(() => "");
  const brought = refs.some((line) => isOurs(line) && line.startsWith(`${head} `));
  return { known: [...known, own.trim()].filter((one) => one !== ""), brought };
}

async function commitsIn(
  lender: string,
  head: string,
  known: readonly string[],
): Promise<readonly AgentCommit[]> {
  const format = "--format=%H%x00%an%x00%aI%x00%s%x00";
  const log = await git(lender, ["log", "--no-mailmap", format, ...newIn(head, known)]);
  const fields = log.split("\0");
  const commits: AgentCommit[] = [];
  for (let at = 0; at + 3 < fields.length; at += 4) {
    const [commit = "", author = "", when = "", subject = ""] = fields.slice(at, at + 4);
    commits.push({ commit: commit.trim(), author, at: when, subject });
  }
  return commits;
}

/** The commits that are listed, for `git log`. */
function newIn(head: string, known: readonly string[]): readonly string[] {
  const not = known.length === 0 ? [] : ["--not", ...known.slice(0, 2000)];
  return [`--max-count=${listed}`, "--ignore-missing", head, ...not];
}

/** Files that a commit has given a line with the placeholder of a secret, or taken one from, in order. */
async function placeholdersIn(
  lender: string,
  head: string,
  known: readonly string[],
): Promise<readonly string[]> {
  const looked = ["-z", "--name-only", "--format=", "--no-textconv", "--no-ext-diff"];
  const wanted = "-G[$]HOLDFAST_SECRET_[A-Z]";
  const told = await git(lender, ["log", ...looked, wanted, ...newIn(head, known)]);
  const names = told.split("\0").map((one) => one.trim());
  return [...new Set(names)].filter((one) => one !== "").sort();
}

/** Runs something with an empty repository of ours whose objects are those of the shadow. */
async function withLender<T>(
  { fork, scratch }: CommitsRequest,
  head: string,
  others: readonly string[],
  work: (lender: string) => Promise<T>,
): Promise<T> {
  const lender = mkdtempSync(path.join(scratch, "commits-"));
  try {
    lendObjects(lender, head, [...objectDirectories(fork), ...others]);
    return await work(lender);
  } catch (error) {
    if (error instanceof Failure && error.code === "git-missing") throw error;
    throw new Failure(
      "failed",
      "commits-not-brought",
      `the agent's commits could not be brought over: ${lastLine(error)}`,
      "the files can be committed all the same: holdfast commit",
      error,
    );
  } finally {
    rmSync(lender, { recursive: true, force: true });
  }
}

async function git(cwd: string, args: readonly string[]): Promise<string> {
  try {
    const options = { cwd, env: environment, maxBuffer: 64 * 1024 * 1024 };
    return (await run("git", [...quiet, ...args], options)).stdout;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    throw new Failure("failed", "git-missing", "git is not on your PATH", "install git", error);
  }
}

function lastLine(error: unknown): string {
  const told = error instanceof Error && "stderr" in error ? String(error.stderr) : "";
  return (told.trim() === "" ? messageOf(error) : told).trim().split("\n").at(-1) ?? "";
}

/** The shadow as the agent saw it: an overlay of everything in its two layers. */
function treeOf({ shadow, overlays }: CommitsRequest["fork"]): Tree {
  const whole = overlays.find(({ at }) => at === ".");
  if (whole === undefined) return new Beneath(shadow);
  return new OverlayView(new Beneath(whole.lower), new Beneath(whole.upper), () => new Set());
}

/** Where the shadow's objects lie: its own directory, and the layers that the sandbox mounted over it. */
function objectDirectories({
  shadow,
  overlays,
}: Pick<Fork, "shadow" | "overlays">): readonly string[] {
  const layers = overlays.flatMap(({ at, upper, lower }) => {
    if (at === ".") return [upper, lower].map((one) => path.join(one, ".git/objects"));
    return at === ".git/objects" ? [upper, lower] : [];
  });
  return [path.join(shadow, ".git/objects"), ...layers].filter((one) => existsSync(one));
}

/** An empty repository with one branch, whose objects are those of others. */
function lendObjects(lender: string, head: string, objects: readonly string[]): void {
  for (const directory of ["objects/info", "refs/heads"]) {
    mkdirSync(path.join(lender, directory), { recursive: true, mode: 0o700 });
  }
  writeFileSync(path.join(lender, "HEAD"), "ref: refs/heads/brought\n");
  const format =
    head.length === 40
      ? "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"
      : "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectformat = sha256\n";
  writeFileSync(path.join(lender, "config"), format);
  writeFileSync(path.join(lender, "refs/heads/brought"), `${head}\n`);
  const lines = objects.map((directory) => `${JSON.stringify(directory)}\n`);
  writeFileSync(path.join(lender, "objects/info/alternates"), lines.join(""));
}
