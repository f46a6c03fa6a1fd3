import * as vscode from "vscode";
import { visibleLine } from "../base/visibleText.ts";
import { DisposableStore, type Ending } from "../base/lifecycle.ts";
import { plural } from "../base/words.ts";
import { runCommand, setting } from "./editorState.ts";
import type { LiveTransaction } from "./liveTransaction.ts";
import type { Transactions } from "./transactions.ts";

/** Speaks up for two things only: a call that waits for a person, and the end. */
export class Notifications implements Ending {
  readonly #store = new DisposableStore();
  readonly #transactions: Transactions;
  readonly #told = new Set<string>();
  readonly #ran = new Set<string>();

  constructor(transactions: Transactions) {
    this.#transactions = transactions;
    this.#store.add(
      transactions.onChange((change) => {
        if (change.type !== "transaction") return;
        if (change.change.type === "holds") this.#holds(change.transaction);
        else if (change.change.type === "status") this.#end(change.transaction);
      }),
    );
  }

  dispose(): void {
    this.#store.dispose();
  }

  #holds(transaction: LiveTransaction): void {
    for (const hold of transaction.holds) {
      if (this.#told.has(hold.hold)) continue;
      this.#told.add(hold.hold);
      const look = vscode.l10n.t("Look");
      const text = vscode.l10n.t("Held: {0}. {1}", visibleLine(hold.summary), hold.reason);
      void vscode.window.showWarningMessage(text, look).then((chosen) => {
        if (chosen !== look) return;
        this.#transactions.show(transaction.id);
        void runCommand("holdfast.showTimeline");
      });
    }
  }

  #end(transaction: LiveTransaction): void {
    if (transaction.status.running) {
      this.#ran.add(transaction.id);
      return;
    }
    if (transaction.status.state !== "sealed" || !this.#ran.delete(transaction.id)) return;
    if (setting("openReviewWhenDone") && transaction === this.#transactions.shown) {
      void runCommand("holdfast.review");
      return;
    }
    if (!setting("notifyWhenDone")) return;
    const { added, modified, deleted } = transaction.status.changes;
    const count = added + modified + deleted;
    const review = vscode.l10n.t("Review");
    const what = transaction.status.task ?? transaction.status.agent;
    const text = vscode.l10n.t("{0}: done, {1} changed.", visibleLine(what), plural(count, "file"));
    void vscode.window.showInformationMessage(text, review).then((chosen) => {
      if (chosen !== review) return;
      this.#transactions.show(transaction.id);
      void runCommand("holdfast.review");
    });
  }
}
