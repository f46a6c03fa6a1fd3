import { visibleLine } from "../../base/visibleText.ts";
import { plural } from "../../base/words.ts";
import { printJson, text, withControl, type Context, type Verb } from "../context.ts";
import { Failure } from "../../base/errors.ts";

interface Row {
  readonly savepoint: string;
  readonly at: string;
  readonly name?: string | undefined;
  readonly files: number;
}

function printRow(context: Context, row: Row): void {
  if (context.json) printJson(context, row);
  else {
    // The agent can take savepoints and name them.
    const name = visibleLine(row.name ?? "");
    context.print(`${row.savepoint}  ${row.at}  ${plural(row.files, "file")}  ${name}\n`);
  }
}

export const savepointVerb: Verb = {
  usage: "holdfast savepoint TXN [--name TEXT]",
  summary: "Keeps the state of the shadow, to come back to.",
  options: { name: "string" },
  positionals: [1, 1],
  run: (context) =>
    withControl(context, async ({ caller }) => {
      const name = text(context, "name");
      printRow(context, await caller.call("savepoint", name === undefined ? {} : { name }));
      return 0;
    }),
};

export const savepointsVerb: Verb = {
  usage: "holdfast savepoints TXN [--json]",
  summary: "Lists the savepoints, oldest first.",
  options: {},
  positionals: [1, 1],
  run: (context) =>
    withControl(context, async ({ caller }) => {
      const rows = await caller.call("savepoints", {});
      if (context.json) printJson(context, rows);
      else for (const row of rows) printRow(context, row);
      return 0;
    }),
};

/**
 * The one savepoint of a name, or the words as they are. The agent can name savepoints too, so an id is never a name, and a
 * name that several have is none.
 */
function savepointCalled(words: string, rows: readonly Row[]): string {
  const found = rows.filter(({ name }) => name !== undefined && name !== "" && name === words);
  if (found.length < 2) return found[0]?.savepoint ?? words;
  const ids = found.map(({ savepoint }) => savepoint).join(", ");
  throw new Failure(
    "failed",
    "ambiguous-savepoint",
    `several savepoints are called ${JSON.stringify(words)}: ${ids}`,
    "say which by its id",
  );
}

export const restoreVerb: Verb = {
  usage: "holdfast restore TXN --to SAVEPOINT",
  summary:
    "Brings the shadow back to a savepoint; that is itself a savepoint, so it can be undone.",
  options: { to: "string" },
  positionals: [1, 1],
  run: (context) =>
    withControl(context, async ({ caller }) => {
      const to = text(context, "to");
      if (to === undefined) {
        throw new Failure(
          "usage",
          "bad-arguments",
          "--to is missing",
          `usage: ${restoreVerb.usage}`,
        );
      }
      const rows = /^s\d+$/.test(to) ? [] : await caller.call("savepoints", {});
      printRow(context, await caller.call("restore", { to: savepointCalled(to, rows) }));
      return 0;
    }),
};
