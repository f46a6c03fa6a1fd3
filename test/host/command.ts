import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import path from "node:path";
import * as vscode from "vscode";

/** Runs the command in a folder, as a terminal outside this window would, and gives what it prints. */
export function holdfast(folder: string, ...args: string[]): string {
  const extension = vscode.extensions.getExtension("holdfast.holdfast");
  assert.ok(extension !== undefined);
  const program = path.join(extension.extensionPath, "dist", "holdfast.cjs");
  const env = { ...process.env, ELECTRON_RUN_AS_NODE: "1" };
  return execFileSync(process.execPath, [program, ...args], { cwd: folder, env, encoding: "utf8" });
}
