import { copyFileSync, lstatSync, mkdirSync, constants } from "node:fs";
import path from "node:path";
import { messageOf } from "../../base/errors.ts";
import type { PreparedPublish } from "../../runtime/commit/publishPort.ts";
import { renameDurably, syncDirectory } from "./durable.ts";
import { intentFile, recordFile, type Intent } from "./intent.ts";
import { runPublish, type NativeProgram, type PublishReport } from "./nativePublish.ts";
import { failureAt, unfinishedFailure } from "./publishFailures.ts";
import { removeCommit, removeOutsideStages } from "./removeCommit.ts";

type Outcome = Awaited<ReturnType<PreparedPublish["publish"]>>;

/** A prepared commit whose intent is durable in its directory. */
export class PreparedInDirectory implements PreparedPublish {
  readonly commit: string;
  readonly #directory: string;
  readonly #intent: Intent;
  readonly #program: NativeProgram;

  constructor(directory: string, intent: Intent, program: NativeProgram) {
    this.commit = intent.note.commit;
    this.#directory = directory;
    this.#intent = intent;
    this.#program = program;
  }

  async publish(): Promise<Outcome> {
    const report = await runPublish(this.#program, "apply", this.#intent);
    if (report.end === "done") {
      const leftover = decide(this.#directory, this.#intent);
      return { outcome: "published", ...(leftover !== undefined && { leftover }) };
    }
    if (report.end !== "takenBack") throw unfinishedFailure(wordsOf(report, this.#intent));
    return this.#takenBack(report);
  }

  abandon(): Promise<void> {
    removeCommit(this.#directory);
    return Promise.resolve();
  }

  #takenBack(report: PublishReport): Outcome {
    const alone = report.leftAlone[0];
    if (alone !== undefined) {
      // Somebody wrote to a file between our two moves: what we have of it must not be thrown away.
      throw unfinishedFailure(`${this.#pathAt(alone)} was changed meanwhile`);
    }
    removeCommit(this.#directory);
    const failed = report.failed[0];
    if (failed !== undefined) {
      throw failureAt(this.#pathAt(failed.index), failed.errno, failed.reason);
    }
    return {
      outcome: "changed",
      path: this.#pathAt(report.changed[0] ?? 0),
      reason: "changed in the workspace while it was published",
    };
  }

  #pathAt(index: number): string {
    return this.#intent.operations[index]?.path ?? "";
  }
}

function wordsOf(report: PublishReport, intent: Intent): string {
  const failed = report.failed[0];
  if (failed === undefined) return report.error ?? "";
  return `${intent.operations[failed.index]?.path ?? ""}: ${failed.reason}`;
}

/**
 * All operations are done and durable: keeps what was replaced, then turns the intent into the record. Gives the reason
 * when a stage outside the state directory could not be removed yet.
 */
export function decide(directory: string, intent: Intent): string | undefined {
  try {
    keepReplaced(directory, intent);
    renameDurably(path.join(directory, intentFile), path.join(directory, recordFile));
  } catch (error) {
    throw unfinishedFailure(messageOf(error));
  }
  return tidied(directory);
}

/** From here on the commit has happened: what cannot be tidied now is left to recover, and told. */
function tidied(directory: string): string | undefined {
  try {
    removeOutsideStages(directory);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

/** Copies what was replaced out of stages that do not stay. */
function keepReplaced(directory: string, intent: Intent): void {
  intent.stages.forEach((stage, index) => {
    if (stage.own) return;
    const store = path.join(directory, `kept-${index}`);
    mkdirSync(store, { recursive: true, mode: 0o700 });
    for (const { kind, stage: of, slot, expected } of intent.operations) {
      if (of !== index || expected === "" || (kind !== "put" && kind !== "remove")) continue;
      const from = path.join(stage.path, slot);
      if (lstatSync(from, { throwIfNoEntry: false })?.isFile() === true) {
        copyFileSync(from, path.join(store, slot), constants.COPYFILE_FICLONE);
      }
    }
    syncDirectory(store);
  });
}
