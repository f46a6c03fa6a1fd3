import { Failure } from "../../base/errors.ts";
import type { Entry } from "../../core/journal/entry.ts";
import { describeEntry } from "../../core/timeline/describeEntry.ts";
import { treeData, treeLines } from "../../core/timeline/treeText.ts";
import { readJournal } from "../../node/journal/journalFile.ts";
import { liveSupervisor } from "../../node/state/supervisorLock.ts";
import { connectSupervisor } from "../../supervisor/client.ts";
import { flag, printJson, transactionOf, type Context, type Verb } from "../context.ts";

export const timelineVerb: Verb = {
  usage: "holdfast timeline TXN [--follow | --tree] [--json]",
  summary:
    "Prints the journal's entries in order; with --follow also those to come; --tree prints the causal tree.",
  options: { follow: "boolean", tree: "boolean" },
  positionals: [1, 1],
  run: async (context) => {
    if (flag(context, "tree") && flag(context, "follow")) {
      const fix = "--follow goes with entries, --tree shows what there is";
      throw new Failure("usage", "bad-arguments", "--tree and --follow do not go together", fix);
    }
    const { paths } = transactionOf(context);
    const { root } = paths;
    const print = printer(context);
    const entries = readJournal(root).entries;
    if (flag(context, "tree")) return printTree(context, entries);
    for (const entry of entries) print(entry);
    if (!flag(context, "follow") || liveSupervisor(root) === undefined) return 0;
    const control = await connectSupervisor(root, "cli");
    control.caller.on("entries", (more) => {
      for (const entry of more) print(entry as unknown as Entry);
    });
    await control.caller.call("subscribe", { after: entries.length });
    await control.closed;
    return 0;
  },
};

function printer(context: Context): (entry: Entry) => void {
  if (!context.json) return (entry) => context.print(`${describeEntry(entry)}\n`);
  return ({ prev: _, ...entry }) => printJson(context, entry);
}

/** In a terminal lines keep within its width; into a pipe or a file they go whole. */
function printTree(context: Context, entries: readonly Entry[]): number {
  if (context.json) printJson(context, treeData(entries));
  else for (const line of treeLines(entries, process.stdout.columns)) context.print(`${line}\n`);
  return 0;
}
