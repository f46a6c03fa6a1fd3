import { existsSync } from "node:fs";
import path from "node:path";
import type { RecoveredPublish } from "../../runtime/commit/publishPort.ts";
import { renameDurably } from "./durable.ts";
import { intentFile, readIntent, recordFile, type Intent } from "./intent.ts";
import { runPublish, type NativeProgram } from "./nativePublish.ts";
import { decide } from "./preparedPublish.ts";
import { unfinishedFailure } from "./publishFailures.ts";
import { removeCommit, removeOutsideStages } from "./removeCommit.ts";

/**
 * Brings one commit's directory to rest. Undecided: taken back; but where a person has edited what was already
 * published, finished instead, so that their edit stays on the file they made it in. Where neither can be had whole
 * (they edited here and changed what was still to come there), their versions stay and ours are kept beside.
 */
export async function recoverCommit(
  directory: string,
  program: NativeProgram,
): Promise<RecoveredPublish | undefined> {
  if (existsSync(path.join(directory, recordFile))) {
    removeOutsideStages(directory);
    return undefined;
  }
  const intent = readIntent(path.join(directory, intentFile));
  if (intent === undefined) {
    if (!existsSync(path.join(directory, leftAloneFile))) removeCommit(directory);
    return undefined;
  }
  const edited = await runPublish(program, "edited", intent);
  if (edited.end !== "done") throw unfinishedFailure(edited.error ?? "");
  if (edited.edited.length > 0 && (await finish(directory, intent, program))) {
    return { note: intent.note, outcome: "published", leftAlone: [] };
  }
  return takeBack(directory, intent, program);
}

/** What `intent.json` is called once it was taken back as far as possible but a stage still holds a person's other version. */
const leftAloneFile = "left-alone.json";

async function finish(directory: string, intent: Intent, program: NativeProgram): Promise<boolean> {
  const report = await runPublish(program, "resume", intent);
  if (report.end !== "done") return false;
  decide(directory, intent);
  return true;
}

async function takeBack(
  directory: string,
  intent: Intent,
  program: NativeProgram,
): Promise<RecoveredPublish> {
  const report = await runPublish(program, "rollback", intent);
  if (report.end !== "takenBack") {
    const stuck = report.failed[0];
    const at = stuck === undefined ? "" : (intent.operations[stuck.index]?.path ?? "");
    throw unfinishedFailure(stuck === undefined ? (report.error ?? "") : `${at}: ${stuck.reason}`);
  }
  const leftAlone = report.leftAlone
    .map((index) => intent.operations[index])
    .filter((operation) => operation !== undefined && operation.kind !== "mkdir")
    .map((operation) => operation?.path ?? "");
  if (leftAlone.length === 0) {
    removeCommit(directory);
    return { note: intent.note, outcome: "abandoned", leftAlone };
  }
  renameDurably(path.join(directory, intentFile), path.join(directory, leftAloneFile));
  return { note: intent.note, outcome: "abandoned", leftAlone, keptAt: directory };
}
