import { visibleLine } from "../../base/visibleText.ts";
import { plural } from "../../base/words.ts";
import { Failure } from "../../base/errors.ts";
import type { CommitView } from "../../protocol/control.ts";
import { changesText } from "../changesText.ts";
import { flag, list, printJson, text, withControl, type Context, type Verb } from "../context.ts";
import { settleErrors } from "../introducedErrors.ts";

export const changesVerb: Verb = {
  usage: "holdfast changes TXN [--json]",
  summary: "Lists the files that the transaction changed, by section.",
  options: {},
  positionals: [1, 1],
  run: (context) =>
    withControl(context, async ({ caller }) => {
      const changes = await caller.call("changes", {});
      if (context.json) printJson(context, changes);
      else context.print(changesText(changes.files));
      return 0;
    }),
};

export const diffVerb: Verb = {
  usage: "holdfast diff TXN [--path P]…",
  summary: "Prints the change set as a unified patch that `git apply` takes.",
  options: { path: "list" },
  positionals: [1, 1],
  run: (context) =>
    withControl(context, async ({ caller }) => {
      const { patch } = await caller.call("diff", { paths: [...list(context, "path")] });
      // The patch travels as one character per byte, so that every encoding survives.
      process.stdout.write(Buffer.from(patch, "latin1"));
      return 0;
    }),
};

export const checkVerb: Verb = {
  usage: "holdfast check TXN [--json]",
  summary: "Shows which diagnostics the change set introduced and resolved.",
  options: {},
  positionals: [1, 1],
  run: (context) =>
    withControl(context, async ({ caller }) => {
      const view = await caller.call("check", {});
      if (context.json) printJson(context, view);
      for (const check of context.json ? [] : view.checks) {
        context.print(`${check.name}: ${check.status} in ${Math.round(check.durationMs)} ms, `);
        context.print(`${check.introduced.length} introduced, ${check.resolved.length} resolved\n`);
        if (check.note !== undefined) context.print(`  ${visibleLine(check.note)}\n`);
        for (const [sign, rows] of [
          ["+", check.introduced],
          ["-", check.resolved],
        ] as const) {
          for (const { path, line, column, code, message } of rows) {
            const said = visibleLine(message.split("\n")[0] ?? "");
            context.print(`  ${sign} ${visibleLine(path)}:${line}:${column} ${code} ${said}\n`);
          }
        }
      }
      return 0;
    }),
};

export const commitVerb: Verb = {
  usage:
    "holdfast commit TXN [--path P]… [--hunk ID]… [--include-runs-later] [--include-ignored] [--allow-errors] [--json]",
  summary: "Publishes the change set, or the named part of it, into the workspace.",
  options: {
    path: "list",
    hunk: "list",
    "include-runs-later": "boolean",
    "include-ignored": "boolean",
    "allow-errors": "boolean",
    mine: "list",
    theirs: "list",
  },
  positionals: [1, 1],
  run: (context) =>
    withControl(context, async (control) => {
      const { caller, found } = control;
      const clean = await settleErrors(context, control, found.paths.root);
      const paths = list(context, "path");
      const hunks = list(context, "hunk");
      const resolutions = Object.fromEntries([
        ...list(context, "mine").map((path) => [path, "mine"] as const),
        ...list(context, "theirs").map((path) => [path, "theirs"] as const),
      ]);
      const view = await caller.call("commit", {
        ...(paths.length === 0 ? {} : { paths: [...paths] }),
        ...(hunks.length === 0 ? {} : { hunks: [...hunks] }),
        includeRunsLater: flag(context, "include-runs-later"),
        includeIgnored: flag(context, "include-ignored"),
        resolutions,
        ...clean,
      });
      return reportCommit(context, view, "published");
    }),
};

export const undoVerb: Verb = {
  usage: "holdfast undo TXN [--commit ID]",
  summary:
    "Undoes the transaction's last commit, or the named one; what you edited since is merged. An undone commit comes back.",
  options: { commit: "string" },
  positionals: [1, 1],
  run: (context) =>
    withControl(context, async ({ caller }) =>
      reportCommit(context, await caller.call("undo", commitNamed(context)), "restored"),
    ),
};

function commitNamed(context: Context): { commit?: string } {
  const commit = text(context, "commit");
  return commit === undefined ? {} : { commit };
}

function reportCommit(context: Context, told: CommitView, verb: string): number {
  const { ignored, ...view } = told;
  if (context.json) printJson(context, view);
  if (view.conflicts.length > 0) {
    const rows = view.conflicts.map(({ path, reason }) => `${path}: ${reason}`).join("; ");
    const fix =
      "nothing was written; settle each with --mine PATH or --theirs PATH, or edit it and commit again";
    throw new Failure(
      "conflict",
      "conflicts",
      `${plural(view.conflicts.length, "conflict")}: ${rows}`,
      fix,
    );
  }
  if (!context.json)
    context.say(
      `holdfast: ${plural(view.published, "file")} ${verb}, ${view.merged} of them merged; ${view.state}`,
    );
  // Who names what he wants has left out the rest himself.
  const named = list(context, "path").length + list(context, "hunk").length > 0;
  if (!context.json && !named && ignored !== undefined) context.say(leftOut(ignored));
  return 0;
}

function leftOut({ count, first }: NonNullable<CommitView["ignored"]>): string {
  const names = first.map((path) => JSON.stringify(path)).join(", ");
  const more = count > first.length ? ", …" : "";
  const [were, them] = count === 1 ? ["was", "it"] : ["were", "them"];
  return `holdfast: ${plural(count, "ignored file")} ${were} left out (${names}${more}); --include-ignored publishes ${them}`;
}

export const discardVerb: Verb = {
  usage: "holdfast discard TXN",
  summary: "Throws the transaction away; the workspace stays as it is.",
  options: {},
  positionals: [1, 1],
  run: (context) =>
    withControl(context, async ({ caller, found }) => {
      await caller.call("discard", {});
      if (context.json) printJson(context, { transaction: found.transaction, state: "discarded" });
      else context.say(`holdfast: ${found.transaction} is discarded`);
      return 0;
    }),
};
