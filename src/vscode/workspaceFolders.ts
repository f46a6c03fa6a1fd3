import * as vscode from "vscode";
import { workspaceRoot } from "../node/state/workspaceRoot.ts";

/** The folders of this window as transactions name them: the repository that holds a folder, by its real path. */
export function workspaceFolders(): readonly string[] {
  const local = (vscode.workspace.workspaceFolders ?? []).filter(
    ({ uri }) => uri.scheme === "file",
  );
  return local.flatMap(({ uri }) => {
    try {
      return [workspaceRoot(undefined, uri.fsPath)];
    } catch {
      return []; // gone, or not readable: nothing of it can be shown
    }
  });
}
