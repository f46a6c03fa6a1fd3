import * as vscode from "vscode";
import { plural } from "../../base/words.ts";
import { errorLines, uncleannessOf, uncleanReason } from "../../core/check/cleanness.ts";
import { checkSettingsNow } from "../checkSettingsNow.ts";
import type { LiveTransaction } from "../liveTransaction.ts";

/** What a commit may do about the errors that the checks found; undefined when the person wants none. */
export interface ErrorsSettled {
  readonly onlyWhenClean?: true;
}

/** How long a person is kept waiting for checks that still run, milliseconds. */
const patienceMs = 5000;

/** Asks once about the errors of a change set before it is committed. */
export class CommitQuestions {
  /** Transaction → the errors that its person has accepted. */
  readonly #accepted = new Map<string, string>();

  /**
   * With the setting `commitOnlyWhenClean` it waits for the checks and refuses what is not clean; else it asks about introduced
   * errors, once for the same errors, and lets everything else pass: also checks that do not answer in time.
   */
  async settle(shown: LiveTransaction): Promise<ErrorsSettled | undefined> {
    if (checkSettingsNow().commitOnlyWhenClean === true) {
      return (await this.#isClean(shown)) ? { onlyWhenClean: true } : undefined;
    }
    const late = new Promise<undefined>((resolve) => {
      setTimeout(() => resolve(undefined), patienceMs);
    });
    const answer = await Promise.race([shown.call("check", {}), late]);
    const { errors } = uncleannessOf(answer?.checks ?? []);
    if (errors.length === 0) return {};
    const key = JSON.stringify(errors);
    if (this.#accepted.get(shown.id) === key) return {};
    const commit = vscode.l10n.t("Commit Anyway");
    const text = vscode.l10n.t("The changes introduce {0}.", plural(errors.length, "error"));
    const detail = errorLines(errors).join("\n");
    const chosen = await vscode.window.showWarningMessage(text, { modal: true, detail }, commit);
    if (chosen !== commit) return undefined;
    this.#accepted.set(shown.id, key);
    return {};
  }

  async #isClean(shown: LiveTransaction): Promise<boolean> {
    const { checks } = await vscode.window.withProgress(
      {
        location: vscode.ProgressLocation.Notification,
        title: vscode.l10n.t("Holdfast: waiting for the checks"),
      },
      () => shown.call("check", {}),
    );
    const unclean = uncleannessOf(checks);
    if (uncleanReason(unclean) === undefined) return true;
    const { errors, unanswered } = unclean;
    const text =
      errors.length > 0
        ? vscode.l10n.t("Not committed: the changes introduce {0}.", plural(errors.length, "error"))
        : vscode.l10n.t("Not committed: the changes could not be checked.");
    const how = vscode.l10n.t("The setting holdfast.commitOnlyWhenClean is on.");
    const detail = [...errorLines(errors), ...unanswered, "", how].join("\n");
    const problems = vscode.l10n.t("Show Problems");
    const chosen = await vscode.window.showErrorMessage(text, { modal: true, detail }, problems);
    if (chosen === problems)
      await vscode.commands.executeCommand("workbench.actions.view.problems");
    return false;
  }
}
