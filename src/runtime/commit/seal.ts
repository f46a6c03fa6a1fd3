import { createHash } from "node:crypto";
import { Failure } from "../../base/errors.ts";
import type { ChangedFile, ChangeSet, FileState, Section } from "../../core/change/changeSet.ts";
import { hunksOf } from "../../core/change/hunks.ts";
import { looksBinary, splitLines, textLimit } from "../../core/change/lines.ts";
import { comparePaths, isGitOwn, refusedPath } from "../../core/change/pathRules.ts";
import { runsLaterReason } from "../../core/change/runsLater.ts";
import { diffLineLists } from "../../core/change/textDiff.ts";
import type { ChangedPath, ForkReader, ForkSide } from "../ports.ts";
import { inParallel } from "./inParallel.ts";
import { byteText, hashOf } from "./byteText.ts";

/** One side of a path: its state, and its text when it is small enough. */
interface Side {
  readonly state: FileState;
  readonly text?: string;
}

/**
 * The change set of a sealed transaction: every difference with its hunks, its section and the reason for it. Nothing of
 * a `.git` is in it. Throws a Failure when a side can no longer be read.
 */
export async function buildChangeSet(
  reader: ForkReader,
  changed: readonly ChangedPath[],
): Promise<ChangeSet> {
  const wanted = changed.filter(({ path }) => !hasGitSegment(path));
  const files = await inParallel(wanted, 16, (entry) => changedFile(reader, entry));
  return {
    version: 1,
    files: files
      .filter((file) => file !== undefined)
      .sort((left, right) => comparePaths(left.path, right.path)),
  };
}

/** Git's own directory exactly; odd spellings of it stay visible, as refused. */
function hasGitSegment(path: string): boolean {
  return isGitOwn(path) && path.split("/").includes(".git");
}

async function changedFile(
  reader: ForkReader,
  entry: ChangedPath,
): Promise<ChangedFile | undefined> {
  const before =
    entry.change === "added" ? undefined : await readSide(reader, "base", entry.from ?? entry.path);
  const after =
    entry.change === "deleted" ? undefined : await readSide(reader, "shadow", entry.path);
  if (before === undefined && after === undefined) return undefined;
  const texts = before?.state.type !== "symlink" && after?.state.type !== "symlink";
  const beforeText = before === undefined ? "" : before.text;
  const afterText = after === undefined ? "" : after.text;
  const isFile = before?.state.type === "file" || after?.state.type === "file";
  const binary =
    isFile &&
    texts &&
    (beforeText === undefined ||
      afterText === undefined ||
      looksBinary(beforeText) ||
      looksBinary(afterText));
  const byLines = isFile && texts && !binary && beforeText !== undefined && afterText !== undefined;
  const runsLater = runsLaterReason({
    path: entry.path,
    from: entry.from,
    before: before?.state,
    after: after?.state,
    beforeText: before?.text,
    afterText: after?.text,
  });
  const refused =
    entry.nestedTooDeep === true
      ? "folders in it are nested deeper than a path can name"
      : refusedPath(entry.path);
  return {
    path: entry.path,
    kind: entry.change,
    ...(entry.from !== undefined && { from: entry.from }),
    ...(before !== undefined && { before: before.state }),
    ...(after !== undefined && { after: after.state }),
    binary,
    ...sectionOf(entry.ignored, runsLater, refused),
    hunks: byLines ? textHunks(entry.path, beforeText, afterText) : [],
  };
}

function textHunks(path: string, beforeText: string, afterText: string): ChangedFile["hunks"] {
  const before = splitLines(beforeText);
  const after = splitLines(afterText);
  return hunksOf(path, before, after, diffLineLists(before, after), (text) =>
    createHash("sha256").update(text, "utf8").digest("hex"),
  );
}

function sectionOf(
  ignored: boolean,
  runsLater: string | undefined,
  refused: string | undefined,
): Pick<ChangedFile, "section" | "why" | "ignored" | "runsLater" | "refused"> {
  const section: Section =
    refused !== undefined ? "runsLater" : ignored ? "ignored" : runsLater ? "runsLater" : "change";
  const why =
    refused !== undefined
      ? `${refused}: never published`
      : ignored
        ? "the workspace's own ignore rules exclude it"
        : runsLater;
  return {
    section,
    ...(why !== undefined && { why }),
    ignored,
    ...(runsLater !== undefined && { runsLater }),
    ...(refused !== undefined && { refused }),
  };
}

/** One side of a path at the seal; undefined when nothing (or nothing that can be published) stands there. */
async function readSide(
  reader: ForkReader,
  side: ForkSide,
  path: string,
): Promise<Side | undefined> {
  const found = await reader.stat(side, path);
  if (found === undefined || found.type === "other") return undefined;
  if (found.type === "symlink") return { state: { type: "symlink", target: found.target } };
  const mode = found.mode & 0o777;
  if (found.type !== "file") return { state: { type: "directory", mode } };
  if (found.size > textLimit) {
    return {
      state: { type: "file", mode, ...(await largeContent(reader, side, path, found.size)) },
    };
  }
  const bytes = await contentAt(reader, side, path);
  if (bytes === "lost")
    return { state: { type: "file", mode, size: found.size, sha256: noContent } };
  if (bytes === undefined) throw lost(path);
  const state: FileState = { type: "file", mode, size: bytes.length, sha256: hashOf(bytes) };
  return { state, text: byteText(bytes) };
}

function lost(path: string): Failure {
  return new Failure(
    "failed",
    "shadow-changed",
    `${JSON.stringify(path)} changed while it was read`,
  );
}

/** The hash of a base that is gone (both sides changed it): it equals nothing, so whoever publishes the file is asked. */
const noContent = "";

async function contentAt(
  reader: ForkReader,
  side: ForkSide,
  path: string,
): Promise<Uint8Array | "lost" | undefined> {
  try {
    return await reader.read(side, path);
  } catch (error) {
    if (error instanceof Failure && error.code === "base-lost") return "lost";
    throw error;
  }
}

/** Size and hash of a file too large for memory. */
async function largeContent(
  reader: ForkReader,
  side: ForkSide,
  path: string,
  size: number,
): Promise<{ readonly sha256: string; readonly size: number }> {
  try {
    return await hashLarge(reader, side, path);
  } catch (error) {
    if (error instanceof Failure && error.code === "base-lost") return { sha256: noContent, size };
    throw error;
  }
}

/** SHA-256 of a file too large for memory. */
async function hashLarge(
  reader: ForkReader,
  side: ForkSide,
  path: string,
): Promise<{ readonly sha256: string; readonly size: number }> {
  const hash = createHash("sha256");
  let size = 0;
  for await (const piece of piecesOf(reader, side, path)) {
    hash.update(piece);
    size += piece.length;
  }
  return { sha256: hash.digest("hex"), size };
}

/** The content in pieces; whole where the reader cannot do better. */
export async function* piecesOf(
  reader: ForkReader,
  side: ForkSide,
  path: string,
): AsyncGenerator<Uint8Array> {
  const stream = await reader.pieces?.(side, path);
  if (stream !== undefined) {
    yield* stream;
    return;
  }
  const bytes = await reader.read(side, path);
  if (bytes === undefined) throw lost(path);
  yield bytes;
}
