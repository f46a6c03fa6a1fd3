import type { Verb } from "./context.ts";
import { attachVerb } from "./verbs/attach.ts";
import { commitsVerb, historyVerb } from "./verbs/commits.ts";
import { approveVerb, denyVerb, holdsVerb } from "./verbs/holds.ts";
import { journalExportVerb, journalVerifyVerb } from "./verbs/journal.ts";
import { doctorVerb, gcVerb, recoverVerb } from "./verbs/machine.ts";
import { mcpAcceptVerb, mcpListVerb } from "./verbs/mcp.ts";
import { policyCheckVerb, policyExplainVerb } from "./verbs/policy.ts";
import { cancelVerb, promptVerb } from "./verbs/prompt.ts";
import {
  changesVerb,
  checkVerb,
  commitVerb,
  diffVerb,
  discardVerb,
  undoVerb,
} from "./verbs/review.ts";
import { runVerb } from "./verbs/run.ts";
import { restoreVerb, savepointsVerb, savepointVerb } from "./verbs/savepoints.ts";
import { secretListVerb, secretRemoveVerb, secretSetVerb } from "./verbs/secrets.ts";
import { listVerb, resumeVerb, statusVerb, stopVerb } from "./verbs/state.ts";
import { timelineVerb } from "./verbs/timeline.ts";

/** Every verb of the command line (DESIGN §11), by name. */
export const verbs: Readonly<Record<string, Verb>> = {
  run: runVerb,
  list: listVerb,
  status: statusVerb,
  timeline: timelineVerb,
  changes: changesVerb,
  diff: diffVerb,
  check: checkVerb,
  commit: commitVerb,
  discard: discardVerb,
  undo: undoVerb,
  history: historyVerb,
  commits: commitsVerb,
  savepoint: savepointVerb,
  savepoints: savepointsVerb,
  restore: restoreVerb,
  stop: stopVerb,
  resume: resumeVerb,
  attach: attachVerb,
  prompt: promptVerb,
  cancel: cancelVerb,
  holds: holdsVerb,
  approve: approveVerb,
  deny: denyVerb,
  "secret set": secretSetVerb,
  "secret list": secretListVerb,
  "secret remove": secretRemoveVerb,
  "policy check": policyCheckVerb,
  "policy explain": policyExplainVerb,
  "mcp list": mcpListVerb,
  "mcp accept": mcpAcceptVerb,
  "journal verify": journalVerifyVerb,
  "journal export": journalExportVerb,
  recover: recoverVerb,
  doctor: doctorVerb,
  gc: gcVerb,
};
