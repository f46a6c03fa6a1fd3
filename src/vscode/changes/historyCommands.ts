import * as vscode from "vscode";
import { Failure } from "../../base/errors.ts";
import { visibleLine } from "../../base/visibleText.ts";
import { plural } from "../../base/words.ts";
import type { ListedCommit } from "../../core/transaction/commitHistory.ts";
import { runCommand } from "../editorState.ts";
import type { LiveTransaction } from "../liveTransaction.ts";
import type { Transactions } from "../transactions.ts";
import { conflictFailure } from "./reviewCommands.ts";
import { askAboutUnsaved } from "./unsavedEditors.ts";

interface CommitItem extends vscode.QuickPickItem {
  readonly transaction: LiveTransaction;
  readonly listed: ListedCommit;
}

/** What was committed before: undone, brought back, and the agent's own git commits brought over. */
export class HistoryCommands {
  readonly #transactions: Transactions;

  constructor(transactions: Transactions) {
    this.#transactions = transactions;
  }

  /** Undoes the newest commit of the shown transaction that is in force. */
  async undo(): Promise<void> {
    const transaction = this.#transactions.required();
    const listed = transaction.commits.list().findLast(({ state }) => state === "committed");
    if (listed === undefined)
      throw new Failure("usage", "nothing-committed", "there is no commit to undo");
    await this.#reverse(transaction, listed);
  }

  /** Lists every commit of this window's transactions; the chosen one is undone, or brought back when it is undone. */
  async show(): Promise<void> {
    const items = this.#items();
    if (items.length === 0) {
      const text = vscode.l10n.t("Nothing has been committed from a transaction here.");
      void vscode.window.showInformationMessage(text);
      return;
    }
    const chosen = await vscode.window.showQuickPick(items, {
      title: vscode.l10n.t("Commit History"),
      placeHolder: vscode.l10n.t("Which commit is to be undone, or brought back?"),
      matchOnDescription: true,
      matchOnDetail: true,
    });
    if (chosen === undefined) return;
    if (await confirmed(chosen.listed)) await this.#reverse(chosen.transaction, chosen.listed);
  }

  /** Brings the git commits that the agent made itself into the repository, under a reference of ours. */
  async bringCommits(): Promise<void> {
    const transaction = this.#transactions.required();
    const { commits, ref, brought, placeholders } = await transaction.call("commits", {});
    const bring = vscode.l10n.t("Bring");
    const text = vscode.l10n.t(
      "Bring {0} of the agent into your repository?",
      plural(commits.length, "commit"),
    );
    const shown = commits.slice(0, 12).map(({ commit, subject }) => {
      return `${commit.slice(0, 8)} ${visibleLine(subject)}`;
    });
    if (commits.length > shown.length) shown.push("…");
    const meaning = vscode.l10n.t(
      "They come as {0}. Your branches, index, hooks and settings stay as they are.",
      ref,
    );
    const already = brought ? `${vscode.l10n.t("They are there already.")}\n` : "";
    const files = placeholders.map(visibleLine).join(" ");
    const hidden = vscode.l10n.t("Placeholders stand in the place of hidden values in: {0}", files);
    const warned = placeholders.length === 0 ? "" : `${hidden}\n`;
    const detail = `${shown.join("\n")}\n\n${warned}${already}${meaning}`;
    const options = { modal: true, detail };
    if ((await vscode.window.showInformationMessage(text, options, bring)) !== bring) return;
    await transaction.call("bringCommits", {});
    const copy = vscode.l10n.t("Copy Reference");
    const done = vscode.l10n.t("The commits are in your repository as {0}.", ref);
    void vscode.window.showInformationMessage(done, copy).then(async (chosen) => {
      if (chosen === copy) await vscode.env.clipboard.writeText(ref);
    });
  }

  #items(): CommitItem[] {
    const { all, shown } = this.#transactions;
    const ordered = [...all].sort((a, b) => Number(a === shown) - Number(b === shown));
    return ordered
      .flatMap((transaction) =>
        transaction.commits
          .list()
          .filter(({ state }) => state !== "publishing")
          .map((listed) => itemOf(transaction, listed)),
      )
      .reverse();
  }

  async #reverse(transaction: LiveTransaction, { commit, paths }: ListedCommit): Promise<void> {
    const { go } = await askAboutUnsaved(transaction.status.workspace, paths, false);
    if (go !== "on") return;
    const result = await transaction.publishing(transaction.call("undo", { commit }));
    if (result.conflicts.length > 0) throw conflictFailure(result);
    const files = plural(result.published, "file");
    const back = result.state === "committed";
    const text = back
      ? vscode.l10n.t("The commit is back: {0}.", files)
      : vscode.l10n.t("The commit was undone: {0}.", files);
    const other = back ? vscode.l10n.t("Undo") : vscode.l10n.t("Bring Back");
    void vscode.window.showInformationMessage(text, other).then((chosen) => {
      if (chosen === other) void runCommand("holdfast.reverseCommit", transaction.id, commit);
    });
  }

  /** Undoes, or brings back, one commit by name. */
  async reverse(id: unknown, commit: unknown): Promise<void> {
    const transaction = this.#transactions.all.find((one) => one.id === id);
    const listed = transaction?.commits.list().find((one) => one.commit === commit);
    if (transaction === undefined || listed === undefined)
      throw new Failure("usage", "unknown-commit", "there is no such commit");
    await this.#reverse(transaction, listed);
  }
}

function itemOf(transaction: LiveTransaction, listed: ListedCommit): CommitItem {
  const { state, at, files, paths } = listed;
  const undone = state === "undone";
  return {
    transaction,
    listed,
    label: visibleLine(transaction.status.task ?? transaction.status.agent),
    description: `${undone ? vscode.l10n.t("undone") : vscode.l10n.t("committed")} · ${plural(files, "file")} · ${new Date(at).toLocaleString()}`,
    detail: paths.slice(0, 6).map(visibleLine).join(", ") + (paths.length > 6 ? ", …" : ""),
    iconPath: new vscode.ThemeIcon(undone ? "discard" : "check"),
  };
}

async function confirmed({ state, files, paths }: ListedCommit): Promise<boolean> {
  const undone = state === "undone";
  const count = plural(files, "file");
  const action = undone ? vscode.l10n.t("Bring Back") : vscode.l10n.t("Undo Commit");
  const text = undone
    ? vscode.l10n.t("Bring back the commit of {0}?", count)
    : vscode.l10n.t("Undo the commit of {0}?", count);
  const names = paths.slice(0, 12).map(visibleLine).join("\n");
  const meaning = vscode.l10n.t("What you have edited since stays: it is merged.");
  const detail = `${names}${paths.length > 12 ? "\n…" : ""}\n\n${meaning}`;
  return (await vscode.window.showWarningMessage(text, { modal: true, detail }, action)) === action;
}
