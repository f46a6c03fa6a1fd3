import * as vscode from "vscode";
import { DisposableStore, type Ending } from "../base/lifecycle.ts";

/** What answers in the place of a stand-in below, once it is loaded. */
type Load<T> = () => Promise<T>;

/** A webview view whose provider is loaded when the view is shown. */
export class LateView implements vscode.WebviewViewProvider {
  readonly #load: Load<vscode.WebviewViewProvider>;

  constructor(load: Load<vscode.WebviewViewProvider>) {
    this.#load = load;
  }

  async resolveWebviewView(
    view: vscode.WebviewView,
    context: vscode.WebviewViewResolveContext,
    token: vscode.CancellationToken,
  ): Promise<void> {
    const shown = { gone: false };
    using listening = new DisposableStore();
    listening.add(view.onDidDispose(() => (shown.gone = true)));
    const provider = await this.#load();
    // Closed while it was loaded: it can be given no page any more.
    if (!shown.gone) await provider.resolveWebviewView(view, context, token);
  }
}

/** A tree whose items are loaded when somebody looks at it; whatever changes of it, all of it is asked for anew. */
export class LateTree<T> implements vscode.TreeDataProvider<T>, Ending {
  readonly #store = new DisposableStore();
  readonly #changed = this.#store.add(new vscode.EventEmitter<undefined>());
  readonly onDidChangeTreeData = this.#changed.event;
  readonly #load: Load<vscode.TreeDataProvider<T>>;
  #loaded: vscode.TreeDataProvider<T> | undefined;

  constructor(load: Load<vscode.TreeDataProvider<T>>) {
    this.#load = load;
  }

  async getChildren(item?: T): Promise<T[]> {
    return (await (await this.#provider()).getChildren(item)) ?? [];
  }

  async getTreeItem(item: T): Promise<vscode.TreeItem> {
    return (await this.#provider()).getTreeItem(item);
  }

  dispose(): void {
    this.#store.dispose();
  }

  async #provider(): Promise<vscode.TreeDataProvider<T>> {
    const provider = await this.#load();
    if (this.#loaded === undefined) {
      this.#loaded = provider;
      if (provider.onDidChangeTreeData !== undefined)
        this.#store.add(provider.onDidChangeTreeData(() => this.#changed.fire(undefined)));
    }
    return provider;
  }
}

/** Files whose provider is loaded when one of them is asked for. */
export class LateFiles implements vscode.FileSystemProvider, Ending {
  readonly #store = new DisposableStore();
  readonly #changed = this.#store.add(new vscode.EventEmitter<vscode.FileChangeEvent[]>());
  readonly onDidChangeFile = this.#changed.event;
  readonly #load: Load<vscode.FileSystemProvider>;
  #loaded: vscode.FileSystemProvider | undefined;

  constructor(load: Load<vscode.FileSystemProvider>) {
    this.#load = load;
  }

  watch(): vscode.Disposable {
    return new vscode.Disposable(() => undefined);
  }

  async stat(uri: vscode.Uri): Promise<vscode.FileStat> {
    return (await this.#provider()).stat(uri);
  }

  async readFile(uri: vscode.Uri): Promise<Uint8Array> {
    return (await this.#provider()).readFile(uri);
  }

  async writeFile(
    uri: vscode.Uri,
    content: Uint8Array,
    options: { readonly create: boolean; readonly overwrite: boolean },
  ): Promise<void> {
    await (await this.#provider()).writeFile(uri, content, options);
  }

  async readDirectory(uri: vscode.Uri): Promise<[string, vscode.FileType][]> {
    return (await this.#provider()).readDirectory(uri);
  }

  async createDirectory(uri: vscode.Uri): Promise<void> {
    await (await this.#provider()).createDirectory(uri);
  }

  async delete(uri: vscode.Uri, options: { readonly recursive: boolean }): Promise<void> {
    await (await this.#provider()).delete(uri, options);
  }

  async rename(
    from: vscode.Uri,
    to: vscode.Uri,
    options: { readonly overwrite: boolean },
  ): Promise<void> {
    await (await this.#provider()).rename(from, to, options);
  }

  dispose(): void {
    this.#store.dispose();
  }

  async #provider(): Promise<vscode.FileSystemProvider> {
    const provider = await this.#load();
    if (this.#loaded === undefined) {
      this.#loaded = provider;
      this.#store.add(provider.onDidChangeFile((events) => this.#changed.fire(events)));
    }
    return provider;
  }
}
