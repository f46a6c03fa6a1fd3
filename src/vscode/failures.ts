import * as vscode from "vscode";
import { Failure, messageOf } from "../base/errors.ts";

/** Shows what went wrong and what to do; anything that is no {@link Failure} is a bug and goes to the log with its stack. */
export async function showFailure(error: unknown, log: vscode.LogOutputChannel): Promise<void> {
  if (isCancellation(error)) return;
  const showLog = vscode.l10n.t("Show Log");
  if (error instanceof Failure) {
    log.warn(`${error.code}: ${error.line}`);
    const text =
      error.fix === undefined ? error.message : `${error.message} ${sentence(error.fix)}`;
    const chosen = await vscode.window.showErrorMessage(text, showLog);
    if (chosen === showLog) log.show();
    return;
  }
  log.error(error instanceof Error ? error : messageOf(error));
  const text = vscode.l10n.t("Holdfast hit an internal error: {0}", messageOf(error));
  const chosen = await vscode.window.showErrorMessage(text, showLog);
  if (chosen === showLog) log.show();
}

function isCancellation(error: unknown): boolean {
  return error instanceof vscode.CancellationError;
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
