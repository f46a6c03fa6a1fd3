import { spawn } from "node:child_process";

/** What git said; `code` is null when there is no git program. */
export interface GitAnswer {
  readonly code: number | null;
  readonly output: Buffer;
}

/** Nothing of the caller's or of a repository's configuration that names a program has a say. */
const quietArguments = [
  "-c",
  "safe.directory=*",
  "-c",
  "core.fsmonitor=false",
  "-c",
  "core.hooksPath=/dev/null",
  "-c",
  "core.untrackedCache=false",
  "-c",
  "core.pager=cat",
];

function quietEnvironment(own: Readonly<Record<string, string>>): Record<string, string> {
  const kept = Object.entries(process.env).filter(
    ([name, value]) => value !== undefined && !name.startsWith("GIT_"),
  ) as [string, string][];
  return {
    ...Object.fromEntries(kept),
    GIT_OPTIONAL_LOCKS: "0",
    GIT_TERMINAL_PROMPT: "0",
    LC_ALL: "C",
    ...own,
  };
}

/**
 * Runs git for a question that writes nothing: hooks, fsmonitor and optional locks off. Only ever on the host's own
 * workspace or on directories of ours, never on a shadow that an agent has written.
 */
export function askGit(
  args: readonly string[],
  options: {
    readonly cwd: string;
    readonly input?: Buffer;
    readonly env?: Readonly<Record<string, string>>;
  },
): Promise<GitAnswer> {
  return new Promise((resolve) => {
    const child = spawn("git", [...quietArguments, ...args], {
      cwd: options.cwd,
      env: quietEnvironment(options.env ?? {}),
      stdio: ["pipe", "pipe", "ignore"],
    });
    const chunks: Buffer[] = [];
    child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
    child.stdin.on("error", () => undefined); // git may end before it has read all
    child.on("error", () => resolve({ code: null, output: Buffer.alloc(0) }));
    child.on("close", (code) => resolve({ code: code ?? 1, output: Buffer.concat(chunks) }));
    child.stdin.end(options.input);
  });
}
