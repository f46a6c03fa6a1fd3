import "./vscode/quietZod.ts";
import type { ExtensionContext } from "vscode";
import { HoldfastExtension } from "./vscode/holdfastExtension.ts";

let extension: HoldfastExtension | undefined;

/** Called by the editor when a view of ours is shown or a command of ours runs. */
export function activate(context: ExtensionContext): void {
  extension = new HoldfastExtension(context);
}

/** Called by the editor when the window closes; transactions go on without it. */
export function deactivate(): void {
  extension?.dispose();
  extension = undefined;
}
