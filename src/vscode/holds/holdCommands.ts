import * as vscode from "vscode";
import { Failure } from "../../base/errors.ts";
import { visibleLine } from "../../base/visibleText.ts";
import type { HoldView } from "../../protocol/control.ts";
import type { ApprovalScope, FromWebview } from "../../protocol/webview.ts";
import type { LiveTransaction } from "../liveTransaction.ts";
import { payloadOf } from "../timeline/holdCards.ts";
import type { TextDocuments } from "../textDocuments.ts";
import type { Transactions } from "../transactions.ts";

type Decide = Extract<FromWebview, { type: "decide" }>;

/** Decisions about held calls, from the card and from the palette. */
export class HoldCommands {
  readonly #transactions: Transactions;
  readonly #texts: TextDocuments;

  constructor(transactions: Transactions, texts: TextDocuments) {
    this.#transactions = transactions;
    this.#texts = texts;
  }

  /** A decision on the card. The hash says which bytes the person has seen. */
  async decide(message: Decide, transaction: LiveTransaction): Promise<void> {
    const hold = transaction.holds.find((one) => one.hold === message.hold);
    if (hold === undefined)
      throw new Failure("failed", "hold-gone", "this call no longer waits", "see the timeline");
    if ((hold.payloadSha256 ?? "") !== message.payloadSha256)
      throw new Failure(
        "refused",
        "other-bytes",
        "the bytes are not the ones you were shown",
        "read the card again",
      );
    await this.#send(transaction, hold, message.decision, message.scope, message.reason);
  }

  /** Asks for the decision step by step; nothing is chosen in advance that lets a call out. */
  async ask(decision: "approve" | "deny", id: string | undefined): Promise<void> {
    const chosen = await this.#choose(id);
    if (chosen === undefined) return;
    const { hold, transaction } = chosen;
    if (decision === "deny") {
      const reason = await vscode.window.showInputBox({
        title: vscode.l10n.t("Deny: {0}", visibleLine(hold.summary)),
        prompt: vscode.l10n.t("Reason, told to the agent (optional)"),
      });
      if (reason !== undefined) await this.#send(transaction, hold, "deny", "call", reason);
      return;
    }
    const scope = await askScope(hold);
    if (scope !== undefined) await this.#send(transaction, hold, "approve", scope, "");
  }

  /** Shows the exact bytes in an editor. */
  async showPayload(id: string, transaction: LiveTransaction): Promise<void> {
    const hold = transaction.holds.find((one) => one.hold === id);
    if (hold === undefined) return;
    const payload = payloadOf(hold.payload);
    const text =
      payload.blob === undefined
        ? payload.text
        : (await transaction.call("blob", { blob: payload.blob })).text;
    await this.#texts.show(`held call ${id}.http`, text);
  }

  async #choose(
    id: string | undefined,
  ): Promise<{ readonly hold: HoldView; readonly transaction: LiveTransaction } | undefined> {
    const all = this.#transactions.all.flatMap((transaction) =>
      transaction.holds.map((hold) => ({ hold, transaction })),
    );
    if (id !== undefined) return all.find(({ hold }) => hold.hold === id);
    if (all.length === 0) {
      void vscode.window.showInformationMessage(vscode.l10n.t("No call waits for a decision."));
      return undefined;
    }
    const items = all.map((one) => ({
      ...one,
      label: visibleLine(one.hold.summary),
      description: one.hold.reversibility,
      detail: `${one.hold.reason} (rule ${one.hold.rule})`,
    }));
    return vscode.window.showQuickPick(items, {
      placeHolder: vscode.l10n.t("Which held call?"),
      ignoreFocusOut: true,
    });
  }

  async #send(
    transaction: LiveTransaction,
    hold: HoldView,
    decision: "approve" | "deny",
    scope: ApprovalScope,
    reason: string,
  ): Promise<void> {
    await transaction.call("decide", {
      hold: hold.hold,
      decision,
      scope,
      ...(reason === "" ? {} : { reason }),
      ...(hold.payloadSha256 === undefined ? {} : { payloadSha256: hold.payloadSha256 }),
    });
  }
}

async function askScope(hold: HoldView): Promise<ApprovalScope | undefined> {
  const once = vscode.l10n.t("Approve this call");
  const text = visibleLine(hold.summary);
  const detail = `${hold.reason} (rule ${hold.rule})\n\n${payloadOf(hold.payload).text.slice(0, 2000)}`;
  const transaction = vscode.l10n.t("Approve in this transaction");
  const options = { modal: true, detail: visibleDetail(detail) };
  const chosen = await vscode.window.showWarningMessage(
    text,
    options,
    { title: once, scope: "call" as const },
    { title: transaction, scope: "transaction" as const },
  );
  return chosen?.scope;
}

function visibleDetail(text: string): string {
  return text.split("\n").map(visibleLine).join("\n");
}
