import type { FileState } from "./changeSet.ts";
import { foldedPath } from "./pathRules.ts";
import { packageReason, lockReason } from "./packageFiles.ts";
import { lockFiles, nameRules } from "./runsLaterNames.ts";

/** A changed path with the texts of both sides where they are small enough to be read (see core/change/lines). */
export interface RunsLaterQuestion {
  readonly path: string;
  readonly from?: string | undefined;
  readonly before?: FileState | undefined;
  readonly after?: FileState | undefined;
  readonly beforeText?: string | undefined;
  readonly afterText?: string | undefined;
}

type Matcher = (folded: string) => boolean;

function globBody(pattern: string): string {
  return pattern.replaceAll(/[.+?^${}()|[\]\\]/g, "\\$&").replaceAll("*", "[^/]*");
}

function matcherOf(names: readonly string[]): Matcher {
  const sources = names.map((name) =>
    name.endsWith("/") ? `(?:^|/)${globBody(name)}.` : `(?:^|/)${globBody(name)}$`,
  );
  // A folder may also be replaced by a file or a link of its name.
  const bare = names
    .filter((name) => name.endsWith("/"))
    .map((name) => `(?:^|/)${globBody(name.slice(0, -1))}$`);
  const expression = new RegExp([...sources, ...bare].join("|"));
  return (folded) => expression.test(folded);
}

const rules = nameRules.map((rule) => ({ why: rule.why, matches: matcherOf(rule.names) }));
const isLockFile = matcherOf(lockFiles);
const isPackageFile = matcherOf(["package.json", "package.json5", "package.y*ml"]);
const isCompilerConfig = matcherOf(["tsconfig*.json", "jsconfig*.json"]);

/** Why this change would act by itself on the developer's machine later, or undefined. */
export function runsLaterReason(question: RunsLaterQuestion): string | undefined {
  const paths = [question.path, ...(question.from === undefined ? [] : [question.from])];
  for (const path of paths) {
    const reason = reasonByName(foldedPath(path), question);
    if (reason !== undefined) return reason;
  }
  return reasonByNature(question);
}

function reasonByName(folded: string, question: RunsLaterQuestion): string | undefined {
  if (isLockFile(folded)) return lockReason(question.beforeText, question.afterText);
  if (isPackageFile(folded)) return packageReason(question.beforeText, question.afterText);
  if (isCompilerConfig(folded)) {
    const plugins = [question.beforeText, question.afterText].some((text) =>
      text?.includes("plugins"),
    );
    return plugins ? "compiler plugins: the editor's language server loads them" : undefined;
  }
  return rules.find((rule) => rule.matches(folded))?.why;
}

function reasonByNature({ before, after }: RunsLaterQuestion): string | undefined {
  if (after?.type === "symlink") {
    return leavesWorkspace(after.target)
      ? `a symbolic link that leads out of the workspace, to ${after.target}`
      : `a symbolic link, to ${after.target}: what is written to it lands there`;
  }
  if (before?.type === "symlink") return "replaces or removes a symbolic link";
  const executable = (state: FileState | undefined): boolean =>
    state?.type === "file" && (state.mode & 0o111) !== 0;
  if (executable(after) && !executable(before)) return "becomes executable";
  return undefined;
}

/** Told generously: an absolute target, or any step upward. */
function leavesWorkspace(target: string): boolean {
  return target.startsWith("/") || target.split("/").includes("..");
}
