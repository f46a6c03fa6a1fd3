import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import * as vscode from "vscode";
import type { StartRequest } from "../../src/vscode/contributions.ts";
import { transactionRoots } from "./journals.ts";
import type { HostWindow } from "./window.ts";

/** The folder that this window has open. */
export function workspaceFolder(): vscode.Uri {
  const folder = vscode.workspace.workspaceFolders?.[0];
  assert.ok(folder !== undefined);
  return folder.uri;
}

/** The command line of the bundled scripted agent. */
export function scriptedAgent(...options: string[]): string[] {
  let root = process.env["HOLDFAST_HOST_SUITES"] ?? "";
  while (!fs.existsSync(path.join(root, "package.json"))) root = path.dirname(root);
  const program = path.join(root, "test", "samples", "scriptedAgent.mjs");
  return [process.execPath, program, ...options];
}

/** Types a command line into the questions of `Holdfast: Start Agent Transaction`, as a person would. */
export async function startFromPalette(
  window: HostWindow,
  command: readonly string[],
  task: string,
): Promise<void> {
  await window.call("palette", { title: "Holdfast: Start Agent Transaction" });
  await window.call("wait", {
    selector: ".quick-input-list",
    text: "A program that reports its steps",
  });
  await window.call("click", {
    selector: ".quick-input-list .monaco-list-row",
    text: "A program that reports its steps",
  });
  await window.call("wait", { selector: ".quick-input-title", text: "Command" });
  await window.call("type", { text: command.join(" ") });
  await window.call("press", { key: "Enter" });
  await window.call("wait", { selector: ".quick-input-title", text: "Task" });
  await window.call("type", { text: task });
  await window.call("press", { key: "Enter" });
}

/** Waits until the timeline's header says this state. */
export async function waitForState(window: HostWindow, state: string): Promise<void> {
  await window.call("wait", { selector: `body[data-state="${state}"]`, panel: true });
}

/** Reads a file of the workspace; undefined when there is none. */
export async function fileText(name: string): Promise<string | undefined> {
  try {
    const bytes = await vscode.workspace.fs.readFile(vscode.Uri.joinPath(workspaceFolder(), name));
    return Buffer.from(bytes).toString();
  } catch (error) {
    if (error instanceof vscode.FileSystemError && error.code === "FileNotFound") return undefined;
    throw error;
  }
}

/** Starts an agent and waits until the timeline shows its transaction, and no other, in this state. */
export async function startRun(
  window: HostWindow,
  request: StartRequest,
  state = "sealed",
): Promise<void> {
  const before = new Set(transactionRoots());
  await vscode.commands.executeCommand("holdfast.start", request);
  const made = transactionRoots().find((root) => !before.has(root)) ?? "";
  const selector = `body[data-transaction="${path.basename(made)}"][data-state="${state}"]`;
  await window.call("wait", { selector, panel: true });
}

/** Runs a shell script as the agent to its end and waits until its changes can be reviewed. */
export async function runScript(window: HostWindow, script: string, task: string): Promise<void> {
  await startRun(window, { agent: "command", command: ["/bin/sh", "-c", script], task });
}

/** Waits until something holds, looking again and again; fails with `what` after two minutes. */
export async function until(
  what: string,
  holds: () => boolean | Promise<boolean>,
  patienceMs = 120_000,
): Promise<void> {
  const deadline = Date.now() + patienceMs;
  while (!(await holds())) {
    if (Date.now() > deadline) assert.fail(`not so after ${patienceMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Answers a modal question with one of its buttons. */
export async function answer(window: HostWindow, button: string): Promise<void> {
  const selector = ".monaco-dialog-box .dialog-buttons .monaco-button";
  await window.call("wait", { selector, text: button });
  await window.call("click", { selector, text: button });
  await until("the question is gone", async () => {
    return (await window.call("texts", { selector: ".monaco-dialog-box" })).length === 0;
  });
}

/** The text of the modal question that is open. */
export async function question(window: HostWindow): Promise<string> {
  await window.call("wait", { selector: ".monaco-dialog-box .dialog-message" });
  return (await window.call("texts", { selector: ".monaco-dialog-box" })).join("\n");
}

/** Throws away what the shown transaction has left and closes every editor. */
export async function clear(window: HostWindow): Promise<void> {
  await vscode.commands.executeCommand("workbench.action.revertAndCloseActiveEditor");
  await vscode.commands.executeCommand("workbench.action.closeAllEditors");
  await vscode.commands.executeCommand("notifications.clearAll");
  await vscode.commands.executeCommand("holdfast.discard");
  await waitForState(window, "discarded");
}

/** Writes a file of the workspace, as another program would. */
export async function writeText(name: string, text: string): Promise<void> {
  const uri = vscode.Uri.joinPath(workspaceFolder(), name);
  await vscode.workspace.fs.writeFile(uri, Buffer.from(text));
}

/** Waits for a notification with this text; presses one of its buttons when one is named. */
export async function notification(
  window: HostWindow,
  text: string,
  button?: string,
): Promise<void> {
  const selector = ".notifications-center .notification-list-item";
  // The list opens only when there is something in it.
  await until(`there is a notification: ${text}`, async () => {
    await vscode.commands.executeCommand("notifications.showList");
    return (await window.call("texts", { selector })).some((shown) => shown.includes(text));
  });
  if (button !== undefined) {
    const at = `${selector}:has-text(${JSON.stringify(text)}) .monaco-button`;
    await window.call("click", { selector: at, text: button });
  }
  await vscode.commands.executeCommand("notifications.hideList");
}
