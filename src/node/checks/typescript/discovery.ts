import { basename, dirname, join } from "node:path";
import { parseJson } from "../../../base/jsonl.ts";
import type { Compiler } from "./compilerHost.ts";
import type { ViewFiles } from "./viewFiles.ts";

const configNames = ["tsconfig.json", "jsconfig.json"] as const;

/** Directories that hold no project of the workspace itself. */
const passedBy = new Set(["node_modules", "dist", "build", "out", "coverage", "target"]);

/** How deep projects are looked for when nothing names them. */
const searchDepth = 3;

/** How many configurations are checked at most. */
const mostProjects = 200;

/** Configuration → the configurations that it references, all absolute. */
export type ProjectGraph = ReadonlyMap<string, readonly string[]>;

/**
 * The configurations to check, absolute, each once: the root's and those of the packages that a workspace file names, or, where
 * there is none of them, those found near the root; the nearest one above each changed file; and whatever these reference,
 * solution style included.
 */
export function discoverProjects(
  compiler: Compiler,
  files: ViewFiles,
  workspace: string,
  changed: readonly string[],
): ProjectGraph {
  const directories = new Set([workspace, ...packageDirectories(files, workspace)]);
  const found = new Set<string>();
  const add = (directory: string): void => {
    const config = configIn(files, directory);
    if (config !== undefined) found.add(config);
  };
  for (const directory of directories) add(directory);
  // Asked before the changes are looked at: which projects there are must not depend on what the agent edits.
  if (found.size === 0) search(files, workspace, searchDepth, add);
  for (const path of changed) {
    const nearest = nearestConfig(files, workspace, path);
    if (nearest !== undefined) found.add(nearest);
  }
  return withReferences(compiler, files, found);
}

function configIn(files: ViewFiles, directory: string): string | undefined {
  return configNames.map((name) => join(directory, name)).find((path) => files.fileExists(path));
}

function nearestConfig(files: ViewFiles, workspace: string, path: string): string | undefined {
  if (!/\.[cm]?[jt]sx?$/.test(path)) return undefined;
  for (let at = dirname(path); at.startsWith(workspace); at = dirname(at)) {
    if (passedBy.has(basename(at)) && at !== workspace) return undefined;
    const config = configIn(files, at);
    if (config !== undefined) return config;
  }
  return undefined;
}

function search(
  files: ViewFiles,
  directory: string,
  depth: number,
  add: (directory: string) => void,
): void {
  add(directory);
  if (depth === 0) return;
  for (const name of files.entries(directory).directories) {
    if (!name.startsWith(".") && !passedBy.has(name)) {
      search(files, join(directory, name), depth - 1, add);
    }
  }
}

/** References are not inherited through `extends`, so the file's own text tells them. */
function withReferences(
  compiler: Compiler,
  files: ViewFiles,
  roots: ReadonlySet<string>,
): ProjectGraph {
  const found = new Map<string, readonly string[]>();
  const pending = [...roots];
  for (let config = pending.shift(); config !== undefined; config = pending.shift()) {
    if (found.has(config) || found.size >= mostProjects || !files.fileExists(config)) continue;
    const directory = dirname(config);
    const raw: unknown = compiler.readConfigFile(config, (path) => files.read(path)?.text).config;
    const references = referencePaths(raw).map((path) => {
      const absolute = join(directory, path);
      return absolute.endsWith(".json") ? absolute : join(absolute, "tsconfig.json");
    });
    found.set(config, references);
    pending.push(...references);
  }
  return found;
}

function referencePaths(raw: unknown): readonly string[] {
  const references = member(raw, "references");
  if (!Array.isArray(references)) return [];
  return references.flatMap((reference) => {
    const path = member(reference, "path");
    return typeof path === "string" ? [path] : [];
  });
}

/** Directories that match the workspace patterns of npm, yarn or pnpm. */
function packageDirectories(files: ViewFiles, workspace: string): readonly string[] {
  const manifest = parseJson(files.read(join(workspace, "package.json"))?.text ?? "");
  const declared = member(manifest, "workspaces");
  const list = Array.isArray(declared) ? declared : member(declared, "packages");
  const patterns = Array.isArray(list) ? list.filter((p) => typeof p === "string") : [];
  const pnpm = files.read(join(workspace, "pnpm-workspace.yaml"))?.text;
  if (pnpm !== undefined) patterns.push(...pnpmPatterns(pnpm));
  const excluded = patterns.filter((p) => p.startsWith("!")).map((p) => p.slice(1));
  const banned = new Set(excluded.flatMap((pattern) => expand(files, workspace, pattern)));
  return patterns
    .filter((pattern) => !pattern.startsWith("!"))
    .flatMap((pattern) => expand(files, workspace, pattern))
    .filter((directory) => !banned.has(directory));
}

/** The entries of `packages:` in a pnpm workspace file, which is a plain list of strings. */
function pnpmPatterns(text: string): readonly string[] {
  const patterns: string[] = [];
  let inside = false;
  for (const line of text.split(/\r?\n/)) {
    if (/^\S/.test(line) && !line.startsWith("#") && !line.startsWith("-")) {
      inside = /^packages\s*:/.test(line);
      continue;
    }
    const item = /^\s*-\s*(?:"([^"]*)"|'([^']*)'|([^\s#]+))/.exec(line);
    const pattern = item?.[1] ?? item?.[2] ?? item?.[3];
    if (inside && pattern !== undefined) patterns.push(pattern);
  }
  return patterns;
}

function expand(files: ViewFiles, workspace: string, pattern: string): readonly string[] {
  let directories = [workspace];
  for (const segment of pattern.split("/").filter((part) => part !== "" && part !== ".")) {
    directories = directories.flatMap((directory) => step(files, directory, segment));
  }
  return directories;
}

function step(files: ViewFiles, directory: string, segment: string): readonly string[] {
  if (segment === "**") return below(files, directory, searchDepth + 1);
  if (!segment.includes("*")) return [join(directory, segment)];
  const source = segment.split("*").map(escapeForRegExp).join("[^/]*");
  const matches = new RegExp(`^${source}$`);
  return files
    .entries(directory)
    .directories.filter((name) => matches.test(name) && !passedBy.has(name))
    .map((name) => join(directory, name));
}

function below(files: ViewFiles, directory: string, depth: number): readonly string[] {
  if (depth === 0) return [directory];
  const names = files
    .entries(directory)
    .directories.filter((name) => !name.startsWith(".") && !passedBy.has(name));
  return [directory, ...names.flatMap((name) => below(files, join(directory, name), depth - 1))];
}

function escapeForRegExp(text: string): string {
  return text.replaceAll(/[.+?^${}()|[\]\\]/g, "\\$&");
}

/** A member of a value of unknown shape. */
export function member(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined;
}
