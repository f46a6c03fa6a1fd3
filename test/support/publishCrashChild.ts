/**
 * Commits, undoes or recovers in a fixture that another process made, and is killed at the N-th writing call: `ROOT NATIVE
 * commit|undo|recover N`. Ends with 0 when it was done before that.
 */
import path from "node:path";
import { JournalFile } from "../../src/node/journal/journalFile.ts";
import { recoverTransaction } from "../../src/runtime/commit/recoverWorkspace.ts";
import { undoCommit } from "../../src/runtime/commit/undoCommit.ts";
import { commitTransaction } from "../../src/runtime/commit/commitTransaction.ts";
import { interceptFiles } from "./failingFiles.ts";
import { crashRenames } from "./publishCrash.ts";
import { PublishFixture } from "./publishFixture.ts";

const [root = "", native = "", verb, last = "0"] = process.argv.slice(2);
const fault = process.env["HOLDFAST_FAULT"];
const fixture = new PublishFixture(
  {},
  { at: root, native, ...(fault !== undefined && { env: { HOLDFAST_FAULT: fault } }) },
);
fixture.renames = crashRenames;
const { target, reader } = fixture;
const changeSet = await fixture.changeSet();
const journal = JournalFile.open(path.join(root, "state"));
const now = "2026-11-29T12:00:00.000Z";
let calls = 0;
interceptFiles("writing", () => {
  calls++;
  if (String(calls) === last) process.kill(process.pid, "SIGKILL");
});
if (verb === "commit") {
  const selection = { includeRunsLater: true, includeIgnored: true };
  await commitTransaction(
    { transaction: "t1", target, reader, changeSet, selection, now },
    journal,
  );
} else if (verb === "undo") {
  await undoCommit({ transaction: "t1", target, now }, journal);
} else {
  await recoverTransaction(target, journal);
}
process.exit(0);
