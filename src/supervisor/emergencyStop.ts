import { writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "../base/errors.ts";
import { incidentOf } from "../core/incident/incident.ts";
import { incidentReport, type StopOutcome } from "../core/incident/incidentReport.ts";
import { makeEvidenceDirectory, saveEvidence } from "../node/state/evidence.ts";
import { listTransactions, type FoundTransaction } from "../node/state/home.ts";
import { liveSupervisor } from "../node/state/supervisorLock.ts";
import { connectSupervisor, type Connection } from "./client.ts";

/** How long a supervisor may take to say that nothing leaves any more, milliseconds. One that is silent so long sends
 * nothing either, since the door is in it. */
const haltMs = 3000;
/** How long sealing may take, milliseconds: it scans the copy. */
const sealMs = 60_000;
/** How long the end of a killed process may take, milliseconds. */
const killMs = 5000;
/** Transactions that ended not longer ago than this are told of too, milliseconds. */
const recentMs = 24 * 3_600_000;

export interface EmergencyStop {
  readonly outcomes: readonly StopOutcome[];
  /** Where the evidence lies, and the report in it. */
  readonly directory: string;
  readonly report: string;
}

/**
 * Stops every agent of this user at once, whatever window or terminal began it: shuts each door and ends each agent, kills
 * the supervisors that do not answer (their sandboxes die with them), then saves the evidence. Open holds stay undecided.
 */
export async function stopEverything(home: string, now: () => Date): Promise<EmergencyStop> {
  const found = listTransactions(home);
  const running = found.filter(mayRun);
  // All at once: none may go on while another is waited for.
  const outcomes = await Promise.all(running.map(stopOne));
  const at = now();
  const recent = found.filter((one) => !running.includes(one) && isRecent(one, at));
  const directory = makeEvidenceDirectory(home, at.toISOString());
  const saved = [...running, ...recent].map(({ transaction, paths }) =>
    saveEvidence(directory, transaction, paths.root),
  );
  const report = incidentReport({
    at: at.toISOString(),
    outcomes: [
      ...outcomes,
      ...recent.map(({ transaction }) => ({ transaction, outcome: "ended" as const })),
    ].map((one) =>
      withProblem(one, saved.find((copy) => copy.transaction === one.transaction)?.problem),
    ),
    incidents: saved
      .filter((copy) => copy.entries.length > 0)
      .map((copy) => incidentOf(copy.entries)),
    directory,
  });
  const file = path.join(directory, "report.md");
  writeFileSync(file, report, { mode: 0o600 });
  return { outcomes, directory, report: file };
}

function withProblem(outcome: StopOutcome, problem: string | undefined): StopOutcome {
  if (problem === undefined) return outcome;
  const detail = [outcome.detail, problem].filter((part) => part !== undefined).join("; ");
  return { ...outcome, detail };
}

/** An agent may run: the transaction is open, or is about to be, or its journal cannot be read, and somebody owns it. */
function mayRun({ state, paths }: FoundTransaction): boolean {
  const open = state === undefined || state.state === "open";
  return open && liveSupervisor(paths.root) !== undefined;
}

function isRecent({ state }: FoundTransaction, at: Date): boolean {
  return state !== undefined && at.getTime() - Date.parse(state.begunAt) < recentMs;
}

async function stopOne({ transaction, paths }: FoundTransaction): Promise<StopOutcome> {
  const { root } = paths;
  let control: Connection | undefined;
  try {
    control = await within(haltMs, connectSupervisor(root, "emergency"));
    await within(haltMs, control.caller.call("halt", {}));
    await within(sealMs, control.caller.call("stop", {}));
    return { transaction, outcome: "sealed" };
  } catch (error) {
    return await kill(transaction, root, messageOf(error));
  } finally {
    control?.close();
  }
}

/** Kills the owner; the sandbox is made to die with it. */
async function kill(transaction: string, root: string, why: string): Promise<StopOutcome> {
  const end = performance.now() + killMs;
  for (;;) {
    const pid = liveSupervisor(root);
    if (pid === undefined) return { transaction, outcome: "killed", detail: why };
    if (performance.now() > end) {
      return { transaction, outcome: "running", detail: `process ${pid} cannot be ended` };
    }
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It ended by itself: the next look tells.
    }
    await sleep(50);
  }
}

async function within<T>(limitMs: number, work: Promise<T>): Promise<T> {
  const timer = new AbortController();
  const late = sleep(limitMs, undefined, { signal: timer.signal }).then(
    () => Promise.reject(new Error(`no answer for ${limitMs / 1000} s`)),
    () => new Promise<never>(() => undefined),
  );
  try {
    return await Promise.race([work, late]);
  } finally {
    timer.abort();
    work.catch(() => undefined);
  }
}
