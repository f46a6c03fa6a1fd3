import { visibleLine } from "../../base/visibleText.ts";
import { plural } from "../../base/words.ts";
import { listTransactions } from "../../node/state/home.ts";
import { openHome } from "../../node/state/homeDirectory.ts";
import { spawnSupervisor, connectSupervisor } from "../../supervisor/client.ts";
import { stopEverything } from "../../supervisor/emergencyStop.ts";
import { statusFromJournal } from "../../supervisor/statusView.ts";
import { Failure } from "../../base/errors.ts";
import { liveSupervisor } from "../../node/state/supervisorLock.ts";
import type { StatusView } from "../../protocol/control.ts";
import {
  flag,
  printJson,
  readable,
  stateNameOf,
  text,
  transactionOf,
  workspaceOf,
  type Context,
  type Verb,
} from "../context.ts";

export const listVerb: Verb = {
  usage: "holdfast list [--json]",
  summary:
    "Lists the transactions of this machine (with --workspace: of that workspace), oldest first.",
  options: {},
  positionals: [0, 0],
  run: async (context) => {
    const only = text(context, "workspace") === undefined ? undefined : workspaceOf(context);
    const all = listTransactions(openHome(context.env));
    const rows = all
      .filter((one) => only === undefined || one.state?.workspace === only)
      .map((one) => ({
        transaction: one.transaction,
        workspace: one.state?.workspace ?? null,
        state: stateNameOf(one),
        agent: one.state?.agent ?? null,
        task: one.state?.task ?? null,
        begunAt: one.state?.begunAt ?? null,
        ...(one.problem === undefined ? {} : { problem: one.problem }),
      }));
    if (context.json) printJson(context, rows);
    for (const row of context.json ? [] : rows) {
      const what = row.task ?? row.problem ?? "";
      context.print(
        `${row.transaction}  ${row.state.padEnd(11)}  ${row.agent ?? "?"}  ${row.workspace ?? "?"}  ${what}\n`,
      );
    }
    return Promise.resolve(0);
  },
};

export const statusVerb: Verb = {
  usage: "holdfast status TXN [--json]",
  summary: "Shows one transaction: its state, fork, sandbox, changes and holds.",
  options: {},
  positionals: [1, 1],
  run: async (context) => {
    const found = readable(transactionOf(context));
    const status = await statusOfFound(found.paths.root, stateNameOf(found));
    if (context.json) printJson(context, status);
    else printStatus(context, status);
    return 0;
  },
};

async function statusOfFound(root: string, name: string): Promise<StatusView> {
  if (liveSupervisor(root) === undefined) return statusFromJournal(root, name);
  try {
    const control = await connectSupervisor(root, "cli");
    const status = await control.caller.call("status", {});
    control.close();
    return status;
  } catch (error) {
    // It ended between the two steps: the journal has what it wrote.
    if (error instanceof Failure) return statusFromJournal(root, name);
    throw error;
  }
}

function printStatus(context: Context, status: StatusView): void {
  const { added, modified, deleted } = status.changes;
  const rows: readonly (readonly [string, string | undefined])[] = [
    ["transaction", status.transaction],
    ["state", status.running ? `${status.state}, the agent runs` : status.state],
    ["workspace", status.workspace],
    ["agent", `${status.agent} (reports: ${status.coverage})`],
    ["task", status.task],
    ["begun", status.begunAt],
    [
      "fork",
      status.backend === undefined
        ? undefined
        : `${status.backend}, ${status.forkMs ?? 0} ms, ${plural(status.files ?? 0, "file")}`,
    ],
    ["sandbox", status.unsafe ? `NONE (--unsafe-no-sandbox)` : status.sandbox],
    ["changes", `${added} added, ${modified} modified, ${deleted} deleted`],
    ["holds", `${status.holds.open} open, ${status.holds.decided} decided`],
    ...status.notes.map((note) => ["note", note] as const),
  ];
  for (const [name, value] of rows) {
    if (value !== undefined) context.print(`${name.padEnd(12)} ${visibleLine(value)}\n`);
  }
}

export const stopVerb: Verb = {
  usage: "holdfast stop TXN | --all",
  summary:
    "Ends the agent and seals the transaction for review. --all: an emergency; stops every agent of yours at once, and saves the evidence and a report of what to revoke.",
  options: { all: "boolean" },
  positionals: [0, 1],
  run: async (context) => {
    if (flag(context, "all")) return stopAll(context);
    if (context.positionals.length === 0) {
      throw new Failure(
        "usage",
        "bad-arguments",
        "an argument is missing",
        `usage: ${stopVerb.usage}`,
      );
    }
    const found = readable(transactionOf(context));
    const name = stateNameOf(found);
    if (name !== "open") {
      const fix =
        name === "interrupted"
          ? `holdfast resume ${found.transaction}`
          : "there is nothing to stop";
      throw new Failure("failed", "not-running", `${found.transaction} is ${name}`, fix);
    }
    await stopOne(context, found.paths.root);
    return 0;
  },
};

async function stopOne(context: Context, root: string): Promise<void> {
  const control = await connectSupervisor(root, "cli");
  const status = await control.caller.call("stop", {});
  control.close();
  if (context.json) printJson(context, status);
  else context.say(`holdfast: ${status.transaction} is ${status.state}`);
}

/** The emergency: everything of this user, whatever workspace it is of. */
async function stopAll(context: Context): Promise<number> {
  if (context.positionals.length > 0) {
    const fix = `usage: ${stopVerb.usage}`;
    throw new Failure("usage", "bad-arguments", "--all takes no transaction", fix);
  }
  const { outcomes, directory, report } = await stopEverything(
    openHome(context.env),
    () => new Date(),
  );
  if (context.json) printJson(context, { stopped: outcomes, evidence: directory, report });
  for (const { transaction, outcome, detail } of outcomes) {
    context.say(`holdfast: ${transaction} ${outcome}${detail === undefined ? "" : `: ${detail}`}`);
  }
  context.say(`holdfast: ${outcomes.length} stopped; what to revoke and undo: ${report}`);
  const left = outcomes.filter(({ outcome }) => outcome === "running");
  if (left.length === 0) return 0;
  const names = left.map(({ transaction }) => transaction).join(", ");
  throw new Failure("failed", "not-stopped", `could not be stopped: ${names}`, "kill them by hand");
}

export const resumeVerb: Verb = {
  usage: "holdfast resume TXN",
  summary:
    "Reopens an interrupted transaction for review: recovers, seals what the agent had done.",
  options: {},
  positionals: [1, 1],
  run: async (context) => {
    const found = readable(transactionOf(context));
    const name = stateNameOf(found);
    if (name !== "interrupted") {
      throw new Failure(
        "failed",
        "not-interrupted",
        `${found.transaction} is ${name}, not interrupted`,
        `holdfast status ${found.transaction}`,
      );
    }
    await spawnSupervisor(found.paths.root, context.installation, undefined, () => undefined);
    const control = await connectSupervisor(found.paths.root, "cli");
    const status = await control.caller.call("status", {});
    control.close();
    if (context.json) printJson(context, status);
    else context.say(`holdfast: ${status.transaction} is ${status.state}`);
    return 0;
  },
};
