import * as vscode from "vscode";
import { visibleLine } from "../base/visibleText.ts";
import type { RowAction } from "../protocol/webview.ts";
import type { ReviewCommands } from "./changes/reviewCommands.ts";
import type { Reviews } from "./changes/reviews.ts";
import { sideUri } from "./changes/sideAddress.ts";
import type { LiveTransaction } from "./liveTransaction.ts";
import type { TextDocuments } from "./textDocuments.ts";
import type { NodeDetail } from "./timeline/nodeDetails.ts";
import { sidesAround, stepSpan } from "./timeline/stepSides.ts";
import { parseRowId } from "./timeline/subtree.ts";

/** What the buttons of the timeline's rows do. */
export class RowActions {
  readonly #reviews: Reviews;
  readonly #review: ReviewCommands;
  readonly #texts: TextDocuments;

  constructor(reviews: Reviews, review: ReviewCommands, texts: TextDocuments) {
    this.#reviews = reviews;
    this.#review = review;
    this.#texts = texts;
  }

  async run(id: string, action: RowAction, transaction: LiveTransaction): Promise<void> {
    const detail = transaction.view.detailOf(id);
    if (detail !== undefined) {
      await this.#detail(detail, action, transaction);
      return;
    }
    const row = parseRowId(id);
    if (row?.kind !== "node") return;
    if (action === "diff") await this.#diff(row.node, transaction);
    else if (action === "open") await this.#open(row.node, transaction);
    else if (action === "restore") await this.#restore(row.node, transaction);
  }

  async #detail(
    detail: NodeDetail,
    action: RowAction,
    transaction: LiveTransaction,
  ): Promise<void> {
    if (detail.place !== undefined && action === "open") {
      const { path, line } = detail.place;
      const at = new vscode.Position(Math.max(0, line - 1), 0);
      const uri = sideUri(transaction.id, "shadow", path);
      await vscode.window.showTextDocument(uri, { selection: new vscode.Range(at, at) });
      return;
    }
    if (detail.whole === undefined) return;
    const text =
      "text" in detail.whole
        ? detail.whole.text
        : (await transaction.call("blob", { blob: detail.whole.blob })).text;
    if (action === "copy") await vscode.env.clipboard.writeText(text);
    else if (action === "open") await this.#texts.show(`${detail.verb}.txt`, text);
  }

  /**
   * What a step changed: its files as they were before it and after it, where savepoints tell; else as they differ from the
   * base now.
   */
  async #diff(node: number, transaction: LiveTransaction): Promise<void> {
    const { timeline, entries } = transaction.view;
    const paths = filesBelow(node, transaction);
    const title = visibleLine(timeline.node(node)?.title ?? "");
    const span = stepSpan(timeline, entries, node);
    const sides = span === undefined ? undefined : sidesAround(entries, span);
    if (sides !== undefined && paths.size > 0) {
      const { before, after } = sides;
      const files = [...paths].sort().map((path) => ({ path, before, after }));
      await this.#review.openSides(transaction, files, title);
      return;
    }
    const model = await this.#reviews.load(transaction);
    const files = model.files.filter(({ path }) => paths.has(path));
    if (files.length === 0) {
      const text = vscode.l10n.t(
        "Later steps took these changes back: nothing differs from the base.",
      );
      void vscode.window.showInformationMessage(text);
      return;
    }
    await this.#review.openDiff(
      transaction,
      files,
      vscode.l10n.t("{0} (from the base until now)", title),
    );
  }

  async #open(node: number, transaction: LiveTransaction): Promise<void> {
    const found = transaction.view.timeline.node(node);
    if (found?.kind !== "file") return;
    await vscode.window.showTextDocument(sideUri(transaction.id, "shadow", found.target));
  }

  async #restore(node: number, transaction: LiveTransaction): Promise<void> {
    const entry = transaction.view.entries[node];
    if (entry?.kind !== "savepoint.taken") return;
    const restore = vscode.l10n.t("Restore");
    const text = vscode.l10n.t("Put the agent's copy back to {0}?", entry.name ?? entry.savepoint);
    const detail = vscode.l10n.t(
      "The present state is kept as a savepoint first, so that this can be undone.",
    );
    const options = { modal: true, detail };
    if ((await vscode.window.showWarningMessage(text, options, restore)) !== restore) return;
    await transaction.call("restore", { to: entry.savepoint });
    await this.#reviews.load(transaction);
  }
}

function filesBelow(node: number, transaction: LiveTransaction): ReadonlySet<string> {
  const paths = new Set<string>();
  const visit = (id: number): void => {
    const found = transaction.view.timeline.node(id);
    if (found?.kind === "file") paths.add(found.target);
    for (const child of found?.children ?? []) visit(child);
  };
  visit(node);
  return paths;
}
