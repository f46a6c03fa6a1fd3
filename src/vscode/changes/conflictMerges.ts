import fs from "node:fs/promises";
import path from "node:path";
import * as vscode from "vscode";
import { Failure } from "../../base/errors.ts";
import { conflictText, hasConflictMarkers } from "../../core/change/conflictText.ts";
import { looksBinary, textLimit } from "../../core/change/lines.ts";
import type { LiveTransaction } from "../liveTransaction.ts";
import type { ChangedFile } from "./reviewModel.ts";
import type { Reviews } from "./reviews.ts";
import { sideUri } from "./sideAddress.ts";

/** One conflict that is being merged by hand. */
interface Merge {
  /** The workspace's content that the merge began from; null when the file is gone there. */
  readonly mine: Uint8Array | null;
  readonly draft: Uint8Array;
}

/**
 * Conflicts merged by hand: base, the workspace's version and the agent's version beside each other, and a result that can
 * be edited. What is saved there without a conflict marker left is the reviewer's own version and goes into the commit.
 */
export class ConflictMerges {
  readonly #reviews: Reviews;
  readonly #merges = new Map<string, Merge>();

  constructor(reviews: Reviews) {
    this.#reviews = reviews;
  }

  /** Opens the three sides of a conflict. Throws a Failure for what cannot be merged by lines. */
  async open(transaction: LiveTransaction, file: ChangedFile): Promise<void> {
    if (file.binary || file.kind === "symlink" || file.kind === "mode") throw notByLines(file);
    const [base, theirs] = await Promise.all(
      (["base", "shadow"] as const).map(async (side) => {
        const at = side === "base" ? (file.from ?? file.path) : file.path;
        const { content } = await transaction.call("file", { path: at, side });
        return content === undefined ? undefined : Buffer.from(content, "base64");
      }),
    );
    const mine = await workspaceContent(transaction, file);
    const sides = [base, mine ?? undefined, theirs].map((bytes) => textOf(bytes, file));
    const [baseText = "", mineText = "", theirText = ""] = sides;
    const key = keyOf(transaction.id, file.path);
    const known = this.#known(transaction.id, file.path);
    const same = known !== undefined && Buffer.compare(known.mine ?? empty, mine ?? empty) === 0;
    // Begun before and nothing has changed since: the draft goes on.
    if (!same) {
      const text = conflictText({ base: baseText, mine: mineText, theirs: theirText });
      this.#merges.set(key, { mine, draft: Buffer.from(text, "latin1") });
    }
    const uri = (side: "base" | "mine" | "shadow" | "merged"): vscode.Uri =>
      sideUri(transaction.id, side, file.path);
    try {
      await vscode.commands.executeCommand("_open.mergeEditor", {
        base: file.from === undefined ? uri("base") : sideUri(transaction.id, "base", file.from),
        input1: { uri: uri("mine"), title: vscode.l10n.t("Yours") },
        input2: { uri: uri("shadow"), title: vscode.l10n.t("Agent's") },
        output: uri("merged"),
      });
    } catch {
      // No merge editor in this editor: the result with its markers, beside your version.
      const title = vscode.l10n.t("{0} (yours ↔ merged)", file.path);
      await vscode.commands.executeCommand("vscode.diff", uri("mine"), uri("merged"), title);
    }
  }

  /** The workspace's version as it was when the merge began, and the result so far. */
  content(transaction: string, path: string, side: "mine" | "merged"): Uint8Array | undefined {
    const merge = this.#known(transaction, path);
    if (merge === undefined) return undefined;
    return side === "mine" ? (merge.mine ?? empty) : merge.draft;
  }

  /** Keeps what was saved; once no marker is left, it settles the conflict. */
  save(transaction: string, path: string, content: Uint8Array): void {
    const key = keyOf(transaction, path);
    const merge = this.#known(transaction, path);
    if (merge === undefined)
      throw new Failure("failed", "not-merging", `${path} is not being merged`);
    this.#merges.set(key, { ...merge, draft: content });
    const done = !hasConflictMarkers(Buffer.from(content).toString("latin1"));
    this.#reviews.merged(transaction, path, done ? { content, mine: merge.mine } : undefined);
  }

  /** A merge of this window, or one that was saved before the window was loaded anew. */
  #known(transaction: string, path: string): Merge | undefined {
    const known = this.#merges.get(keyOf(transaction, path));
    if (known !== undefined) return known;
    const saved = this.#reviews.mergeOf(transaction, path);
    if (saved === undefined) return undefined;
    const merge = { mine: saved.mine, draft: saved.content };
    this.#merges.set(keyOf(transaction, path), merge);
    return merge;
  }
}

const empty = new Uint8Array();

function keyOf(transaction: string, path: string): string {
  return `${transaction}\0${path}`;
}

function notByLines({ path }: ChangedFile): Failure {
  return new Failure(
    "usage",
    "not-by-lines",
    `${path} cannot be merged by lines`,
    "keep your version or take the agent's, in the Changes view",
  );
}

function textOf(bytes: Uint8Array | undefined, file: ChangedFile): string {
  if (bytes === undefined) return "";
  const text = Buffer.from(bytes).toString("latin1");
  if (bytes.length > textLimit || looksBinary(text)) throw notByLines(file);
  return text;
}

/** What stands in the workspace now; links are not followed. */
async function workspaceContent(
  { status }: LiveTransaction,
  file: ChangedFile,
): Promise<Uint8Array | null> {
  const at = path.join(status.workspace, file.from ?? file.path);
  try {
    const found = await fs.lstat(at);
    if (!found.isFile()) throw notByLines(file);
    return await fs.readFile(at);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}
