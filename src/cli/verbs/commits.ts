import { visibleLine } from "../../base/visibleText.ts";
import { plural } from "../../base/words.ts";
import { historyOfTransaction, type ListedCommit } from "../../core/transaction/commitHistory.ts";
import { listTransactions, type FoundTransaction } from "../../node/state/home.ts";
import { openHome } from "../../node/state/homeDirectory.ts";
import {
  flag,
  printJson,
  readable,
  transactionOf,
  withControl,
  workspaceOf,
  type Context,
  type Verb,
} from "../context.ts";

export const historyVerb: Verb = {
  usage: "holdfast history [TXN] [--json]",
  summary: "Lists what was committed into the workspace, oldest first, and what of it is undone.",
  options: {},
  positionals: [0, 1],
  run: (context) => {
    const rows = transactionsOf(context).flatMap(({ transaction, state }) =>
      state === undefined
        ? []
        : historyOfTransaction(state).map((one) => ({ transaction, ...one })),
    );
    if (context.json) printJson(context, rows);
    for (const row of context.json ? [] : rows) context.print(`${lineOf(row)}\n`);
    return Promise.resolve(0);
  },
};

function transactionsOf(context: Context): readonly FoundTransaction[] {
  if (context.positionals.length > 0) return [readable(transactionOf(context))];
  const workspace = workspaceOf(context);
  return listTransactions(openHome(context.env)).filter(
    ({ state }) => state?.workspace === workspace,
  );
}

function lineOf(row: ListedCommit & { readonly transaction: string }): string {
  const merged = row.merged === 0 ? "" : `, ${row.merged} merged`;
  const edited = row.edited.length === 0 ? "" : `, ${row.edited.length} edited by you`;
  const paths = row.paths.slice(0, 3).map(visibleLine).join(" ");
  const more = row.paths.length > 3 ? " …" : "";
  return `${row.transaction}  ${row.commit}  ${row.at}  ${row.state.padEnd(10)}  ${plural(row.files, "file")}${merged}${edited}  ${paths}${more}`;
}

export const commitsVerb: Verb = {
  usage: "holdfast commits TXN [--bring] [--json]",
  summary:
    "Lists the git commits that the agent made itself; --bring puts them into your repository under refs/holdfast/TXN.",
  options: { bring: "boolean" },
  positionals: [1, 1],
  run: (context) =>
    withControl(context, async ({ caller }) => {
      const bring = flag(context, "bring");
      const view = await caller.call(bring ? "bringCommits" : "commits", {});
      if (context.json) {
        printJson(context, view);
        return 0;
      }
      for (const { commit, author, at, subject } of view.commits) {
        context.print(
          `${commit.slice(0, 12)}  ${at}  ${visibleLine(author)}  ${visibleLine(subject)}\n`,
        );
      }
      if (view.placeholders.length > 0) {
        const files = view.placeholders.map(visibleLine).join(" ");
        context.say(`holdfast: placeholders stand in the place of hidden values in: ${files}`);
      }
      const count = plural(view.commits.length, "commit");
      if (bring) {
        context.say(
          `holdfast: ${count} brought to ${view.ref}; look: git log ${view.ref}; remove: git update-ref -d ${view.ref}`,
        );
      } else if (view.brought) context.say(`holdfast: brought already, to ${view.ref}`);
      else context.say(`holdfast: ${count}; --bring puts them under ${view.ref}`);
      return 0;
    }),
};
