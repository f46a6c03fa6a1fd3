/**
 * The public tool calls are skeletons: names, texts and numbers are placeholders such as `<str:12>`, which a shell would
 * read as redirections. This turns a skeleton into a script of the same shape that a shell parser can read.
 */
export function scriptOfSkeleton(skeleton: string): string {
  return decode(withNestedScripts(skeleton));
}

/** `⟪ … ⟫` is a script handed to another program: it becomes one quoted word. */
function withNestedScripts(text: string): string {
  const open = text.lastIndexOf("⟪");
  if (open < 0) return text;
  const close = text.indexOf("⟫", open);
  const end = close < 0 ? text.length : close;
  const inner = decode(text.slice(open + 1, end)).trim();
  const quoted = ` '${inner.replaceAll("'", `'\\''`)}' `;
  return withNestedScripts(text.slice(0, open) + quoted + text.slice(end + 1));
}

const words: Readonly<Record<string, string>> = {
  ws: "/workspace",
  wt: "/worktree",
  home: "/home/person",
  tmp: "/tmp",
  other: "/srv",
  dyn: "/dynamic",
  main: "main",
  branch: "feature/x",
  remote: "origin",
  tag: "v1.2.3",
  sha: "abc1234",
  owner: "owner",
  repo: "repo",
  n: "42",
  num: "5",
  p: "part",
  host: "host.example",
  "host:private": "10.0.0.5",
  email: "a@host.example",
  id: "id",
  key: "key",
  pkg: "some-package",
  prog: "some-program",
  script: "script.sh",
  glob: "glob",
  query: "a=b",
  var: "value",
};

function decode(text: string): string {
  return (
    text
      .replaceAll(/<<-?\s*<heredoc:\d+[^>]*>/g, "<<< text")
      // The text of a here-document stands where its delimiter would: a here-string is read alike.
      .replaceAll(/(?<!<)<<-?(?!<)(?=\s*(?:<(?:code|sql|str|graphql):|'))/g, "<<<")
      .replaceAll(/<heredoc:\d+[^>]*>/g, "text")
      .replaceAll(
        /<graphql:(\w+):([^>]*)>/g,
        (_, kind: string, field: string) => `'${kind} { ${field || "x"} }'`,
      )
      .replaceAll(/<sql:\d+:([^>]*)>/g, (_, hints: string) => `'${sqlOf(hints)}'`)
      .replaceAll(
        /<code:(\w+):\d+:?([^>]*)>/g,
        (_, language: string, hints: string) => `'${codeOf(hints, language)}'`,
      )
      .replaceAll(/<str:(\d+):?([^>]*)>/g, (_, size: string, hints: string) =>
        hints === "" ? `text${size}` : `'${codeOf(hints)}'`,
      )
      .replaceAll(/<w(?::(\d+)[^>]*)?>/g, (_, size: string | undefined) => `word${size ?? ""}`)
      .replaceAll(
        /<([a-z]+(?::[\w:,.-]*)?)>/g,
        (_, name: string) => words[name] ?? name.replace(":", "-"),
      )
  );
}

function sqlOf(hints: string): string {
  if (hints.includes("ddl")) return "drop table t";
  return hints.includes("dml") ? "delete from t" : "select 1";
}

const code: Readonly<Record<string, (url: string) => string>> = {
  netwrite: (url) => `requests.post("${url}")`,
  net: (url) => `requests.get("${url}")`,
  gitpush: () => 'run(["git", "push"])',
  gh: () => 'run(["gh", "pr", "create"])',
  uiact: () => "button.click()",
  exec: () => 'run(["program"])',
  write: () => 'open("f", "w")',
};

const shellCode: typeof code = {
  netwrite: (url) => `curl -X POST ${url}`,
  net: (url) => `curl ${url}`,
  gitpush: () => "git push",
  gh: () => "gh pr create",
  exec: () => "program",
  write: () => "echo text > f",
};

/** Code that does what the hints say and nothing else. */
function codeOf(hints: string, language = ""): string {
  const url = hints.includes("localurl") ? "http://localhost:3000/" : "https://host.example/";
  const lines = /^(?:sh|bash|zsh|fish)$/.test(language) ? shellCode : code;
  const parts = hints.split(/[,:]/).flatMap((hint) => lines[hint]?.(url) ?? []);
  return parts.join("; ") || "true";
}
