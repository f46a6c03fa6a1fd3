import { Failure } from "../../base/errors.ts";
import type { FileState } from "../../core/change/changeSet.ts";
import { applyHunks, type Hunk } from "../../core/change/hunks.ts";
import { splitLines, textLimit } from "../../core/change/lines.ts";
import type { Chosen } from "../../core/change/selection.ts";
import type { ForkReader, ForkSide } from "../ports.ts";
import { byteText, hashOf, textBytes } from "./byteText.ts";
import { fileSide, type PathChange, type Side } from "./planPaths.ts";

/** What a person decided for one path in review. */
export type PathChoice =
  /** Keep what the workspace has. */
  | { readonly take: "mine" }
  /** Publish the transaction's version over whatever the workspace has. */
  | { readonly take: "theirs" }
  /**
   * Publish this content; merged with the workspace's, unless `over` says to replace it. `from` is the workspace's content
   * (null: no file) that a person merged by hand into `bytes`: what the workspace has changed to since then is merged.
   */
  | {
      readonly take: "edited";
      readonly bytes: Uint8Array;
      readonly over?: true;
      readonly from?: Uint8Array | null;
    };

/** One chosen file as a change of paths from what was there before to what is to be there. */
export function changeOf(
  reader: ForkReader,
  chosen: Chosen,
  choice: Exclude<PathChoice, { take: "mine" }> | undefined,
): PathChange {
  const { file, earlier, whole } = chosen;
  const started = earlier.length > 0;
  const renamed = file.from !== undefined && !started;
  const basePath = file.from ?? file.path;
  const merged = choice?.take === "edited" ? choice.from : undefined;
  return {
    path: file.path,
    ...(renamed && { from: basePath }),
    ...(!started &&
      merged === undefined &&
      file.before !== undefined && { quickBase: file.before }),
    removes: choice?.take !== "edited" && whole && file.after === undefined,
    base: () =>
      merged !== undefined
        ? Promise.resolve(mergedFrom(merged, file.before))
        : started
          ? partialSide(reader, chosen, earlier, file.before)
          : sealedSide(reader, "base", basePath, file, file.before),
    theirs: () => theirsOf(reader, chosen, choice),
    ...((choice?.take === "theirs" || (choice?.take === "edited" && choice.over === true)) && {
      force: true,
    }),
  };
}

/** The workspace's content that a person merged from stands in for the base. */
function mergedFrom(bytes: Uint8Array | null, before: FileState | undefined): Side | undefined {
  return bytes === null ? undefined : fileSide(bytes, modeOf(before) ?? 0o644);
}

async function theirsOf(
  reader: ForkReader,
  chosen: Chosen,
  choice: PathChoice | undefined,
): Promise<Side | undefined> {
  const { file, earlier, now, whole } = chosen;
  if (choice?.take === "edited") {
    const mode = modeOf(file.after) ?? modeOf(file.before) ?? 0o644;
    return fileSide(await reader.unmask(file.path, choice.bytes, file.from), mode);
  }
  return whole
    ? sealedSide(reader, "shadow", file.path, file, file.after)
    : partialSide(reader, chosen, [...earlier, ...now], file.before);
}

function modeOf(state: FileState | undefined): number | undefined {
  return state?.type === "file" ? state.mode : undefined;
}

/** A side as it was at the seal, with real secrets; throws when it is not what was sealed. */
async function sealedSide(
  reader: ForkReader,
  side: ForkSide,
  readPath: string,
  { path, from }: Chosen["file"],
  state: FileState | undefined,
): Promise<Side | undefined> {
  if (state === undefined || state.type !== "file")
    return state === undefined ? undefined : { state };
  if (state.size > textLimit) {
    return { state, content: { from: "shadow", reader, path } };
  }
  const bytes = await sealedBytes(reader, side, readPath, state);
  return fileSide(await reader.unmask(path, bytes, from), state.mode);
}

async function sealedBytes(
  reader: ForkReader,
  side: ForkSide,
  path: string,
  state: FileState & { readonly type: "file" },
): Promise<Uint8Array> {
  const bytes = await reader.read(side, path);
  if (bytes !== undefined && hashOf(bytes) === state.sha256) return bytes;
  throw new Failure(
    "failed",
    `${side}-changed`,
    `${JSON.stringify(path)} is not what was sealed for review`,
    "open the transaction for review again, or discard it",
  );
}

/** The base with some hunks applied. */
async function partialSide(
  reader: ForkReader,
  { file }: Chosen,
  hunks: readonly Hunk[],
  before: FileState | undefined,
): Promise<Side | undefined> {
  const { after } = file;
  if (before?.type === "symlink" || before?.type === "directory") throw noHunks(file.path);
  if (after?.type === "symlink" || after?.type === "directory") throw noHunks(file.path);
  const old =
    before === undefined ? "" : await sideText(reader, "base", file.from ?? file.path, before);
  const fresh = after === undefined ? "" : await sideText(reader, "shadow", file.path, after);
  const lines = applyHunks(splitLines(old), splitLines(fresh), hunks);
  const mode = modeOf(before) ?? modeOf(after) ?? 0o644;
  return fileSide(await reader.unmask(file.path, textBytes(lines.join("")), file.from), mode);
}

async function sideText(
  reader: ForkReader,
  side: ForkSide,
  path: string,
  state: FileState & { readonly type: "file" },
): Promise<string> {
  return byteText(await sealedBytes(reader, side, path, state));
}

function noHunks(path: string): Error {
  return new Error(`hunks of something that has no lines: ${path}`);
}
