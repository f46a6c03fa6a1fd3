import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, statSync } from "node:fs";
import path from "node:path";
import { Failure } from "../../base/errors.ts";
import { textLimit } from "../../core/change/lines.ts";
import type {
  CommitRecord,
  PublishTarget,
  RecoveredPublish,
  Staging,
} from "../../runtime/commit/publishPort.ts";
import { HostTree, identityOf } from "./hostTree.ts";
import { readIntent, recordFile, recordOf, type Intent } from "./intent.ts";
import { KeptContents } from "./keptContents.ts";
import type { NativeProgram } from "./nativePublish.ts";
import { recoverCommit } from "./recoverCommit.ts";
import { StagingArea } from "./stagingArea.ts";

/** What a publish target is made of. */
export interface PublishTargetOptions {
  /** Absolute and real. */
  readonly workspace: string;
  /** The transaction's `state` directory. */
  readonly state: string;
  readonly program: NativeProgram;
  /** Only tests choose another than {@link textLimit}. */
  readonly memoryLimit?: number;
}

/** The workspace of one transaction, for publishing; everything of ours lies in `commits/` of its state directory. */
export class WorkspaceTarget implements PublishTarget {
  readonly #options: PublishTargetOptions;
  readonly #commits: string;
  readonly #host: HostTree;
  readonly #kept: KeptContents;
  readonly #read = new Map<string, Intent>();

  constructor(options: PublishTargetOptions) {
    const limit = options.memoryLimit ?? textLimit;
    this.#options = options;
    this.#commits = path.join(options.state, "commits");
    this.#host = new HostTree(options.workspace, limit);
    this.#kept = new KeptContents(this.#commits, limit, (commit) => this.#record(commit));
  }

  look(at: string): ReturnType<HostTree["look"]> {
    return this.#host.look(at);
  }

  list(at: string): Promise<readonly string[] | undefined> {
    return Promise.resolve(this.#host.list(at));
  }

  stage(): Promise<Staging> {
    const { workspace, program } = this.#options;
    const root = statSync(workspace, { bigint: true, throwIfNoEntry: false });
    if (root?.isDirectory() !== true) {
      throw new Failure(
        "failed",
        "workspace-not-a-folder",
        `${workspace} is no longer a folder`,
        "put it back where it was, then commit again",
      );
    }
    mkdirSync(this.#commits, { recursive: true, mode: 0o700 });
    this.#host.forgetDirectories();
    const commit = this.#nextCommit();
    return Promise.resolve(
      new StagingArea(path.join(this.#commits, commit), commit, {
        workspace,
        rootIdentity: identityOf(root),
        host: this.#host,
        kept: this.#kept,
        program,
      }),
    );
  }

  records(): Promise<readonly CommitRecord[]> {
    const intents = this.#names().map((commit) => this.#record(commit));
    return Promise.resolve(intents.filter((intent) => intent !== undefined).map(recordOf));
  }

  replaced(commit: string, at: string): Promise<Uint8Array | undefined> {
    return Promise.resolve(this.#kept.replaced(commit, at));
  }

  left(commit: string, at: string): Promise<Uint8Array | undefined> {
    return Promise.resolve(this.#kept.left(commit, at));
  }

  async recover(): Promise<readonly RecoveredPublish[]> {
    const recovered: RecoveredPublish[] = [];
    for (const commit of this.#names()) {
      const one = await recoverCommit(path.join(this.#commits, commit), this.#options.program);
      if (one !== undefined) recovered.push(one);
    }
    return recovered;
  }

  close(): Promise<void> {
    this.#read.clear();
    return Promise.resolve();
  }

  /** Commits' names in the order they were staged. */
  #names(): readonly string[] {
    try {
      return readdirSync(this.#commits)
        .filter((name) => /^c\d{4,}-[0-9a-f]{6}$/.test(name))
        .sort((left, right) => numberOf(left) - numberOf(right));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
      throw error;
    }
  }

  #nextCommit(): string {
    const last = this.#names().at(-1);
    const number = last === undefined ? 1 : numberOf(last) + 1;
    return `c${String(number).padStart(4, "0")}-${randomBytes(3).toString("hex")}`;
  }

  #record(commit: string): Intent | undefined {
    const known = this.#read.get(commit);
    if (known !== undefined) return known;
    const intent = readIntent(path.join(this.#commits, commit, recordFile));
    if (intent !== undefined) this.#read.set(commit, intent);
    return intent;
  }
}

function numberOf(commit: string): number {
  return Number.parseInt(commit.slice(1), 10);
}
