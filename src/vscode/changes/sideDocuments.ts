import * as vscode from "vscode";
import { DisposableStore, type Ending } from "../../base/lifecycle.ts";
import type { ConflictMerges } from "./conflictMerges.ts";
import type { Reviews } from "./reviews.ts";
import { parseSideUri } from "./sideAddress.ts";
import type { Transactions } from "../transactions.ts";

const saveDelayMs = 400;

/**
 * Both sides of every change as documents, bytes as they are (so that pictures and any encoding work). The base is
 * read-only. The shadow of a sealed transaction can be edited: what is saved there is kept as the reviewer's own version
 * and goes into the commit; the shadow itself never changes.
 */
export class SideDocuments implements vscode.FileSystemProvider, Ending {
  readonly #transactions: Transactions;
  readonly #reviews: Reviews;
  readonly #merges: ConflictMerges;
  readonly #store = new DisposableStore();
  readonly #changed = this.#store.add(new vscode.EventEmitter<vscode.FileChangeEvent[]>());
  readonly onDidChangeFile = this.#changed.event;
  readonly #contents = new Map<string, Promise<Uint8Array>>();
  readonly #saves = new Map<string, ReturnType<typeof setTimeout>>();
  #times = new Map<string, number>();
  #clock = 1;

  constructor(transactions: Transactions, reviews: Reviews, merges: ConflictMerges) {
    this.#transactions = transactions;
    this.#reviews = reviews;
    this.#merges = merges;
    this.#store.add(
      vscode.workspace.onDidChangeTextDocument(({ document }) => this.#saveSoon(document)),
    );
    this.#store.add(
      reviews.onChange(({ transaction, reloaded }) => {
        if (reloaded) this.#forget(transaction);
      }),
    );
  }

  /** What is typed on the right side, or taken back with the diff's own arrows, is the review's at once. */
  #saveSoon(document: vscode.TextDocument): void {
    if (parseSideUri(document.uri)?.side !== "shadow" || !document.isDirty) return;
    const key = document.uri.toString();
    clearTimeout(this.#saves.get(key));
    this.#saves.set(
      key,
      setTimeout(() => {
        this.#saves.delete(key);
        void document.save();
      }, saveDelayMs),
    );
  }

  watch(): vscode.Disposable {
    return new vscode.Disposable(() => undefined);
  }

  async stat(uri: vscode.Uri): Promise<vscode.FileStat> {
    const named = this.#named(uri);
    const content = await this.#content(uri);
    const editable =
      named.side === "merged" ||
      (named.side === "shadow" && this.#reviews.isEditable(named.transaction, named.path));
    return {
      type: vscode.FileType.File,
      ctime: 0,
      mtime: this.#times.get(uri.toString()) ?? 1,
      size: content.byteLength,
      ...(editable ? {} : { permissions: vscode.FilePermission.Readonly }),
    };
  }

  readFile(uri: vscode.Uri): Promise<Uint8Array> {
    return this.#content(uri);
  }

  writeFile(uri: vscode.Uri, content: Uint8Array): void {
    const { transaction, side, path } = this.#named(uri);
    if (side === "merged") {
      this.#merges.save(transaction, path, content);
      this.#touch(uri);
      return;
    }
    if (side !== "shadow" || !this.#reviews.isEditable(transaction, path))
      throw vscode.FileSystemError.NoPermissions(uri);
    this.#contents.set(uri.toString(), Promise.resolve(content));
    this.#touch(uri);
    this.#reviews.edit(transaction, path, content);
  }

  readDirectory(): [string, vscode.FileType][] {
    return [];
  }

  createDirectory(uri: vscode.Uri): void {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  delete(uri: vscode.Uri): void {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  rename(uri: vscode.Uri): void {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  dispose(): void {
    for (const timer of this.#saves.values()) clearTimeout(timer);
    this.#store.dispose();
    this.#contents.clear();
  }

  #named(uri: vscode.Uri): NonNullable<ReturnType<typeof parseSideUri>> {
    const named = parseSideUri(uri);
    if (named === undefined) throw vscode.FileSystemError.FileNotFound(uri);
    return named;
  }

  /** Read once until the change set is loaded anew. A side without the file is an empty document. */
  #content(uri: vscode.Uri): Promise<Uint8Array> {
    const key = uri.toString();
    const known = this.#contents.get(key);
    if (known !== undefined) return known;
    const { transaction, side, path } = this.#named(uri);
    if (side === "mine" || side === "merged") {
      const content = this.#merges.content(transaction, path, side);
      if (content === undefined) throw vscode.FileSystemError.FileNotFound(uri);
      return Promise.resolve(content);
    }
    const edit = side === "shadow" ? this.#reviews.editOf(transaction, path) : undefined;
    if (edit !== undefined) return Promise.resolve(edit);
    const one = this.#transactions.all.find(({ id }) => id === transaction);
    if (one === undefined) throw vscode.FileSystemError.FileNotFound(uri);
    const read = one
      .call("file", { path, side })
      .then(({ content }) => new Uint8Array(Buffer.from(content ?? "", "base64")));
    this.#contents.set(key, read);
    read.catch(() => this.#contents.delete(key));
    return read;
  }

  #touch(uri: vscode.Uri): void {
    this.#times.set(uri.toString(), ++this.#clock);
    this.#changed.fire([{ type: vscode.FileChangeType.Changed, uri }]);
  }

  #forget(transaction: string): void {
    for (const key of [...this.#contents.keys()]) {
      const uri = vscode.Uri.parse(key);
      const named = parseSideUri(uri);
      if (named?.transaction !== transaction || named.side !== "shadow") continue;
      if (this.#reviews.hasEdit(transaction, named.path)) continue;
      this.#contents.delete(key);
      this.#touch(uri);
    }
  }
}
