import { type PredictedEffect, type Prediction } from "./effect.ts";

/**
 * A line about a command-line program: words that must stand first (alternatives with `|`, any with `*`, the rest with `**`), flags that must
 * be there (`--flag`, alternatives with `|`), flags that must not (`!--dry-run`). The first line that matches decides.
 */
export type CommandLine =
  | readonly [pattern: string, effect: Exclude<PredictedEffect, "recoverable">, does: string]
  | readonly [pattern: string, effect: "recoverable", does: string, wayBack: string];

/** A program and its arguments after options that stand before the sub-command were taken out. */
export interface Invocation {
  readonly program: string;
  /** Arguments that are not options, in order. */
  readonly operands: readonly string[];
  readonly flags: ReadonlySet<string>;
  readonly args: readonly string[];
}

/** Options that take the next word, by program; only those that may stand before the sub-command matter. */
const valueOptions: Readonly<Record<string, readonly string[]>> = {
  git: ["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path"],
  gh: ["-R", "--repo", "--hostname"],
  glab: ["-R", "--repo"],
  npm: ["--prefix", "-C", "-w", "--workspace", "--registry", "--loglevel"],
  pnpm: ["-C", "--dir", "-F", "--filter", "--prefix"],
  yarn: ["--cwd"],
  bun: ["--cwd", "--filter"],
  cargo: ["--manifest-path", "-C", "--config", "--color"],
  go: ["-C"],
  docker: [
    "-H",
    "--host",
    "-c",
    "--context",
    "--config",
    "-l",
    "--log-level",
    "-f",
    "--file",
    "-p",
    "--project-name",
    "--profile",
    "--env-file",
  ],
  podman: ["--url", "--connection"],
  kubectl: [
    "-n",
    "--namespace",
    "--context",
    "--kubeconfig",
    "--cluster",
    "--user",
    "-s",
    "--server",
  ],
  helm: ["-n", "--namespace", "--kube-context", "--kubeconfig"],
  aws: ["--profile", "--region", "--endpoint-url", "--output", "--query"],
  gcloud: ["--project", "--account", "--configuration"],
  az: ["--subscription"],
  make: ["-C", "-f", "--directory", "--file", "-j"],
  just: ["-f", "--justfile", "-d", "--working-directory"],
  mise: ["-C", "--cd", "-E", "--env"],
  terraform: [],
  dolt: ["--data-dir"],
  hg: ["-R", "--cwd", "--repository"],
  jj: ["-R", "--repository"],
  ssh: ["-i", "-o", "-p", "-l", "-F", "-J", "-L", "-R", "-D", "-E", "-b", "-c", "-m", "-S", "-W"],
};

/** Splits a program's words. Everything after `--` is an operand. */
export function invocation(words: readonly string[]): Invocation {
  const [path = "", ...args] = words;
  const program = programName(path);
  const takesValue = new Set(valueOptions[program] ?? []);
  const operands: string[] = [];
  const flags = new Set<string>();
  let onlyOperands = false;
  // Of git, -c and -C mean something else behind the sub-command.
  const stopsAtVerb = program === "git";
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? "";
    if (onlyOperands || !/^-./.test(word)) operands.push(word);
    else if (word === "--") onlyOperands = true;
    else {
      for (const flag of spellings(word)) flags.add(flag);
      if (takesValue.has(word) && !(stopsAtVerb && operands.length > 0)) at++;
    }
  }
  return { program, operands, flags, args };
}

/** `/usr/bin/git` and `git.exe` are `git`. */
export function programName(path: string): string {
  return (path.split(/[/\\]/).at(-1) ?? "").replace(/\.(?:exe|cmd|bat|ps1)$/i, "");
}

/** `--force=x` is `--force`, `-fu` is also `-f` and `-u`. */
function spellings(word: string): readonly string[] {
  const name = word.split("=")[0] ?? word;
  if (word.startsWith("--") || !/^-[A-Za-z]{2,4}$/.test(word)) return [name, word];
  return [word, ...Array.from(word.slice(1), (letter) => `-${letter}`)];
}

/** A table that is ready to be asked: its lines by program. */
export type CommandTable = ReadonlyMap<string, readonly CompiledLine[]>;

interface CompiledLine {
  readonly words: readonly (readonly string[] | "rest")[];
  readonly flags: readonly (readonly string[])[];
  readonly absent: readonly (readonly string[])[];
  readonly prediction: Prediction;
}

/** Takes the lines apart once, and sorts them by program. */
export function compileTable(lines: readonly CommandLine[]): CommandTable {
  const byProgram = new Map<string, CompiledLine[]>();
  for (const line of lines) {
    const [programs = "", ...parts] = line[0].split(" ");
    const compiled: CompiledLine = {
      words: parts
        .filter((one) => !/^!?-/.test(one))
        .map((one) => (one === "**" ? "rest" : one.split("|"))),
      flags: parts.filter((one) => one.startsWith("-")).map((one) => one.split("|")),
      absent: parts.filter((one) => one.startsWith("!")).map((one) => one.slice(1).split("|")),
      prediction: {
        effect: line[1],
        does: line[2],
        ...(line[3] === undefined ? {} : { wayBack: line[3] }),
      },
    };
    for (const program of programs.split("|")) {
      byProgram.set(program, [...(byProgram.get(program) ?? []), compiled]);
    }
  }
  return byProgram;
}

/** What the first line that matches says. */
export function lookUp(table: CommandTable, call: Invocation): Prediction | undefined {
  const has = (flags: readonly string[]) => flags.some((one) => call.flags.has(one));
  return table
    .get(call.program)
    ?.find(
      (line) =>
        line.words.every(
          (one, at) => one === "rest" || one.some((text) => matchesWord(text, call.operands[at])),
        ) &&
        line.flags.every(has) &&
        !line.absent.some(has),
    )?.prediction;
}

/** A star at the end matches any ending; a star alone needs a word. */
function matchesWord(pattern: string, word: string | undefined): boolean {
  if (word === undefined) return false;
  if (pattern.endsWith("*")) return word.startsWith(pattern.slice(0, -1));
  return word === pattern;
}
