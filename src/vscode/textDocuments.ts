import * as vscode from "vscode";
import { DisposableStore, type Ending } from "../base/lifecycle.ts";
import { schemes } from "./contributions.ts";

const kept = 40;

/** Whole texts of the timeline (arguments, results, payloads) as read-only documents. */
export class TextDocuments implements vscode.TextDocumentContentProvider, Ending {
  readonly #store = new DisposableStore();
  readonly #texts = new Map<string, string>();
  #next = 1;

  constructor() {
    this.#store.add(vscode.workspace.registerTextDocumentContentProvider(schemes.text, this));
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.#texts.get(uri.toString()) ?? "";
  }

  /** Opens a text under a name; the newest {@link kept} stay readable. */
  async show(name: string, text: string): Promise<void> {
    const uri = vscode.Uri.from({ scheme: schemes.text, path: `/${this.#next++}/${name}` });
    this.#texts.set(uri.toString(), text);
    const [oldest] = this.#texts.keys();
    if (this.#texts.size > kept && oldest !== undefined) this.#texts.delete(oldest);
    const document = await vscode.workspace.openTextDocument(uri);
    await vscode.window.showTextDocument(document, { preview: true });
  }

  dispose(): void {
    this.#store.dispose();
    this.#texts.clear();
  }
}
