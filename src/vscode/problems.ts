import * as vscode from "vscode";
import { DisposableStore, type Ending } from "../base/lifecycle.ts";
import { reviewable } from "./changes/reviews.ts";
import { sideUri } from "./changes/sideAddress.ts";
import type { Transactions } from "./transactions.ts";

/** Diagnostics that the change set introduces, on the shadow's documents: in Problems and inline in the diff. */
export class Problems implements Ending {
  readonly #store = new DisposableStore();
  readonly #collection: vscode.DiagnosticCollection;
  readonly #transactions: Transactions;

  constructor(transactions: Transactions) {
    this.#transactions = transactions;
    this.#collection = this.#store.add(vscode.languages.createDiagnosticCollection("holdfast"));
    this.#store.add(
      transactions.onChange((change) => {
        const own = change.type === "transaction" && change.transaction === transactions.shown;
        if (change.type === "shown" || (own && change.change.type !== "timeline")) this.#show();
      }),
    );
  }

  dispose(): void {
    this.#store.dispose();
  }

  #show(): void {
    this.#collection.clear();
    const { shown } = this.#transactions;
    if (shown === undefined || !reviewable.has(shown.state)) return;
    const byPath = new Map<string, vscode.Diagnostic[]>();
    for (const { check, diagnostic } of shown.checks.introduced()) {
      const { path, line, column, message, code, severity } = diagnostic;
      const at = new vscode.Position(Math.max(0, line - 1), Math.max(0, column - 1));
      const made = new vscode.Diagnostic(
        new vscode.Range(at, at.translate(0, 1)),
        message,
        severity === "warning"
          ? vscode.DiagnosticSeverity.Warning
          : vscode.DiagnosticSeverity.Error,
      );
      made.source = `holdfast ${check}`;
      made.code = code;
      const list = byPath.get(path);
      if (list === undefined) byPath.set(path, [made]);
      else list.push(made);
    }
    for (const [path, list] of byPath)
      this.#collection.set(sideUri(shown.id, "shadow", path), list);
  }
}
