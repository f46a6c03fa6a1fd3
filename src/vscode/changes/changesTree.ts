import * as vscode from "vscode";
import { visibleLine } from "../../base/visibleText.ts";
import { DisposableStore, type Ending } from "../../base/lifecycle.ts";
import { plural } from "../../base/words.ts";
import type { CommandId } from "../contributions.ts";
import type { Transactions } from "../transactions.ts";
import { sections, type ChangedFile, type ConflictSide, type Section } from "./reviewModel.ts";
import { reviewable, type Reviews } from "./reviews.ts";
import { sideUri } from "./sideAddress.ts";

export type ChangesItem =
  | { readonly kind: "section"; readonly section: Section }
  | { readonly kind: "file"; readonly file: ChangedFile };

function sectionTitle(section: Section): string {
  switch (section) {
    case "conflict":
      return vscode.l10n.t("Conflicts");
    case "change":
      return vscode.l10n.t("Changes");
    case "runsLater":
      return vscode.l10n.t("Runs later on your machine");
    case "ignored":
      return vscode.l10n.t("Ignored output");
  }
}

function sectionHelp(section: Section): string {
  switch (section) {
    case "conflict":
      return vscode.l10n.t(
        "Changed by the agent and by you. Merge each by hand or choose a side before committing.",
      );
    case "change":
      return vscode.l10n.t("What the agent changed.");
    case "runsLater":
      return vscode.l10n.t(
        "Files that your machine runs or obeys by itself: hooks, workflows, editor and agent settings, scripts, lockfiles. They are left out until you tick them.",
      );
    case "ignored":
      return vscode.l10n.t("Output that your ignore rules exclude. Left out until you tick it.");
  }
}

function sideWords(side: ConflictSide): string {
  switch (side) {
    case "mine":
      return vscode.l10n.t("yours stays");
    case "theirs":
      return vscode.l10n.t("agent's version");
    case "merged":
      return vscode.l10n.t("merged by you");
  }
}

const kindLetters: Readonly<Record<ChangedFile["kind"], string>> = {
  added: "A",
  modified: "M",
  deleted: "D",
  renamed: "R",
  mode: "mode",
  symlink: "link",
};

/** The changes of the shown transaction as a tree with a check box for everything that can be committed. */
export class ChangesTree implements vscode.TreeDataProvider<ChangesItem>, Ending {
  readonly #store = new DisposableStore();
  readonly #changed = this.#store.add(new vscode.EventEmitter<undefined>());
  readonly onDidChangeTreeData = this.#changed.event;
  readonly #transactions: Transactions;
  readonly #reviews: Reviews;
  readonly #view: vscode.TreeView<ChangesItem>;

  /** `view` shows this tree, and is somebody else's to end. */
  constructor(transactions: Transactions, reviews: Reviews, view: vscode.TreeView<ChangesItem>) {
    this.#transactions = transactions;
    this.#reviews = reviews;
    this.#view = view;
    this.#store.add(this.#view.onDidChangeCheckboxState((event) => this.#onTick(event.items)));
    this.#store.add(reviews.onChange(() => this.#refresh()));
    this.#store.add(
      transactions.onChange((change) => {
        if (change.type !== "transaction" || change.transaction !== transactions.shown) return;
        if (change.change.type === "checks") this.#refresh();
      }),
    );
  }

  dispose(): void {
    this.#store.dispose();
  }

  getChildren(item?: ChangesItem): ChangesItem[] {
    const { files } = this.#reviews.shown;
    if (!this.#isReviewable()) return [];
    if (item === undefined)
      return sections
        .filter((section) => files.some((file) => file.section === section))
        .map((section) => ({ kind: "section", section }));
    if (item.kind === "file") return [];
    return this.#reviews.shown.inSection(item.section).map((file) => ({ kind: "file", file }));
  }

  getTreeItem(item: ChangesItem): vscode.TreeItem {
    return item.kind === "section" ? this.#sectionItem(item.section) : this.#fileItem(item.file);
  }

  /** What is committed or thrown away is no list to choose from: the view says what became of it instead. */
  #isReviewable(): boolean {
    const { shown } = this.#transactions;
    return shown !== undefined && reviewable.has(shown.state);
  }

  #sectionItem(section: Section): vscode.TreeItem {
    const model = this.#reviews.shown;
    const files = model.inSection(section);
    const open = section !== "ignored" || files.length < 10;
    const made = new vscode.TreeItem(
      sectionTitle(section),
      open ? vscode.TreeItemCollapsibleState.Expanded : vscode.TreeItemCollapsibleState.Collapsed,
    );
    const ticked = files.filter((file) => model.isTicked(file.path)).length;
    made.id = `section:${section}`;
    made.description = `${ticked} of ${files.length}`;
    made.tooltip = sectionHelp(section);
    made.contextValue = `section.${section}`;
    if (section === "conflict") made.iconPath = new vscode.ThemeIcon("warning");
    else made.checkboxState = checkbox(ticked === files.length);
    return made;
  }

  #fileItem(file: ChangedFile): vscode.TreeItem {
    const model = this.#reviews.shown;
    const transaction = this.#transactions.shown?.id ?? "";
    const uri = sideUri(transaction, "shadow", file.path);
    const made = new vscode.TreeItem(uri, vscode.TreeItemCollapsibleState.None);
    const slash = file.path.lastIndexOf("/");
    made.id = `file:${file.path}`;
    made.label = visibleLine(file.path.slice(slash + 1));
    made.description = this.#describe(file, slash);
    made.tooltip = this.#tooltip(file);
    made.contextValue = `file.${file.section}`;
    const side = model.sideOf(file.path);
    if (file.section !== "conflict" || (side !== undefined && side !== "mine"))
      made.checkboxState = checkbox(model.isTicked(file.path));
    const merges = file.section === "conflict" && !file.binary;
    const command: CommandId = merges ? "holdfast.mergeConflict" : "holdfast.openChange";
    const title = merges ? vscode.l10n.t("Merge by Hand") : vscode.l10n.t("Open Change");
    made.command = { command, title, arguments: [file.path] };
    return made;
  }

  #describe(file: ChangedFile, slash: number): string {
    const model = this.#reviews.shown;
    const parts = [kindLetters[file.kind]];
    const accepted = model.acceptedHunks(file);
    if (model.isTicked(file.path) && accepted < file.hunks.length)
      parts.push(`${accepted} of ${plural(file.hunks.length, "hunk")}`);
    const shown = this.#transactions.shown;
    if (shown !== undefined && this.#reviews.hasEdit(shown.id, file.path))
      parts.push(vscode.l10n.t("edited by you"));
    const side = model.sideOf(file.path);
    if (side !== undefined) parts.push(sideWords(side));
    const introduced = this.#introduced(file.path);
    if (introduced > 0) parts.push(newErrors(introduced));
    if (slash > 0) parts.push(visibleLine(file.path.slice(0, slash)));
    return parts.join(" · ");
  }

  #introduced(path: string): number {
    const all = this.#transactions.shown?.checks.introduced() ?? [];
    return all.filter(({ diagnostic }) => diagnostic.path === path).length;
  }

  #tooltip(file: ChangedFile): string {
    const lines = [visibleLine(file.path)];
    if (file.from !== undefined)
      lines.push(vscode.l10n.t("renamed from {0}", visibleLine(file.from)));
    if (file.why !== undefined) lines.push(file.why);
    if (file.binary) lines.push(vscode.l10n.t("binary"));
    lines.push(...this.#causes(file.path));
    return lines.join("\n");
  }

  /** The tool calls after which the file's new errors were first seen. */
  #causes(path: string): readonly string[] {
    const shown = this.#transactions.shown;
    if (shown === undefined || this.#introduced(path) === 0) return [];
    const calls = shown.checks
      .callsBehind(path)
      .map((call) => shown.view.timeline.node(call)?.title ?? "")
      .filter((title) => title !== "");
    if (calls.length === 0) return [];
    const named = calls.map((title) => visibleLine(title)).join(", ");
    return [
      calls.length === 1
        ? vscode.l10n.t("New errors introduced by: {0}", named)
        : vscode.l10n.t("New errors introduced by one or more of: {0}", named),
    ];
  }

  #onTick(items: readonly (readonly [ChangesItem, vscode.TreeItemCheckboxState])[]): void {
    const { shown } = this.#transactions;
    if (shown === undefined) return;
    this.#reviews.choose(shown, (model) => {
      for (const [item, state] of items) {
        const ticked = state === vscode.TreeItemCheckboxState.Checked;
        const files = item.kind === "file" ? [item.file] : model.inSection(item.section);
        for (const file of files) model.tick(file.path, ticked);
      }
    });
  }

  #refresh(): void {
    const { files } = this.#reviews.shown;
    const ticked = this.#reviews.shown.ticked().length;
    const some = files.length > 0 && this.#isReviewable();
    this.#view.description = some ? `${ticked} of ${files.length}` : "";
    this.#changed.fire(undefined);
  }
}

function checkbox(checked: boolean): vscode.TreeItemCheckboxState {
  return checked ? vscode.TreeItemCheckboxState.Checked : vscode.TreeItemCheckboxState.Unchecked;
}

function newErrors(count: number): string {
  return count === 1 ? vscode.l10n.t("1 new error") : vscode.l10n.t("{0} new errors", count);
}
