/** Members of a package manifest that make something run, or choose what is installed. */
const actingMembers = [
  "scripts",
  "dependencies",
  "devDependencies",
  "peerDependencies",
  "optionalDependencies",
  "bundleDependencies",
  "bundledDependencies",
  "trustedDependencies",
  "overrides",
  "resolutions",
  "pnpm",
  "packageManager",
  "devEngines",
  "workspaces",
  "bin",
  "config",
  "gypfile",
  "husky",
  "lint-staged",
  "simple-git-hooks",
  "nano-staged",
  "gitHooks",
  "pre-commit",
  "pre-push",
  "lefthook",
  "publishConfig",
  "nodemonConfig",
  "eslintConfig",
  "babel",
  "jest",
  "prettier",
  "stylelint",
  "postcss",
  "commitlint",
  "release",
  "wireit",
  "nx",
  "volta",
] as const;

/** Why a changed package manifest acts later: names the members that changed; undefined when only others did. */
export function packageReason(
  before: string | undefined,
  after: string | undefined,
): string | undefined {
  if (after === undefined) return "removes a package manifest";
  const now = parseObject(after);
  if (now === undefined) return "a package manifest that cannot be read as JSON";
  const old = before === undefined ? {} : (parseObject(before) ?? {});
  const changed = actingMembers.filter(
    (member) => canonical(now[member]) !== canonical(old[member]),
  );
  if (changed.length === 0) return undefined;
  return `package manifest: ${changed.join(", ")} ${changed.length === 1 ? "acts" : "act"} at the next install or script`;
}

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text.replace(/^\u00EF\u00BB\u00BF/, ""));
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** JSON with sorted keys, so that order alone is no change. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1));
    return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`).join(",")}}`;
  }
  return value === undefined ? "" : JSON.stringify(value);
}

const source = /\b(?:(?:git\+)?(?:https?|ssh|git|file|ftp)):(?:\/\/)?([^\s"'/#?<>)\]}]*)/gi;

/** Where a lock file takes packages from: hosts of its addresses. */
function sourcesOf(text: string | undefined): ReadonlySet<string> {
  return new Set(
    Array.from((text ?? "").matchAll(source), (match) =>
      (match[1] ?? "").replace(/^.*@/, "").toLowerCase(),
    ),
  );
}

/** Why a changed lock file acts later: tells a source that was not there before. */
export function lockReason(before: string | undefined, after: string | undefined): string {
  if (after === undefined)
    return "lock file: the next install chooses versions anew, or is too large to compare";
  const old = sourcesOf(before);
  const fresh = [...sourcesOf(after)].filter((host) => host !== "" && !old.has(host));
  return before !== undefined && fresh.length > 0
    ? `lock file: packages now come from ${fresh.slice(0, 3).join(", ")}${fresh.length > 3 ? " and others" : ""}`
    : "lock file: decides what the next install fetches and runs";
}
