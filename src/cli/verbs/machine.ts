import { lstatSync, rmSync } from "node:fs";
import path from "node:path";
import { Failure, messageOf } from "../../base/errors.ts";
import { plural } from "../../base/words.ts";
import { findAgent, programVersion } from "../../node/agents/findProgram.ts";
import { builtInAgents } from "../../node/agents/registry.ts";
import { removeListings } from "../../node/fork/listing.ts";
import { probeForks } from "../../node/fork/probeForks.ts";
import { removeSpares, spareRow } from "../../node/fork/spare.ts";
import { JournalFile } from "../../node/journal/journalFile.ts";
import { journalPath } from "../../node/journal/journalHead.ts";
import { probeHostSandbox } from "../../node/sandbox/hostSandboxes.ts";
import { listTransactions, type FoundTransaction } from "../../node/state/home.ts";
import { openHome } from "../../node/state/homeDirectory.ts";
import { takeSupervisorLock } from "../../node/state/supervisorLock.ts";
import { recoverTransaction } from "../../runtime/commit/recoverWorkspace.ts";
import { adapters } from "../../supervisor/adapters.ts";
import { nativeProgram, version } from "../../supervisor/installationPaths.ts";
import { loadFork } from "../../supervisor/stateFiles.ts";
import { printJson, stateNameOf, text, workspaceOf, type Context, type Verb } from "../context.ts";

/** One line of `holdfast doctor`. */
interface DoctorRow {
  readonly name: string;
  readonly state: "ok" | "missing" | "weaker";
  readonly detail: string;
  readonly fix?: string;
}

export const doctorVerb: Verb = {
  usage: "holdfast doctor [--json]",
  summary: "Tells what this machine offers, what is missing, and the exact fix for each.",
  options: {},
  positionals: [0, 0],
  run: async (context) => {
    const home = openHome(context.env);
    const nativePath = nativeProgram(context.installation.dist);
    const rows: DoctorRow[] = [
      {
        name: "holdfast",
        state: "ok",
        detail: `${version}, Node ${process.version}, ${process.platform}-${process.arch}`,
      },
      { name: "state", state: "ok", detail: home },
      ...(await probeHostSandbox({ nativePath })),
      ...(await probeForks({ nativePath, workspace: workspaceOf(context), home })),
      spareRow(home, context.env),
      ...agentRows(context),
    ];
    if (context.json) printJson(context, { rows });
    for (const row of context.json ? [] : rows) {
      context.print(`${row.state.padEnd(8)} ${row.name.padEnd(24)} ${row.detail}\n`);
      if (row.fix !== undefined) context.print(`${" ".repeat(33)} fix: ${row.fix}\n`);
    }
    const missing = rows.filter((row) => row.state === "missing" && required.has(row.name));
    if (missing.length === 0) return 0;
    const names = missing.map((row) => row.name).join(", ");
    throw new Failure(
      "refused",
      "machine-lacks",
      `transactions cannot run here: ${names}`,
      missing[0]?.fix,
    );
  },
};

/** Rows without which nothing runs. */
const required: ReadonlySet<string> = new Set([
  "native program",
  "bubblewrap",
  "sandbox",
  "user namespaces",
  "system-call denials",
  "exec observation",
  "process handles",
]);

function agentRows(context: Context): DoctorRow[] {
  return builtInAgents.flatMap(({ name, program }): DoctorRow[] => {
    if (program === undefined) return [];
    const found = findAgent(program, context.env);
    const row = { name: `agent ${name}` };
    if (found === undefined)
      return [{ ...row, state: "weaker" as const, detail: "not installed", fix: program.install }];
    const version = programVersion(found) ?? "version unknown";
    return [{ ...row, state: "ok" as const, detail: `${version}, ${found}` }];
  });
}

export const recoverVerb: Verb = {
  usage: "holdfast recover [--json]",
  summary: "Finishes or rolls back interrupted publishes; safe to run any number of times.",
  options: {},
  positionals: [0, 0],
  run: async (context) => {
    const all = listTransactions(openHome(context.env));
    const recovered: object[] = [];
    const problems: string[] = [];
    for (const found of all) {
      try {
        recovered.push(...(await recoverOne(context, found)));
      } catch (error) {
        problems.push(`${found.transaction}: ${messageOf(error)}`);
      }
    }
    if (context.json) printJson(context, { recovered, problems });
    else context.say(`holdfast: ${recovered.length} publishes recovered`);
    if (problems.length > 0) throw new Failure("failed", "not-recovered", problems.join("; "));
    return 0;
  },
};

/** Recovers one transaction in this process, under its supervisor's lock; nothing when a supervisor lives. */
async function recoverOne(context: Context, found: FoundTransaction): Promise<readonly object[]> {
  const { state, paths, transaction } = found;
  if (state === undefined || state.commits.length === 0 || loadFork(paths) === undefined) return [];
  if (!takeSupervisorLock(paths.root)) return [];
  const journal = JournalFile.open(paths.root);
  const target = adapters(context.installation.dist, {}).openTarget(state.workspace, paths);
  try {
    const done = await recoverTransaction(target, journal);
    return done.map((one) => ({ transaction, ...one }));
  } finally {
    await target.close();
    await journal.close();
  }
}

/** A journal comes within moments of its directory; one without has lost it, and nothing of it can be reviewed. */
const journalComesMs = 120_000;

function isLost(root: string, before: string): boolean {
  const made = lstatSync(root, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
  const isOld = made <= Date.parse(before) && made <= Date.now() - journalComesMs;
  return isOld && lstatSync(journalPath(root), { throwIfNoEntry: false }) === undefined;
}

export const gcVerb: Verb = {
  usage: "holdfast gc [--older-than DAYS]",
  summary:
    "Removes the state of finished transactions (discarded, committed, failed); never of unreviewed ones.",
  options: { "older-than": "string" },
  positionals: [0, 0],
  run: async (context) => {
    const days = Number(text(context, "older-than") ?? "30");
    if (!Number.isFinite(days) || days < 0) {
      throw new Failure(
        "usage",
        "bad-arguments",
        "--older-than takes a number of days",
        `usage: ${gcVerb.usage}`,
      );
    }
    const before = new Date(Date.now() - days * 86_400_000).toISOString();
    const forks = adapters(context.installation.dist, {}).workspaces;
    const finished: ReadonlySet<string> = new Set(["discarded", "committed", "undone", "failed"]);
    let removed = 0;
    for (const found of listTransactions(openHome(context.env))) {
      const old = (found.state?.begunAt ?? "") <= before;
      const isOver = finished.has(stateNameOf(found)) || isLost(found.paths.root, before);
      if (!old || !isOver || !takeSupervisorLock(found.paths.root)) continue;
      const fork = loadFork(found.paths);
      if (fork !== undefined) await forks.remove(fork, found.paths);
      rmSync(path.resolve(found.paths.root), { recursive: true, force: true });
      removed++;
    }
    const native = nativeProgram(context.installation.dist);
    const home = openHome(context.env);
    await removeSpares(native, home, new Date(before));
    removeListings(home, new Date(before));
    if (context.json) printJson(context, { removed });
    else context.say(`holdfast: ${plural(removed, "transaction")} removed`);
    return 0;
  },
};
