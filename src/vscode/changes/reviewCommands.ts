import * as vscode from "vscode";
import { Failure } from "../../base/errors.ts";
import { visibleLine } from "../../base/visibleText.ts";
import { plural } from "../../base/words.ts";
import type { CommitView } from "../../protocol/control.ts";
import { runCommand } from "../editorState.ts";
import type { LiveTransaction } from "../liveTransaction.ts";
import type { Transactions } from "../transactions.ts";
import { CommitQuestions } from "./commitQuestions.ts";
import type { ConflictMerges } from "./conflictMerges.ts";
import type { HunkLenses } from "./hunkLenses.ts";
import type { ChangedFile } from "./reviewModel.ts";
import type { Reviews } from "./reviews.ts";
import { sideUri, type Side } from "./sideAddress.ts";
import { askAboutUnsaved } from "./unsavedEditors.ts";

/** What a diff shows of one file; a side that is absent has no file there. */
export interface FileSides {
  readonly path: string;
  readonly from?: string;
  readonly before?: Side;
  readonly after?: Side;
}

/** Review, commit and discard of the shown transaction. */
export class ReviewCommands {
  readonly #transactions: Transactions;
  readonly #reviews: Reviews;
  readonly #merges: ConflictMerges;
  readonly #lenses: HunkLenses;
  readonly #questions = new CommitQuestions();

  constructor(
    transactions: Transactions,
    reviews: Reviews,
    merges: ConflictMerges,
    lenses: HunkLenses,
  ) {
    this.#transactions = transactions;
    this.#reviews = reviews;
    this.#merges = merges;
    this.#lenses = lenses;
  }

  /** Opens every change in one multi-file diff. */
  async review(): Promise<void> {
    const shown = this.#shown();
    const model = await this.#reviews.load(shown);
    const files = model.files.filter(({ section }) => section !== "ignored");
    if (files.length === 0) {
      void vscode.window.showInformationMessage(vscode.l10n.t("There are no changes to review."));
      return;
    }
    await this.openDiff(shown, files, reviewTitle(shown));
  }

  /** Opens some files of a transaction in one multi-file diff. */
  async openDiff(
    transaction: LiveTransaction,
    files: readonly ChangedFile[],
    title: string,
  ): Promise<void> {
    const sides = files.map((file) => ({
      path: file.path,
      ...(file.from === undefined ? {} : { from: file.from }),
      ...(file.kind === "added" ? {} : { before: "base" as const }),
      ...(file.kind === "deleted" ? {} : { after: "shadow" as const }),
    }));
    await this.openSides(transaction, sides, title);
  }

  /** Opens sides of files, as they are named, in one multi-file diff. */
  async openSides(
    transaction: LiveTransaction,
    files: readonly FileSides[],
    title: string,
  ): Promise<void> {
    const resources = files.map(({ path, from, before, after }) => [
      vscode.Uri.file(`${transaction.status.workspace}/${path}`),
      before === undefined ? undefined : sideUri(transaction.id, before, from ?? path),
      after === undefined ? undefined : sideUri(transaction.id, after, path),
    ]);
    await vscode.commands.executeCommand("vscode.changes", title, resources);
  }

  /** Opens one change beside what it was. */
  async openChange(path: unknown): Promise<void> {
    const shown = this.#shown();
    const file = this.#file(path);
    const after = sideUri(shown.id, "shadow", file.path);
    const before = sideUri(shown.id, "base", file.from ?? file.path);
    const title = `${file.path.slice(file.path.lastIndexOf("/") + 1)} (${file.kind})`;
    if (file.kind === "added") await vscode.commands.executeCommand("vscode.open", after);
    else if (file.kind === "deleted") await vscode.commands.executeCommand("vscode.open", before);
    else await vscode.commands.executeCommand("vscode.diff", before, after, title);
  }

  /** Opens the workspace's own file. */
  async openFile(path: unknown): Promise<void> {
    const uri = vscode.Uri.file(`${this.#shown().status.workspace}/${this.#file(path).path}`);
    await vscode.commands.executeCommand("vscode.open", uri);
  }

  toggleHunk(path: unknown, hunk: unknown): void {
    const named =
      typeof path === "string" && typeof hunk === "string" ? { path, hunk } : this.#hunkAtCursor();
    if (named === undefined) return;
    this.#reviews.choose(this.#shown(), (model) => model.toggleHunk(named.path, named.hunk));
  }

  tickFile(path: unknown, ticked: boolean): void {
    const { path: named } = this.#file(path);
    this.#reviews.choose(this.#shown(), (model) => model.tick(named, ticked));
  }

  resolve(path: unknown, side: "mine" | "theirs"): void {
    const { path: named } = this.#file(path);
    this.#reviews.choose(this.#shown(), (model) => model.resolve(named, side));
  }

  /** Opens the three sides of a conflict and the result. */
  async merge(path: unknown): Promise<void> {
    await this.#merges.open(this.#shown(), this.#file(path));
  }

  /** Writes what is ticked into the workspace. Asks only when something is out of the ordinary. */
  async commit(): Promise<void> {
    const shown = this.#shown();
    if (shown.status.running) {
      const stop = vscode.l10n.t("Stop and Commit");
      const text = vscode.l10n.t("The agent is still working.");
      const detail = vscode.l10n.t("Committing ends it; what it has done so far is committed.");
      const options = { modal: true, detail };
      if ((await vscode.window.showWarningMessage(text, options, stop)) !== stop) return;
      await shown.call("stop", {});
    }
    const model = await this.#reviews.load(shown);
    const unresolved = model.unresolved();
    if (unresolved.length > 0)
      throw new Failure(
        "conflict",
        "unresolved",
        `${plural(unresolved.length, "file")} changed on both sides: ${unresolved.join(", ")}`,
        "merge each by hand or choose a side, in the Changes view",
      );
    if (
      model.ticked().length === 0 &&
      model.files.every(({ path }) => model.sideOf(path) === undefined)
    )
      throw nothingTicked("nothing is ticked");
    const written = model
      .ticked()
      .flatMap(({ path, from }) => [path, ...(from === undefined ? [] : [from])]);
    const answer = await askAboutUnsaved(shown.status.workspace, written, true);
    if (answer.go === "nowhere") return;
    const without = answer.go === "without" ? answer.paths : new Set<string>();
    const files = model
      .ticked()
      .filter(({ path, from }) => !without.has(path) && (from === undefined || !without.has(from)));
    if (without.size > 0 && files.length === 0)
      throw nothingTicked("every ticked file has unsaved changes");
    const settled = await this.#questions.settle(shown);
    if (settled === undefined || !(await this.#confirm(files))) return;
    const edits = this.#reviews.edits(shown.id, files);
    const merges = this.#reviews.merges(shown.id, files);
    const selection = {
      ...model.selection(files),
      ...(Object.keys(merges).length > 0 ? { merges } : {}),
      ...(Object.keys(edits).length > 0 ? { edits } : {}),
      ...settled,
    };
    const result = await shown.publishing(shown.call("commit", selection));
    await this.#told(shown, result);
  }

  /** Throws the copy away; the workspace stays as it is. */
  async discard(): Promise<void> {
    const shown = this.#shown();
    if (shown.status.running) await shown.call("stop", {});
    await shown.call("discard", {});
    const text = vscode.l10n.t("Discarded. Your workspace is as it was.");
    vscode.window.setStatusBarMessage(`$(check) ${text}`, 6000);
  }

  async stop(): Promise<void> {
    await this.#shown().call("stop", {});
  }

  async resume(): Promise<void> {
    await this.#shown().resume();
  }

  #shown(): LiveTransaction {
    return this.#transactions.required();
  }

  #file(path: unknown): ChangedFile {
    const named = typeof path === "string" ? path : pathOfItem(path);
    const file = named === undefined ? undefined : this.#reviews.shown.file(named);
    if (file !== undefined) return file;
    throw new Failure(
      "usage",
      "no-change",
      "there is no such change",
      "choose a file in the Changes view",
    );
  }

  #hunkAtCursor(): { readonly path: string; readonly hunk: string } | undefined {
    const editor = vscode.window.activeTextEditor;
    return editor === undefined ? undefined : this.#lenses.hunkAt(editor);
  }

  /** Asks when ticked files are such that the machine runs or obeys them. */
  async #confirm(files: readonly ChangedFile[]): Promise<boolean> {
    const later = files.filter(({ section }) => section === "runsLater");
    if (later.length === 0) return true;
    const commit = vscode.l10n.t("Commit");
    const text = vscode.l10n.t(
      "Commit {0} that your machine will run or obey?",
      plural(later.length, "file"),
    );
    const detail = later
      .map(({ path, why }) => (why === undefined ? path : `${path}: ${why}`))
      .map(visibleLine)
      .join("\n");
    return (
      (await vscode.window.showWarningMessage(text, { modal: true, detail }, commit)) === commit
    );
  }

  async #told(shown: LiveTransaction, result: CommitView): Promise<void> {
    if (result.conflicts.length > 0) {
      await this.#reviews.load(shown);
      throw conflictFailure(result);
    }
    const files = plural(result.published, "file");
    const parts = [
      result.merged > 0
        ? vscode.l10n.t("Committed {0}, {1} merged with your own edits.", files, result.merged)
        : vscode.l10n.t("Committed {0}.", files),
      ...(result.state === "committed" ? [] : [vscode.l10n.t("The rest stays for review.")]),
    ];
    const text = parts.join(" ");
    const undo = vscode.l10n.t("Undo");
    // Not awaited: the command is done when the workspace is written.
    void vscode.window.showInformationMessage(text, undo).then((chosen) => {
      if (chosen === undo) void runCommand("holdfast.undo");
    });
  }
}

function nothingTicked(message: string): Failure {
  return new Failure("usage", "nothing-ticked", message, "tick what to commit in the Changes view");
}

/** The failure that tells which files were changed on both sides. */
export function conflictFailure(result: CommitView): Failure {
  const list = result.conflicts.map(({ path, reason }) => `${path} (${reason})`).join(", ");
  return new Failure(
    "conflict",
    "conflicts",
    `Nothing was written: ${list}`,
    "choose a side for each in the Changes view, then commit again",
  );
}

function reviewTitle(transaction: LiveTransaction): string {
  const { task, agent } = transaction.status;
  return vscode.l10n.t("Holdfast: {0}", task ?? agent);
}

/** Menus of the tree give the tree's item. */
function pathOfItem(item: unknown): string | undefined {
  if (typeof item !== "object" || item === null || !("file" in item)) return undefined;
  const { file } = item;
  if (typeof file !== "object" || file === null || !("path" in file)) return undefined;
  return typeof file.path === "string" ? file.path : undefined;
}
