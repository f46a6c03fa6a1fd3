import * as vscode from "vscode";
import { newestEntries } from "../journals.ts";
import { openHostWindow, type HostWindow } from "../window.ts";

/** The window after a reload, with the timeline open. */
export async function reloadedWindow(): Promise<HostWindow> {
  const window = await openHostWindow();
  await window.call("resize", { width: 1360, height: 900 });
  await vscode.commands.executeCommand("holdfast.timeline.focus");
  return window;
}

/** Kinds of the entries of the newest transaction. */
export function kinds(): readonly string[] {
  return newestEntries().map(({ kind }) => kind);
}
