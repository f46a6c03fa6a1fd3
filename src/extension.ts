import type { ExtensionContext } from "vscode";
import { LazyExtension } from "./vscode/lazyExtension.ts";

let extension: LazyExtension | undefined;

/** Called by the editor soon after it has started, or when a view, a command, a link or a document of ours is wanted. */
export function activate(context: ExtensionContext): void {
  extension = new LazyExtension(context);
}

/** Called by the editor when the window closes; transactions go on without it. */
export function deactivate(): void {
  extension?.dispose();
  extension = undefined;
}
