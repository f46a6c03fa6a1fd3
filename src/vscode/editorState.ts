import * as vscode from "vscode";
import {
  settingDefaults,
  type CommandArguments,
  type CommandId,
  type ContextKeys,
  type Settings,
} from "./contributions.ts";

/** Value of one of our settings. */
export function setting<K extends keyof Settings>(name: K): Settings[K] {
  return vscode.workspace
    .getConfiguration("holdfast")
    .get<Settings[K]>(name, settingDefaults[name]);
}

/** Sets a key for `when` clauses. */
export function setContextKey<K extends keyof ContextKeys>(key: K, value: ContextKeys[K]): void {
  void vscode.commands.executeCommand("setContext", key, value);
}

/** Runs one of our own commands. */
export function runCommand<K extends CommandId>(
  command: K,
  ...args: CommandArguments[K]
): Thenable<unknown> {
  return vscode.commands.executeCommand(command, ...args);
}
