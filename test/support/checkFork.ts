import {
  copyFileSync,
  linkSync,
  lstatSync,
  readlinkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
} from "node:fs";
import { realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createHash } from "node:crypto";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { ChangedPath, Fork, ForkReader, TransactionPaths } from "../../src/runtime/ports.ts";

/** Path → content; a content that starts with `->` is a symbolic link. */
export type Tree = Readonly<Record<string, string>>;

/** A workspace with a shadow that is a plain copy, enough of a fork for the checks. */
export class CheckFork {
  readonly root = realpathSync(mkdtempSync(join(tmpdir(), "holdfast-fork-")));
  readonly workspace = join(this.root, "workspace");
  readonly base = join(this.root, "base");
  readonly shadow = join(this.root, "shadow");
  overlays: Fork["overlays"] = [];
  readonly paths: TransactionPaths = {
    root: join(this.root, "transaction"),
    base: join(this.root, "transaction/base"),
    door: join(this.root, "transaction/door"),
    state: join(this.root, "transaction/state"),
  };

  /** `install` puts dependencies into the workspace before it is forked. */
  constructor(tree: Tree, install: (workspace: string) => void = () => undefined) {
    mkdirSync(this.paths.state, { recursive: true });
    mkdirSync(this.workspace);
    install(this.workspace);
    writeTree(this.workspace, tree);
    linkTree(this.workspace, this.base);
    linkTree(this.workspace, this.shadow);
  }

  get fork(): Fork {
    return {
      backend: "copy",
      shadow: this.shadow,
      overlays: this.overlays,
      manifest: join(this.root, "manifest"),
      forkMs: 0,
      files: 0,
      bytes: 0,
      notes: [],
    };
  }

  get reader(): ForkReader {
    return {
      stat: (side, path) => {
        const at = join(side === "base" ? this.base : this.shadow, path);
        const stat = lstatSync(at, { throwIfNoEntry: false });
        if (stat === undefined) return Promise.resolve(undefined);
        const type = stat.isFile() ? ("file" as const) : ("other" as const);
        return Promise.resolve({ type, mode: stat.mode & 0o7777, size: stat.size });
      },
      list: () => Promise.reject(new Error("not needed")),
      unmask: (_path, bytes) => Promise.resolve(bytes),
      read: (side, path) => {
        const at = join(side === "base" ? this.base : this.shadow, path);
        const stat = lstatSync(at, { throwIfNoEntry: false });
        return Promise.resolve(stat?.isFile() === true ? readFileSync(at) : undefined);
      },
    };
  }

  /** Writes into the shadow, as the agent would; `undefined` deletes. */
  write(changes: Readonly<Record<string, string | undefined>>): void {
    for (const [path, content] of Object.entries(changes)) {
      if (content === undefined) rmSync(join(this.shadow, path), { recursive: true });
      else writeTree(this.shadow, { [path]: content });
    }
  }

  rename(from: string, to: string): void {
    mkdirSync(dirname(join(this.shadow, to)), { recursive: true });
    renameSync(join(this.shadow, from), join(this.shadow, to));
  }

  /** The differences base → shadow by content. */
  changed(): readonly ChangedPath[] {
    const before = contents(this.base);
    const now = contents(this.shadow);
    const paths = [...new Set([...before.keys(), ...now.keys()])].sort();
    return paths.flatMap((path): ChangedPath[] => {
      const [old, fresh] = [before.get(path), now.get(path)];
      if (old === fresh) return [];
      const change = old === undefined ? "added" : fresh === undefined ? "deleted" : "modified";
      const stamp = createHash("sha256")
        .update(fresh ?? "")
        .digest("hex");
      return [{ path, change, ignored: path.includes("node_modules/"), stamp }];
    });
  }

  remove(): void {
    rmSync(this.root, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  }
}

export function writeTree(root: string, tree: Tree): void {
  for (const [path, content] of Object.entries(tree)) {
    const at = join(root, path);
    mkdirSync(dirname(at), { recursive: true });
    rmSync(at, { force: true });
    if (content.startsWith("->")) symlinkSync(content.slice(2), at);
    else writeFileSync(at, content);
  }
}

/** Copies a tree by hard links where that works: {@link writeTree} replaces files and never writes into them. */
export function linkTree(from: string, to: string): void {
  const stat = lstatSync(from);
  if (stat.isDirectory()) {
    mkdirSync(to, { recursive: true });
    for (const name of readdirSync(from)) linkTree(join(from, name), join(to, name));
  } else if (stat.isSymbolicLink()) {
    symlinkSync(readlinkSync(from), to);
  } else {
    try {
      linkSync(from, to);
    } catch {
      // Another filesystem, or one without hard links.
      copyFileSync(from, to);
    }
  }
}

/** Relative path → content or link target, compilers left out: they are large and have tests of their own. */
function contents(
  root: string,
  prefix = "",
  found = new Map<string, string>(),
): Map<string, string> {
  for (const entry of readdirSync(join(root, prefix), { withFileTypes: true })) {
    const path = prefix === "" ? entry.name : `${prefix}/${entry.name}`;
    if (/node_modules\/(?:typescript|@typescript)\/.*lib$/.test(path)) continue;
    if (entry.isDirectory()) contents(root, path, found);
    else if (entry.isFile()) found.set(path, readFileSync(join(root, path), "latin1"));
    else found.set(path, "->");
  }
  return found;
}
