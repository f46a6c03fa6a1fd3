import { closeSync, fdatasyncSync, mkdirSync, openSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setImmediate } from "node:timers/promises";
import { Failure } from "../../base/errors.ts";
import { looksBinary } from "../../core/change/lines.ts";
import type {
  CommitNote,
  CommitRecord,
  PreparedPublish,
  PublishStep,
  Staging,
} from "../../runtime/commit/publishPort.ts";
import { writeDurably } from "./durable.ts";
import type { HostTree } from "./hostTree.ts";
import {
  intentFile,
  packFile,
  stagesFile,
  type Intent,
  type KeptText,
  type PublishOperation,
  type StageDirectory,
} from "./intent.ts";
import type { KeptContents } from "./keptContents.ts";
import { runPublish, type NativeProgram } from "./nativePublish.ts";
import { inOrder } from "./operationOrder.ts";
import { PreparedInDirectory } from "./preparedPublish.ts";
import { failureAt, preparationFailure } from "./publishFailures.ts";
import { removeCommit } from "./removeCommit.ts";
import { fillDirectory, fillFile, fillLink } from "./slots.ts";
import { makeStage, mountOf, stagePlaces } from "./stagePlaces.ts";

/** What a staging area works with. */
export interface StagingPorts {
  readonly workspace: string;
  readonly rootIdentity: string;
  readonly host: HostTree;
  readonly kept: KeptContents;
  readonly program: NativeProgram;
}

/** Steps between two turns of the event loop: staging many small files must not stall everything else. */
const stepsPerTurn = 64;

/** One commit being staged in its own directory of the transaction's state. */
export class StagingArea implements Staging {
  readonly commit: string;
  readonly #directory: string;
  readonly #ports: StagingPorts;
  readonly #stages: StageDirectory[] = [];
  readonly #stageOfMount = new Map<string, number>();
  readonly #stageOfDirectory = new Map<string, number>();
  /** Identities of the directories that operations happen in. */
  readonly #parents = new Map<string, string>();
  readonly #operations: PublishOperation[] = [];
  readonly #left: KeptText[] = [];
  readonly #made: string[] = [];
  readonly #removed: CommitRecord["removedDirectories"][number][] = [];
  #pack: number | undefined;
  #packed = 0;
  #slots = 0;

  /** Makes the commit's directory, which must not exist yet. */
  constructor(directory: string, commit: string, ports: StagingPorts) {
    this.commit = commit;
    this.#directory = directory;
    this.#ports = ports;
    mkdirSync(directory, { mode: 0o700 });
    this.#pack = openSync(path.join(directory, packFile), "wx", 0o600);
  }

  async add(step: PublishStep): Promise<void> {
    if (this.#operations.length % stepsPerTurn === 0) await setImmediate();
    try {
      await this.#addStep(step);
    } catch (error) {
      throw preparationFailure(error);
    }
  }

  async #addStep(step: PublishStep): Promise<void> {
    const stage = this.#stageFor(step.path);
    const slot = String(++this.#slots);
    const file = path.join(this.#stages[stage]?.path ?? "", slot);
    const put = (kind: PublishOperation["kind"], staged: string, expected = ""): void =>
      void this.#operations.push({ kind, stage, slot, path: step.path, expected, staged });
    switch (step.step) {
      case "put":
        put("put", await fillFile(file, step.state, step.content, this.#ports.kept), step.expected);
        return;
      case "link":
        put("put", fillLink(file, step.target), step.expected);
        return;
      case "remove":
        put("remove", "", step.expected);
        return;
      case "mode":
        put("mode", step.mode.toString(8), step.expected);
        return;
      case "makeDirectory": {
        // Ours to fill first; the permissions that were asked for come last.
        const staged = fillDirectory(file, step.mode | 0o700);
        put("mkdir", staged);
        this.#parents.set(step.path, staged);
        if ((step.mode & 0o700) !== 0o700) put("mode", step.mode.toString(8), staged);
        this.#made.push(step.path);
        return;
      }
      case "removeDirectory": {
        const stat = this.#ports.host.stat(step.path);
        if (stat?.isDirectory() !== true) return;
        put("rmdir", "");
        this.#removed.push({ path: step.path, mode: Number(stat.mode & 0o777n) });
      }
    }
  }

  keepText(at: string, bytes: Uint8Array): Promise<void> {
    // Only a text can be merged again; anything else is compared by hash alone.
    const pack = this.#pack;
    if (
      pack !== undefined &&
      !looksBinary(Buffer.from(bytes.subarray(0, 8000)).toString("latin1"))
    ) {
      writeFileSync(pack, bytes);
      this.#left.push({ path: at, at: this.#packed, bytes: bytes.length });
      this.#packed += bytes.length;
    }
    return Promise.resolve();
  }

  async prepare(note: CommitNote): Promise<PreparedPublish> {
    const intent: Intent = {
      version: 1,
      note,
      root: this.#ports.workspace,
      rootIdentity: this.#ports.rootIdentity,
      stages: this.#stages,
      operations: inOrder(this.#operations).map((one) => this.#withParent(one)),
      left: this.#left,
      madeDirectories: this.#made,
      removedDirectories: this.#removed,
    };
    try {
      this.#closePack();
      await this.#makeDurable(intent);
      writeDurably(path.join(this.#directory, intentFile), JSON.stringify(intent));
    } catch (error) {
      throw preparationFailure(error);
    }
    return new PreparedInDirectory(this.#directory, intent, this.#ports.program);
  }

  /** Leftovers that cannot be removed now are removed by recover. */
  async abandon(): Promise<void> {
    await setImmediate();
    try {
      this.#closePack();
    } finally {
      removeCommit(this.#directory);
    }
  }

  /** The directory that an operation is to happen in: the one that was looked into, or one of ours. */
  #withParent(operation: PublishOperation): PublishOperation {
    const parent = path.posix.dirname(operation.path);
    const at = parent === "." ? "" : parent;
    let identity = this.#parents.get(at);
    if (identity === undefined) {
      identity = this.#ports.host.directoryIdentity(at);
      this.#parents.set(at, identity);
    }
    return { ...operation, parent: identity };
  }

  #closePack(): void {
    if (this.#pack === undefined) return;
    const pack = this.#pack;
    this.#pack = undefined;
    try {
      fdatasyncSync(pack);
    } finally {
      closeSync(pack);
    }
  }

  async #makeDurable(intent: Intent): Promise<void> {
    const report = await runPublish(this.#ports.program, "prepare", intent);
    if (report.end === "done") return;
    const failed = report.failed[0];
    if (failed !== undefined) {
      const at = intent.operations[failed.index]?.path ?? "";
      throw failureAt(at, failed.errno, failed.reason);
    }
    const why = report.error ?? "the native program ended early";
    throw new Failure("failed", "prepare-failed", `nothing was written: ${why}`, "commit again");
  }

  /** The stage on the mount of a path's parent (of the nearest one that is there). */
  #stageFor(at: string): number {
    let parent = path.posix.dirname(at);
    const near = this.#stageOfDirectory.get(parent);
    if (near !== undefined) return near;
    while (parent !== "." && this.#ports.host.stat(parent)?.isDirectory() !== true) {
      parent = path.posix.dirname(parent);
    }
    const known = this.#stageOfDirectory.get(parent);
    if (known !== undefined) return known;
    const directory = path.join(this.#ports.workspace, parent);
    const stage = this.#stageOn(directory);
    this.#stageOfDirectory.set(parent, stage);
    return stage;
  }

  #stageOn(directory: string): number {
    const mount = mountOf(directory);
    const known = this.#stageOfMount.get(mount);
    if (known !== undefined) return known;
    const places = stagePlaces(this.#directory, this.#ports.workspace, directory, this.commit);
    for (const { path: place, own } of places) {
      const made = own ? path.join(place, `stage-${this.#stages.length}`) : place;
      if (!own) {
        // Told before it is made, so that recover finds it whatever happens.
        const stages = [...this.#stages, { path: made, own }];
        writeDurably(path.join(this.#directory, stagesFile), JSON.stringify(stages));
      }
      if (!makeStage(made)) continue;
      this.#stages.push({ path: made, own });
      this.#stageOfMount.set(mount, this.#stages.length - 1);
      return this.#stages.length - 1;
    }
    throw new Failure(
      "refused",
      "workspace-not-writable",
      `nothing was written: no directory can be made on the filesystem of ${directory}`,
      "make the workspace's directory writable for you, then commit again",
    );
  }
}
