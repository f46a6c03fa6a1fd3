import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { createDeflate } from "node:zlib";
import { Failure } from "../../base/errors.ts";
import { base85Line, bytesPerLine } from "../../core/change/base85.ts";
import {
  gitMode,
  type ChangedFile,
  type ChangeSet,
  type FileState,
} from "../../core/change/changeSet.ts";
import { textLimit } from "../../core/change/lines.ts";
import {
  changesType,
  isShownByLines,
  patchHead,
  quotePath,
  textPatch,
  wholeHunk,
} from "../../core/change/patch.ts";
import type { ForkReader, ForkSide } from "../../runtime/ports.ts";
import { encodePath } from "../fork/pathBytes.ts";

/** One side of one patch: what stands there, and where its content is read. */
interface PatchSide {
  readonly state: FileState;
  readonly side: ForkSide;
  readonly path: string;
}

/**
 * The change set (or the paths of it) as one patch that `git apply` takes, secrets as placeholders. Bytes come in order
 * and in bounded pieces. A file whose base is gone is left out, and a line says so. Empty directories, and permissions that git does not know, cannot be told in a patch.
 */
export async function* patchOf(
  reader: ForkReader,
  changeSet: ChangeSet,
  paths: readonly string[] = [],
): AsyncGenerator<Uint8Array> {
  const wanted = paths.map((path) => path.replace(/\/+$/, ""));
  const isWanted = ({ path, from }: ChangedFile): boolean =>
    wanted.length === 0 ||
    wanted.some((one) => path === one || from === one || path.startsWith(`${one}/`));
  for (const file of changeSet.files) {
    if (isWanted(file)) yield* filePatchesOrWhyNot(reader, file);
  }
}

/** Where the base is gone there is nothing to tell a difference from: a line says so, which `git apply` reads over. */
async function* filePatchesOrWhyNot(
  reader: ForkReader,
  file: ChangedFile,
): AsyncGenerator<Uint8Array> {
  try {
    yield* filePatches(reader, file);
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== "base-lost") throw error;
    const path = quotePath(encodePath(file.path).toString("latin1"));
    yield Buffer.from(
      `# left out: ${path}, because both sides changed it and its base is gone\n`,
      "latin1",
    );
  }
}

async function* filePatches(reader: ForkReader, file: ChangedFile): AsyncGenerator<Uint8Array> {
  const before = sideOf(file.before, "base", file.from ?? file.path);
  const after = sideOf(file.after, "shadow", file.path);
  if (changesType(file)) {
    if (before !== undefined) yield* onePatch(reader, file, before, undefined);
    if (after !== undefined) yield* onePatch(reader, file, undefined, after);
    return;
  }
  if (before !== undefined || after !== undefined) yield* onePatch(reader, file, before, after);
}

/** Undefined for nothing, and for a directory, which git does not know. */
function sideOf(state: FileState | undefined, side: ForkSide, path: string): PatchSide | undefined {
  return state === undefined || state.type === "directory" ? undefined : { state, side, path };
}

async function* onePatch(
  reader: ForkReader,
  file: ChangedFile,
  before: PatchSide | undefined,
  after: PatchSide | undefined,
): AsyncGenerator<Uint8Array> {
  const renamed = file.from !== undefined && before !== undefined && after !== undefined;
  const head = {
    path: encodePath((after ?? before)?.path ?? file.path).toString("latin1"),
    from: renamed ? encodePath(file.from).toString("latin1") : undefined,
    before: before?.state,
    after: after?.state,
  };
  const [old, fresh] = [await smallText(reader, before), await smallText(reader, after)];
  if (old === undefined || fresh === undefined || !isShownByLines(old, fresh)) {
    yield* binaryPatch(reader, patchHead(head), before, after);
    return;
  }
  const whole = before?.state.type === "symlink" || changesType(file) || file.hunks.length === 0;
  const hunks = whole ? wholeHunk(old, fresh) : file.hunks;
  if (hunks.length === 0 && isSilent(head.from, before, after)) return;
  yield Buffer.from(textPatch(head, old, fresh, hunks), "latin1");
}

/** True when git has nothing to say: same content, same name, and permissions that it does not tell apart. */
function isSilent(
  from: string | undefined,
  before: PatchSide | undefined,
  after: PatchSide | undefined,
): boolean {
  if (from !== undefined || before === undefined || after === undefined) return false;
  return gitMode(before.state) === gitMode(after.state);
}

/** The content (of a link: its target) by bytes; empty for nothing; undefined when it is too large. */
async function smallText(
  reader: ForkReader,
  side: PatchSide | undefined,
): Promise<string | undefined> {
  if (side === undefined) return "";
  const { state } = side;
  if (state.type === "symlink") return encodePath(state.target).toString("latin1");
  if (state.type === "file" && state.size > textLimit) return undefined;
  const bytes = await reader.read(side.side, side.path);
  return bytes === undefined ? "" : Buffer.from(bytes).toString("latin1");
}

async function* binaryPatch(
  reader: ForkReader,
  head: string,
  before: PatchSide | undefined,
  after: PatchSide | undefined,
): AsyncGenerator<Uint8Array> {
  const [old, fresh] = [await blobName(reader, before), await blobName(reader, after)];
  yield Buffer.from(head, "latin1");
  if (old === fresh) return;
  const mode = before === undefined ? undefined : gitMode(before.state);
  const same = after !== undefined && mode === gitMode(after.state) ? ` ${mode ?? ""}` : "";
  yield Buffer.from(`index ${old}..${fresh}${same}\nGIT binary patch\n`, "latin1");
  yield* literal(reader, after);
  // The way back, where it is cheap.
  if (sizeOf(before) <= textLimit) yield* literal(reader, before);
}

function sizeOf(side: PatchSide | undefined): number {
  return side?.state.type === "file" ? side.state.size : 0;
}

const noBlob = "0".repeat(40);

/** Git's name of a content. */
async function blobName(reader: ForkReader, side: PatchSide | undefined): Promise<string> {
  if (side === undefined) return noBlob;
  const hash = createHash("sha1").update(`blob ${sizeOf(side)}\0`);
  for await (const piece of piecesOf(reader, side)) hash.update(piece);
  return hash.digest("hex");
}

async function* piecesOf(
  reader: ForkReader,
  side: PatchSide | undefined,
): AsyncGenerator<Uint8Array> {
  if (side === undefined) return;
  const pieces = await reader.pieces?.(side.side, side.path);
  if (pieces !== undefined) {
    yield* pieces;
    return;
  }
  const bytes = await reader.read(side.side, side.path);
  if (bytes !== undefined) yield bytes;
}

/** A whole content, deflated, in lines of base 85. */
async function* literal(
  reader: ForkReader,
  side: PatchSide | undefined,
): AsyncGenerator<Uint8Array> {
  yield Buffer.from(`literal ${sizeOf(side)}\n`, "latin1");
  let rest = Buffer.alloc(0);
  const deflated = Readable.from(piecesOf(reader, side)).pipe(createDeflate());
  for await (const chunk of deflated as AsyncIterable<Buffer>) {
    const bytes = Buffer.concat([rest, chunk]);
    const whole = bytes.length - (bytes.length % bytesPerLine);
    yield Buffer.from(linesOf(bytes.subarray(0, whole)), "latin1");
    rest = bytes.subarray(whole);
  }
  yield Buffer.from(`${linesOf(rest)}\n`, "latin1");
}

function linesOf(bytes: Uint8Array): string {
  let lines = "";
  for (let at = 0; at < bytes.length; at += bytesPerLine) {
    lines += base85Line(bytes.subarray(at, at + bytesPerLine));
  }
  return lines;
}
