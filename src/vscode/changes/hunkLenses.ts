import * as vscode from "vscode";
import { DisposableStore, type Ending } from "../../base/lifecycle.ts";
import { schemes, type CommandId } from "../contributions.ts";
import type { ChangedFile, ReviewModel } from "./reviewModel.ts";
import type { Reviews } from "./reviews.ts";
import { parseSideUri, sideUri } from "./sideAddress.ts";

/** Accept and reject over every hunk on the right side of a diff; rejected hunks are struck through. */
export class HunkLenses implements vscode.CodeLensProvider, Ending {
  readonly #store = new DisposableStore();
  readonly #changed = this.#store.add(new vscode.EventEmitter<void>());
  readonly onDidChangeCodeLenses = this.#changed.event;
  readonly #reviews: Reviews;
  readonly #rejected: vscode.TextEditorDecorationType;

  constructor(reviews: Reviews) {
    this.#reviews = reviews;
    this.#rejected = this.#store.add(
      vscode.window.createTextEditorDecorationType({
        isWholeLine: true,
        opacity: "0.55",
        textDecoration: "line-through",
        overviewRulerColor: new vscode.ThemeColor("disabledForeground"),
        before: { contentText: "", margin: "0" },
      }),
    );
    this.#store.add(vscode.languages.registerCodeLensProvider({ scheme: schemes.side }, this));
    this.#store.add(
      reviews.onChange(() => {
        this.#changed.fire();
        this.#decorate();
      }),
    );
    this.#store.add(vscode.window.onDidChangeVisibleTextEditors(() => this.#decorate()));
    this.#store.add(
      vscode.workspace.onDidOpenTextDocument(({ uri }) => {
        // With the base there it is known which lines of a hunk are context.
        if (parseSideUri(uri)?.side !== "base") return;
        this.#changed.fire();
        this.#decorate();
      }),
    );
  }

  dispose(): void {
    this.#store.dispose();
  }

  provideCodeLenses(document: vscode.TextDocument): vscode.CodeLens[] {
    const named = this.#named(document);
    if (named === undefined) return [];
    const { file, transaction } = named;
    const model = this.#reviews.of(transaction);
    if (this.#reviews.hasEdit(transaction, file.path)) return [];
    if (file.section === "conflict") return conflictLenses(document, model, file);
    const base = baseOf(transaction, file);
    return file.hunks.map((hunk) => {
      const out = !model.isTicked(file.path) || model.isRejected(hunk.id);
      const command: CommandId = "holdfast.toggleHunk";
      return new vscode.CodeLens(changedRange(document, hunk, base), {
        command,
        title: out
          ? `$(circle-slash) ${vscode.l10n.t("Rejected")} — ${vscode.l10n.t("accept this hunk")}`
          : `$(check) ${vscode.l10n.t("Accepted")} — ${vscode.l10n.t("reject this hunk")}`,
        arguments: [file.path, hunk.id],
      });
    });
  }

  /** The hunk that the cursor of an editor is in or nearest to. */
  hunkAt(editor: vscode.TextEditor): { readonly path: string; readonly hunk: string } | undefined {
    const named = this.#named(editor.document);
    if (named === undefined) return undefined;
    const line = editor.selection.active.line;
    const distance = (hunk: ChangedFile["hunks"][number]): number => {
      const range = rangeOf(editor.document, hunk);
      if (line < range.start.line) return range.start.line - line;
      return Math.max(0, line - range.end.line);
    };
    const [nearest] = [...named.file.hunks].sort((a, b) => distance(a) - distance(b));
    return nearest === undefined ? undefined : { path: named.file.path, hunk: nearest.id };
  }

  #named(
    document: vscode.TextDocument,
  ): { readonly transaction: string; readonly file: ChangedFile } | undefined {
    const named = parseSideUri(document.uri);
    if (named?.side !== "shadow") return undefined;
    const file = this.#reviews.of(named.transaction).file(named.path);
    return file === undefined ? undefined : { transaction: named.transaction, file };
  }

  #decorate(): void {
    for (const editor of vscode.window.visibleTextEditors) {
      const named = this.#named(editor.document);
      if (named === undefined) continue;
      const model = this.#reviews.of(named.transaction);
      const edited = this.#reviews.hasEdit(named.transaction, named.file.path);
      const base = baseOf(named.transaction, named.file);
      const out = named.file.hunks.filter(
        (hunk) => hunk.newLines > 0 && model.isRejected(hunk.id) && !edited,
      );
      editor.setDecorations(
        this.#rejected,
        out.map((hunk) => changedRange(editor.document, hunk, base)),
      );
    }
  }
}

/** What both sides changed is settled as a whole: over its first hunk. */
function conflictLenses(
  document: vscode.TextDocument,
  model: ReviewModel,
  file: ChangedFile,
): vscode.CodeLens[] {
  const [first] = file.hunks;
  const at = first === undefined ? new vscode.Range(0, 0, 0, 0) : rangeOf(document, first);
  const lens = (command: CommandId, title: string): vscode.CodeLens =>
    new vscode.CodeLens(at, { command, title, arguments: [file.path] });
  const side = model.sideOf(file.path);
  const keep = vscode.l10n.t("Keep Workspace Version");
  const take = vscode.l10n.t("Take Agent Version");
  return [
    lens(
      "holdfast.mergeConflict",
      `$(git-merge) ${vscode.l10n.t("You changed this too: merge by hand")}`,
    ),
    lens("holdfast.resolveMine", side === "mine" ? `$(check) ${keep}` : keep),
    lens("holdfast.resolveTheirs", side === "theirs" ? `$(check) ${take}` : take),
  ];
}

/** Lines of a hunk on the new side; a hunk that only removes has the line that it stands before. */
function rangeOf(document: vscode.TextDocument, hunk: ChangedFile["hunks"][number]): vscode.Range {
  const last = Math.max(0, document.lineCount - 1);
  const start = Math.min(last, Math.max(0, hunk.newStart - 1));
  const end = Math.min(last, Math.max(start, hunk.newStart + hunk.newLines - 2));
  return new vscode.Range(start, 0, end, document.lineAt(end).text.length);
}

/** The document of a file's base, when a diff shows it. */
function baseOf(transaction: string, file: ChangedFile): vscode.TextDocument | undefined {
  const uri = sideUri(transaction, "base", file.from ?? file.path).toString();
  return vscode.workspace.textDocuments.find((document) => document.uri.toString() === uri);
}

/** The range of a hunk without the lines of context at its beginning and end, as far as the base is there to tell them. */
function changedRange(
  document: vscode.TextDocument,
  hunk: ChangedFile["hunks"][number],
  base: vscode.TextDocument | undefined,
): vscode.Range {
  const whole = rangeOf(document, hunk);
  if (base === undefined || base.lineCount < hunk.oldStart + hunk.oldLines - 1) return whole;
  const sameAt = (old: number, now: number): boolean =>
    base.lineAt(old - 1).text === document.lineAt(now).text;
  const most = Math.min(hunk.oldLines, whole.end.line - whole.start.line);
  let lead = 0;
  while (lead < most && sameAt(hunk.oldStart + lead, whole.start.line + lead)) lead++;
  const last = hunk.oldStart + hunk.oldLines - 1;
  let trail = 0;
  while (trail < most - lead && sameAt(last - trail, whole.end.line - trail)) trail++;
  const start = whole.start.line + lead;
  const end = Math.max(start, whole.end.line - trail);
  return new vscode.Range(start, 0, end, document.lineAt(end).text.length);
}
