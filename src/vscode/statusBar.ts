import * as vscode from "vscode";
import { DisposableStore, type Ending } from "../base/lifecycle.ts";
import { plural } from "../base/words.ts";
import type { CommandId } from "./contributions.ts";
import type { Transactions } from "./transactions.ts";

const showTimeline: CommandId = "holdfast.showTimeline";

/** One item: what runs, what waits. Hidden when there is nothing to say. */
export class StatusBar implements Ending {
  readonly #store = new DisposableStore();
  readonly #item: vscode.StatusBarItem;
  readonly #transactions: Transactions;

  constructor(transactions: Transactions) {
    this.#transactions = transactions;
    this.#item = this.#store.add(
      vscode.window.createStatusBarItem("holdfast.status", vscode.StatusBarAlignment.Left, 50),
    );
    this.#item.name = "Holdfast";
    this.#item.command = showTimeline;
    this.#store.add(transactions.onChange(() => this.#show()));
    this.#show();
  }

  dispose(): void {
    this.#store.dispose();
  }

  #show(): void {
    const { all, shown, starting } = this.#transactions;
    const holds = all.reduce((sum, one) => sum + one.status.holds.open, 0);
    const running = all.filter((one) => one.status.running).length;
    this.#item.backgroundColor =
      holds > 0 ? new vscode.ThemeColor("statusBarItem.warningBackground") : undefined;
    const text = this.#text(holds, running, starting !== undefined, shown?.state);
    if (text === undefined) {
      this.#item.hide();
      return;
    }
    this.#item.text = text;
    this.#item.tooltip = shown?.status.task ?? "Holdfast";
    this.#item.show();
  }

  #text(
    holds: number,
    running: number,
    starting: boolean,
    state: string | undefined,
  ): string | undefined {
    if (holds > 0) return `$(debug-pause) ${vscode.l10n.t("{0} held", plural(holds, "call"))}`;
    if (starting) return `$(loading~spin) ${vscode.l10n.t("Holdfast: starting")}`;
    if (running > 0)
      return `$(loading~spin) ${vscode.l10n.t("{0} at work", plural(running, "agent"))}`;
    switch (state) {
      case "sealed":
        return `$(git-pull-request) ${vscode.l10n.t("Ready for review")}`;
      case "conflict":
        return `$(warning) ${vscode.l10n.t("Conflicts")}`;
      case "interrupted":
        return `$(warning) ${vscode.l10n.t("Interrupted")}`;
      default:
        return undefined;
    }
  }
}
