import fs from "node:fs";
import path from "node:path";
import * as vscode from "vscode";
import { Failure } from "../../base/errors.ts";
import { visibleLine } from "../../base/visibleText.ts";

/** What a person said about editors with unsaved text in files that are to be written. */
export type UnsavedAnswer =
  | { readonly go: "on" }
  /** On, but these paths are left out. */
  | { readonly go: "without"; readonly paths: ReadonlySet<string> }
  | { readonly go: "nowhere" };

/**
 * Asks when an editor has unsaved text in one of the paths (relative to the workspace): save it first, leave the file out
 * (where `leaveOut` says that this can be), or give up. Nothing is asked when nothing is unsaved.
 */
export async function askAboutUnsaved(
  workspace: string,
  paths: Iterable<string>,
  leaveOut: boolean,
): Promise<UnsavedAnswer> {
  const unsaved = unsavedIn(workspace, new Set(paths));
  if (unsaved.size === 0) return { go: "on" };
  const save = vscode.l10n.t("Save First");
  const without = vscode.l10n.t("Leave Out");
  const text = vscode.l10n.t("{0} with unsaved changes would be written.", files(unsaved.size));
  const names = [...unsaved.keys()].map(visibleLine).join("\n");
  const meaning = leaveOut
    ? vscode.l10n.t(
        "Save First: your text is saved and then merged with the agent's.\nLeave Out: these files are not committed now; they stay for review.",
      )
    : vscode.l10n.t("Save First: your text is saved and then merged.");
  const options = { modal: true, detail: `${names}\n\n${meaning}` };
  const buttons = leaveOut ? [save, without] : [save];
  const chosen = await vscode.window.showWarningMessage(text, options, ...buttons);
  if (chosen === without) return { go: "without", paths: new Set(unsaved.keys()) };
  if (chosen !== save) return { go: "nowhere" };
  for (const [name, uri] of unsaved) await saveOne(name, uri);
  return { go: "on" };
}

async function saveOne(name: string, uri: vscode.Uri): Promise<void> {
  if ((await vscode.workspace.save(uri)) !== undefined) return;
  throw new Failure(
    "failed",
    "not-saved",
    `${name} could not be saved, so nothing was written`,
    "save it yourself, then commit again",
  );
}

/** Unsaved editors of any kind, by the path they are of. */
function unsavedIn(workspace: string, paths: ReadonlySet<string>): ReadonlyMap<string, vscode.Uri> {
  const unsaved = new Map<string, vscode.Uri>();
  for (const uri of unsavedUris()) {
    if (uri.scheme !== "file") continue;
    const name = path.relative(workspace, realPathOf(uri.fsPath));
    if (paths.has(name)) unsaved.set(name, uri);
  }
  return unsaved;
}

function* unsavedUris(): Generator<vscode.Uri> {
  for (const document of vscode.workspace.textDocuments) if (document.isDirty) yield document.uri;
  for (const notebook of vscode.workspace.notebookDocuments)
    if (notebook.isDirty) yield notebook.uri;
  for (const { isDirty, input } of vscode.window.tabGroups.all.flatMap(({ tabs }) => tabs))
    if (isDirty && input instanceof vscode.TabInputCustom) yield input.uri;
}

/** The folder may have been opened through a link, and the file may be gone from the disk. */
function realPathOf(file: string): string {
  try {
    return path.join(fs.realpathSync(path.dirname(file)), path.basename(file));
  } catch {
    return file; // its folder is gone too: then the name is all there is
  }
}

function files(count: number): string {
  return count === 1 ? vscode.l10n.t("1 open file") : vscode.l10n.t("{0} open files", count);
}
