import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import { z } from "zod";
import { Failure } from "../../base/errors.ts";
import { askGit, type GitAnswer } from "./git.ts";
import { decodePath, encodePath } from "./pathBytes.ts";

/**
 * The ignore rules of the base, frozen at the fork in `state/rules`: a git directory of ours with the repository's
 * exclude files, and an otherwise empty work tree into which the base's `.gitignore` files are put as they are needed.
 * Neither the shadow nor later edits of the host have a say.
 */
const savedShape = z.object({
  /** No git program: nothing is ignored. */
  git: z.boolean(),
  /** Of the workspace below the repository's top, with a slash at the end, or empty. */
  prefix: z.string(),
  /** Tracked although a rule excludes them: not ignored. Relative to the workspace. */
  tracked: z.array(z.string()),
});

type Saved = z.infer<typeof savedShape>;

function lineOf(output: Buffer): string {
  return decodePath(output).replace(/\n$/, "");
}

function copyIfThere(from: string, to: string): void {
  if (existsSync(from)) writeFileSync(to, readFileSync(from), { mode: 0o600 });
}

async function userExcludes(workspace: string): Promise<string> {
  const told = await askGit(["config", "--type=path", "--get", "core.excludesFile"], {
    cwd: workspace,
  });
  if (told.code === 0) return lineOf(told.output);
  const config = process.env["XDG_CONFIG_HOME"] ?? path.join(homedir(), ".config");
  return path.join(config, "git/ignore");
}

interface Place {
  readonly top: string;
  readonly prefix: string;
  readonly exclude: string;
}

/** Undefined outside a repository. One question; three when a newline in a path makes its answer unclear. */
async function placeInRepository(
  ask: (...args: string[]) => Promise<GitAnswer>,
): Promise<Place | undefined> {
  const questions = [
    ["--show-toplevel"],
    ["--show-prefix"],
    ["--path-format=absolute", "--git-path", "info/exclude"],
  ];
  const told = await ask("rev-parse", ...questions.flat());
  if (told.code !== 0) return undefined;
  const lines = lineOf(told.output).split("\n");
  const [top = "", prefix = "", exclude = ""] =
    lines.length === 3
      ? lines
      : (await Promise.all(questions.map((one) => ask("rev-parse", ...one)))).map(({ output }) =>
          lineOf(output),
        );
  return { top, prefix, exclude };
}

/** Directories from the repository's top down to the workspace's parent, relative to the top. */
function above(prefix: string): string[] {
  const parts = prefix.split("/").slice(0, -1);
  return parts.map((_, depth) => parts.slice(0, depth).join("/"));
}

/** Freezes the rules that hold for the workspace now. Writes nothing into it. */
export async function freezeIgnoreRules(workspace: string, state: string): Promise<void> {
  const rules = path.join(state, "rules");
  const ask = (...args: string[]) => askGit(args, { cwd: workspace });
  const [place, tracked, excludes] = await Promise.all([
    placeInRepository(ask),
    ask("ls-files", "-z", "-c", "-i", "--exclude-standard"),
    userExcludes(workspace),
  ]);
  const saved: Saved = {
    git: tracked.code !== null,
    prefix: place?.prefix ?? "",
    tracked:
      tracked.code === 0
        ? decodePath(tracked.output)
            .split("\0")
            .filter((one) => one !== "")
        : [],
  };
  for (const directory of ["git/objects", "git/refs", "git/info", `tree/${saved.prefix}`])
    mkdirSync(path.join(rules, directory), { recursive: true, mode: 0o700 });
  writeFileSync(path.join(rules, "git/HEAD"), "ref: refs/heads/none\n");
  writeFileSync(
    path.join(rules, "git/config"),
    "[core]\n\trepositoryformatversion = 0\n\tbare = false\n",
  );
  if (place !== undefined) {
    copyIfThere(place.exclude, path.join(rules, "git/info/exclude"));
    for (const directory of above(saved.prefix))
      copyIfThere(
        path.join(place.top, directory, ".gitignore"),
        path.join(rules, "tree", directory, ".gitignore"),
      );
  }
  copyIfThere(excludes, path.join(rules, "excludes"));
  writeFileSync(path.join(rules, "rules.json"), JSON.stringify(saved), { mode: 0o600 });
}

/** A path to classify; `directory` for one that is (or was) a directory. */
export interface Candidate {
  readonly path: string;
  readonly directory: boolean;
}

/**
 * Tells which paths the base's rules exclude. The rules are frozen, and from one scan to the next most paths are the same: git
 * is asked about new ones alone. No rules (no git program, state gone): none is excluded.
 */
export class IgnoreRules {
  readonly #rules: string;
  /** What was told about the candidates of the last time. */
  #known: ReadonlyMap<string, boolean> = new Map();

  constructor(state: string) {
    this.#rules = path.join(state, "rules");
  }

  /** `readBase` gives the base's content of a file, undefined when there is none. */
  async excluded(
    candidates: readonly Candidate[],
    readBase: (path: string) => Promise<Uint8Array | undefined>,
  ): Promise<ReadonlySet<string>> {
    const known = this.#known;
    const fresh = candidates.filter((one) => !known.has(keyOf(one)));
    const found = await this.#ask(fresh, readBase);
    const told = candidates.map(
      (one) => [keyOf(one), known.get(keyOf(one)) ?? found.has(one.path)] as const,
    );
    this.#known = new Map(told);
    return new Set(candidates.filter((_, at) => told[at]?.[1] === true).map((one) => one.path));
  }

  async #ask(
    candidates: readonly Candidate[],
    readBase: (path: string) => Promise<Uint8Array | undefined>,
  ): Promise<ReadonlySet<string>> {
    const saved = candidates.length === 0 ? undefined : this.#saved();
    if (saved?.git !== true) return new Set();
    const { prefix, tracked } = saved;
    const tree = path.join(this.#rules, "tree");
    await putIgnoreFiles(path.join(tree, prefix), candidates, readBase);
    const places = [`--git-dir=${path.join(this.#rules, "git")}`, `--work-tree=${tree}`];
    const excludes = ["-c", `core.excludesFile=${path.join(this.#rules, "excludes")}`];
    const paths = candidates.map((one) => encodePath(`./${prefix}${one.path}\0`)); // ./ for a name like :x
    const { code, output } = await askGit(
      [...excludes, ...places, "check-ignore", "--no-index", "--stdin", "-z"],
      {
        cwd: tree,
        input: Buffer.concat(paths),
        env: { GIT_CONFIG_NOSYSTEM: "1", GIT_CONFIG_GLOBAL: "/dev/null" },
      },
    );
    if (code !== 0 && code !== 1)
      throw new Failure("failed", "ignore-rules", `git check-ignore failed in ${this.#rules}`);
    const start = prefix.length + 2;
    const ignored = new Set(splitAtNul(output).map((one) => decodePath(one).slice(start)));
    for (const one of tracked) ignored.delete(one);
    return ignored;
  }

  #saved(): Saved | undefined {
    const file = path.join(this.#rules, "rules.json");
    if (!existsSync(file)) return undefined;
    return savedShape.parse(JSON.parse(readFileSync(file, "utf8")));
  }
}

/** A rule may exclude a directory of that name alone. */
function keyOf({ path: name, directory }: Candidate): string {
  return directory ? `${name}/` : name;
}

function splitAtNul(bytes: Buffer): Buffer[] {
  const parts: Buffer[] = [];
  for (let start = 0, end = 0; start < bytes.length; start = end + 1) {
    end = bytes.indexOf(0, start);
    if (end < 0) break;
    parts.push(bytes.subarray(start, end));
  }
  return parts;
}

/** Puts the `.gitignore` of every directory above a candidate into the work tree, once. */
async function putIgnoreFiles(
  tree: string,
  candidates: readonly Candidate[],
  readBase: (path: string) => Promise<Uint8Array | undefined>,
): Promise<void> {
  const directories = new Set<string>();
  for (const { path: one, directory } of candidates) {
    if (directory) mkdirSync(below(tree, one), { recursive: true });
    let at = one;
    do {
      at = at.slice(0, Math.max(at.lastIndexOf("/"), 0));
      if (directories.has(at)) break;
      directories.add(at);
    } while (at !== "");
  }
  for (const directory of directories) {
    const relative = directory === "" ? ".gitignore" : `${directory}/.gitignore`;
    const file = below(tree, relative);
    if (existsSync(file)) continue;
    const content = await readBase(relative);
    if (content === undefined) continue;
    mkdirSync(below(tree, directory), { recursive: true });
    writeFileSync(file, content);
  }
}

function below(tree: string, relative: string): Buffer {
  return Buffer.concat([encodePath(`${tree}/`), encodePath(relative)]);
}
