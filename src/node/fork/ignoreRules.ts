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
 * Asks which paths the base's rules exclude. git takes longer to start than to answer, so it may be started before the
 * paths are known. Answered or closed once. No rules (no git program, state gone): none is excluded.
 */
export class IgnoreQuestion {
  readonly #rules: string;
  readonly #saved: Saved | undefined;
  #asked:
    { readonly tell: (input: Buffer) => void; readonly answer: Promise<GitAnswer> } | undefined;

  constructor(state: string, early: boolean) {
    this.#rules = path.join(state, "rules");
    const file = path.join(this.#rules, "rules.json");
    const saved = existsSync(file)
      ? savedShape.parse(JSON.parse(readFileSync(file, "utf8")))
      : undefined;
    this.#saved = saved?.git === true ? saved : undefined;
    if (early && this.#saved !== undefined) this.#asked = this.#ask();
  }

  /** `readBase` gives the base's content of a file, undefined when there is none. */
  async answer(
    candidates: readonly Candidate[],
    readBase: (path: string) => Promise<Uint8Array | undefined>,
  ): Promise<ReadonlySet<string>> {
    const { prefix, tracked } = this.#saved ?? { prefix: "", tracked: [] };
    if (candidates.length === 0 || this.#saved === undefined) {
      this.close();
      return new Set();
    }
    await putIgnoreFiles(path.join(this.#rules, "tree", prefix), candidates, readBase);
    const { tell, answer } = this.#asked ?? this.#ask();
    const paths = candidates.map((one) => encodePath(`./${prefix}${one.path}\0`)); // ./ for a name like :x
    tell(Buffer.concat(paths));
    const { code, output } = await answer;
    if (code !== 0 && code !== 1)
      throw new Failure("failed", "ignore-rules", `git check-ignore failed in ${this.#rules}`);
    const start = prefix.length + 2;
    const ignored = new Set(splitAtNul(output).map((one) => decodePath(one).slice(start)));
    for (const one of tracked) ignored.delete(one);
    return ignored;
  }

  /** Lets go of a git that was started for nothing. */
  close(): void {
    this.#asked?.tell(Buffer.alloc(0));
  }

  /** It reads the ignore files of a directory when it is asked about a path in there. */
  #ask(): { tell: (input: Buffer) => void; answer: Promise<GitAnswer> } {
    let tell: (input: Buffer) => void = () => undefined;
    const input = new Promise<Buffer>((resolve) => {
      tell = resolve;
    });
    const tree = path.join(this.#rules, "tree");
    const places = [`--git-dir=${path.join(this.#rules, "git")}`, `--work-tree=${tree}`];
    const excludes = ["-c", `core.excludesFile=${path.join(this.#rules, "excludes")}`];
    const answer = askGit([...excludes, ...places, "check-ignore", "--no-index", "--stdin", "-z"], {
      cwd: tree,
      input,
      env: { GIT_CONFIG_NOSYSTEM: "1", GIT_CONFIG_GLOBAL: "/dev/null" },
    });
    return { tell, answer };
  }
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
