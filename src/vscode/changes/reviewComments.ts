import * as vscode from "vscode";
import { Failure } from "../../base/errors.ts";
import { DisposableStore, type Ending } from "../../base/lifecycle.ts";
import type { LiveTransaction } from "../liveTransaction.ts";
import type { Transactions } from "../transactions.ts";
import { commentPrompt, type ReviewComment } from "./commentPrompt.ts";
import { reviewable, type Reviews } from "./reviews.ts";
import { parseSideUri, sideUri } from "./sideAddress.ts";

/** What is written to one line of one side. */
interface LineThread {
  readonly thread: vscode.CommentThread;
  readonly transaction: string;
  readonly path: string;
  readonly side: ReviewComment["side"];
}

/**
 * Comments on the lines of both sides of a change, kept with the review. They go to the agent as one prompt while it can be
 * prompted; else they can be copied. Nothing of them is part of the commit.
 */
export class ReviewComments implements Ending {
  readonly #store = new DisposableStore();
  readonly #transactions: Transactions;
  readonly #reviews: Reviews;
  readonly #controller: vscode.CommentController;
  readonly #restored = new Set<string>();
  #threads: LineThread[] = [];

  constructor(transactions: Transactions, reviews: Reviews) {
    this.#transactions = transactions;
    this.#reviews = reviews;
    this.#controller = this.#store.add(
      vscode.comments.createCommentController("holdfast", "Holdfast"),
    );
    this.#controller.options = {
      prompt: vscode.l10n.t("Add a comment"),
      placeHolder: vscode.l10n.t("For the agent, or for yourself"),
    };
    this.#controller.commentingRangeProvider = {
      provideCommentingRanges: (document) => this.#ranges(document),
    };
    this.#store.add(reviews.onChange(({ transaction }) => this.#follow(transaction)));
  }

  dispose(): void {
    this.#store.dispose();
  }

  /** The editor's "add comment": the first of a line, or an answer to one. */
  add(reply: unknown): void {
    const { thread, text } = reply as vscode.CommentReply;
    const named = parseSideUri(thread.uri);
    if (named === undefined || !isCommented(named.side) || text.trim() === "") return;
    const { transaction, path, side } = named;
    if (!this.#threads.some((one) => one.thread === thread)) {
      this.#threads.push({ thread, transaction, path, side });
      dress(thread);
    }
    thread.comments = [...thread.comments, shownComment(text, false)];
    this.#keep(transaction);
  }

  /** Takes one comment back; a line without any shows nothing. */
  remove(comment: unknown): void {
    const found = this.#threads.find(({ thread }) =>
      thread.comments.some((one) => one === comment),
    );
    if (found === undefined) return;
    const { thread, transaction } = found;
    thread.comments = thread.comments.filter((one) => one !== comment);
    if (thread.comments.length === 0) {
      this.#threads = this.#threads.filter((one) => one !== found);
      thread.dispose();
    }
    this.#keep(transaction);
  }

  /** Gives the agent what it was not given yet, as one prompt. */
  async send(): Promise<void> {
    const { shown } = this.#transactions;
    const waiting =
      shown === undefined ? [] : this.#reviews.commentsOf(shown.id).filter(({ sent }) => !sent);
    if (shown === undefined || waiting.length === 0)
      throw new Failure(
        "usage",
        "no-comments",
        "there are no comments that were not sent yet",
        "open a change and comment on a line of it, with the + beside its number",
      );
    const text = await promptOf(shown, waiting);
    const { conversation } = shown;
    if (conversation === undefined) {
      await vscode.env.clipboard.writeText(text);
      const told = vscode.l10n.t("This agent takes no further prompts: the comments were copied.");
      void vscode.window.showInformationMessage(told);
      return;
    }
    if (conversation.busy)
      throw new Failure(
        "usage",
        "agent-busy",
        "the agent is still at its turn",
        "send the comments when it has ended, or cancel it first",
      );
    await shown.call("prompt", { text });
    this.#markSent(shown.id);
  }

  /** Where something can be said: every line of both sides of what can be reviewed. */
  #ranges(document: vscode.TextDocument): vscode.Range[] {
    const named = parseSideUri(document.uri);
    if (named === undefined || !isCommented(named.side)) return [];
    const one = this.#transactions.all.find(({ id }) => id === named.transaction);
    if (one === undefined || !reviewable.has(one.state)) return [];
    return [new vscode.Range(0, 0, Math.max(0, document.lineCount - 1), 0)];
  }

  /** Shows what was written before, once the review is there; takes it away when there is nothing to review any more. */
  #follow(transaction: string): void {
    const one = this.#transactions.all.find(({ id }) => id === transaction);
    if (one?.status.state === "discarded") {
      for (const { thread } of this.#threads.filter((own) => own.transaction === transaction))
        thread.dispose();
      this.#threads = this.#threads.filter((own) => own.transaction !== transaction);
      return;
    }
    if (one === undefined || this.#restored.has(transaction)) return;
    this.#restored.add(transaction);
    const byLine = new Map<string, ReviewComment[]>();
    for (const comment of this.#reviews.commentsOf(transaction)) {
      const key = `${comment.side} ${comment.line} ${comment.path}`;
      byLine.set(key, [...(byLine.get(key) ?? []), comment]);
    }
    for (const comments of byLine.values()) {
      const [first] = comments;
      if (first === undefined) continue;
      const { path, side, line } = first;
      const thread = this.#controller.createCommentThread(
        sideUri(transaction, side, path),
        new vscode.Range(line, 0, line, 0),
        comments.map(({ text, sent }) => shownComment(text, sent)),
      );
      dress(thread);
      this.#threads.push({ thread, transaction, path, side });
    }
  }

  #markSent(transaction: string): void {
    for (const { thread } of this.#threads.filter((own) => own.transaction === transaction)) {
      thread.comments = thread.comments.map((one) => shownComment(textOf(one), true));
    }
    this.#keep(transaction);
  }

  #keep(transaction: string): void {
    const own = this.#threads.filter((one) => one.transaction === transaction);
    const comments = own.flatMap(({ thread, path, side }) =>
      thread.comments.map((one) => ({
        path,
        side,
        // Where the editor has moved it while the file was edited.
        line: thread.range?.start.line ?? 0,
        text: textOf(one),
        sent: one.label !== undefined,
      })),
    );
    this.#reviews.setComments(transaction, comments);
  }
}

function isCommented(side: string): side is ReviewComment["side"] {
  return side === "base" || side === "shadow";
}

function dress(thread: vscode.CommentThread): void {
  thread.label = vscode.l10n.t("Review comment");
  thread.canReply = true;
  thread.collapsibleState = vscode.CommentThreadCollapsibleState.Expanded;
}

function shownComment(text: string, sent: boolean): vscode.Comment {
  return {
    body: text,
    mode: vscode.CommentMode.Preview,
    author: { name: vscode.l10n.t("You") },
    ...(sent ? { label: vscode.l10n.t("sent to the agent") } : {}),
  };
}

function textOf({ body }: vscode.Comment): string {
  return typeof body === "string" ? body : body.value;
}

async function promptOf(
  { id }: LiveTransaction,
  comments: readonly ReviewComment[],
): Promise<string> {
  const documents = new Map<string, vscode.TextDocument>();
  for (const { side, path } of comments) {
    const uri = sideUri(id, side, path);
    documents.set(uri.toString(), await vscode.workspace.openTextDocument(uri));
  }
  return commentPrompt(comments, ({ side, path, line }) => {
    const document = documents.get(sideUri(id, side, path).toString());
    return document === undefined || line >= document.lineCount
      ? undefined
      : document.lineAt(line).text;
  });
}
