import {
  accessSync,
  chmodSync,
  constants,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { execFileSync } from "node:child_process";
import { publishedBy } from "../../src/runtime/commit/history.ts";
import type { ChangeSet } from "../../src/core/change/changeSet.ts";
import type { Selection } from "../../src/core/change/selection.ts";
import { Beneath } from "../../src/node/fork/beneath.ts";
import { WorkspaceTarget } from "../../src/node/publish/publishTarget.ts";
import type { PathChoice } from "../../src/runtime/commit/chosenChange.ts";
import {
  commitTransaction,
  type CommitResult,
} from "../../src/runtime/commit/commitTransaction.ts";
import { recoverTransaction, type Recovery } from "../../src/runtime/commit/recoverWorkspace.ts";
import { buildChangeSet } from "../../src/runtime/commit/seal.ts";
import { undoCommit, type UndoResult } from "../../src/runtime/commit/undoCommit.ts";
import type { ChangedPath, ForkReader, ForkSide, ForkStat } from "../../src/runtime/ports.ts";
import { CommitJournal } from "./commitJournal.ts";
import { nativeBuild, sanitizerEnv } from "./nativeBuild.ts";

/** Memory where there is some: thousands of fsyncs on a busy disk would only cost time. */
export function quickFolder(): string {
  try {
    accessSync("/dev/shm", constants.W_OK);
    return "/dev/shm";
  } catch {
    return tmpdir();
  }
}

/** Reads two plain directories as the sides of a fork. `secrets` maps placeholders to values. */
export class PlainReader implements ForkReader {
  readonly #sides: Readonly<Record<ForkSide, Beneath>>;
  readonly secrets = new Map<string, string>();

  constructor(base: string, shadow: string) {
    this.#sides = { base: new Beneath(base), shadow: new Beneath(shadow) };
  }

  stat(side: ForkSide, at: string): Promise<ForkStat | undefined> {
    const stat = this.#sides[side].stat(at);
    if (stat === undefined) return Promise.resolve(undefined);
    const mode = Number(stat.mode & 0o7777n);
    if (stat.isFile()) return Promise.resolve({ type: "file", mode, size: Number(stat.size) });
    if (stat.isDirectory()) return Promise.resolve({ type: "directory", mode });
    const target = this.#sides[side].readlink(at) ?? "";
    return Promise.resolve({ type: "symlink", mode, target });
  }

  read(side: ForkSide, at: string): Promise<Uint8Array | undefined> {
    return Promise.resolve(this.#sides[side].read(at)?.bytes);
  }

  pieces(side: ForkSide, at: string): Promise<AsyncIterable<Uint8Array> | undefined> {
    return Promise.resolve(this.#sides[side].pieces(at));
  }

  list(side: ForkSide, at: string): Promise<readonly string[] | undefined> {
    return Promise.resolve(this.#sides[side].list(at));
  }

  unmask(_path: string, bytes: Uint8Array): Promise<Uint8Array> {
    let text = Buffer.from(bytes).toString("latin1");
    for (const [placeholder, value] of this.secrets) text = text.replaceAll(placeholder, value);
    return Promise.resolve(Buffer.from(text, "latin1"));
  }
}

/** What a path of a test tree is: content, content with a mode, a link, or an empty directory. */
export type Planted =
  | string
  | Uint8Array
  | { readonly content: string | Uint8Array; readonly mode: number }
  | { readonly linkTo: string }
  | { readonly directory: number };

/** Puts things into a tree; `null` takes away. */
export function plant(root: string, tree: Readonly<Record<string, Planted | null>>): void {
  for (const [at, planted] of Object.entries(tree)) {
    const file = path.join(root, at);
    rmSync(file, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
    if (planted === null) continue;
    mkdirSync(path.dirname(file), { recursive: true });
    if (typeof planted === "string" || planted instanceof Uint8Array) writeFileSync(file, planted);
    else if ("linkTo" in planted) symlinkSync(planted.linkTo, file);
    else if ("directory" in planted) mkdirSync(file, { mode: planted.directory });
    else {
      writeFileSync(file, planted.content);
      chmodSync(file, planted.mode);
    }
  }
}

/** A workspace, its base and its shadow as plain directories, and a transaction's state. */
export class PublishFixture {
  readonly root: string;
  readonly workspace: string;
  readonly base: string;
  readonly shadow: string;
  readonly state: string;
  readonly journal = new CommitJournal();
  readonly reader: PlainReader;
  target: WorkspaceTarget;
  ignored: (at: string) => boolean = () => false;
  renames: Readonly<Record<string, string>> = {};
  /** What changed, where finding it would take too long. */
  changed: readonly ChangedPath[] | undefined;

  constructor(
    base: Readonly<Record<string, Planted>>,
    options: {
      readonly parent?: string;
      readonly native?: string;
      readonly env?: Readonly<Record<string, string>>;
      /** Where the workspace is to be made: on another filesystem. */
      readonly workspaceParent?: string;
      /** The root of a fixture that another process made. */
      readonly at?: string;
    } = {},
  ) {
    const parent = options.parent ?? quickFolder();
    this.root = options.at ?? realpathSync(mkdtempSync(path.join(parent, "holdfast-publish-")));
    const below = (name: string): string => path.join(this.root, name);
    [this.workspace, this.base, this.shadow, this.state] = ["work", "base", "shadow", "state"].map(
      below,
    ) as [string, string, string, string];
    if (options.workspaceParent !== undefined) {
      this.workspace = path.join(options.workspaceParent, path.basename(this.root));
    }
    if (options.at === undefined) {
      for (const one of [this.workspace, this.base, this.shadow, this.state]) mkdirSync(one);
      for (const one of [this.workspace, this.base, this.shadow]) plant(one, base);
    }
    this.reader = new PlainReader(this.base, this.shadow);
    this.target = new WorkspaceTarget({
      workspace: this.workspace,
      state: this.state,
      program: {
        path: options.native ?? nativeBuild("plain"),
        env: { ...sanitizerEnv(), ...options.env },
      },
    });
  }

  agent(tree: Readonly<Record<string, Planted | null>>): this {
    plant(this.shadow, tree);
    return this;
  }

  person(tree: Readonly<Record<string, Planted | null>>): this {
    plant(this.workspace, tree);
    return this;
  }

  changeSet: () => Promise<ChangeSet> = () => {
    const changed =
      this.changed ?? changedPaths(this.base, this.shadow, this.ignored, this.renames);
    return buildChangeSet(this.reader, changed);
  };

  recover(): Promise<readonly Recovery[]> {
    return recoverTransaction(this.target, this.journal);
  }

  async commit(
    selection: Selection = { includeRunsLater: true, includeIgnored: true },
    choices?: ReadonlyMap<string, PathChoice>,
  ): Promise<CommitResult> {
    return commitTransaction(
      {
        transaction: "t1",
        target: this.target,
        reader: this.reader,
        changeSet: await this.changeSet(),
        selection,
        ...(choices !== undefined && { choices }),
        now: "2026-11-29T12:00:00.000Z",
      },
      this.journal,
    );
  }

  undo(commit?: string): Promise<UndoResult> {
    return undoCommit(
      {
        transaction: "t1",
        target: this.target,
        ...(commit !== undefined && { commit }),
        now: "2026-11-29T12:00:00.000Z",
      },
      this.journal,
    );
  }

  async published(): Promise<ReturnType<typeof publishedBy>> {
    return publishedBy(await this.target.records());
  }

  read(at: string): string | undefined {
    const file = path.join(this.workspace, at);
    return existsSync(file) ? readFileSync(file, "latin1") : undefined;
  }

  [Symbol.dispose](): void {
    if (process.getuid?.() !== 0) execFileSync("chmod", ["-R", "u+rwX", this.root]);
    rmSync(this.root, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
    rmSync(this.workspace, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  }
}

/** The differences between two trees, found by an independent walk. `renames` maps new paths to old ones. */
export function changedPaths(
  base: string,
  shadow: string,
  ignored: (at: string) => boolean,
  renames: Readonly<Record<string, string>>,
): readonly ChangedPath[] {
  const before = leavesOf(base);
  const after = leavesOf(shadow);
  const moved = new Set(Object.values(renames));
  const changed: ChangedPath[] = [];
  for (const at of new Set([...before.keys(), ...after.keys()])) {
    const [old, fresh] = [before.get(at), after.get(at)];
    const from = renames[at];
    if (old === fresh || (fresh === undefined && moved.has(at))) continue;
    const change =
      from !== undefined
        ? "renamed"
        : old === undefined
          ? "added"
          : fresh === undefined
            ? "deleted"
            : "modified";
    changed.push({ path: at, change, ...(from !== undefined && { from }), ignored: ignored(at) });
  }
  return changed;
}

/** Files, links and empty directories of a tree, each with a text that differs whenever the thing does. */
function leavesOf(root: string): ReadonlyMap<string, string> {
  const leaves = new Map<string, string>();
  const visit = (relative: string): void => {
    const names = readdirSync(path.join(root, relative));
    if (names.length === 0 && relative !== "") {
      leaves.set(relative, `d ${lstatSync(path.join(root, relative)).mode}`);
    }
    for (const name of names) {
      const at = relative === "" ? name : `${relative}/${name}`;
      const stat = lstatSync(path.join(root, at));
      if (stat.isDirectory()) visit(at);
      else if (stat.isSymbolicLink()) {
        leaves.set(at, `l ${readlinkSync(path.join(root, at))}`);
      } else leaves.set(at, `f ${stat.mode} ${readFileSync(path.join(root, at), "latin1")}`);
    }
  };
  visit("");
  return leaves;
}

/** Copies a tree with everything that a snapshot compares. */
export function copyTree(from: string, to: string): void {
  cpSync(from, to, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
}
