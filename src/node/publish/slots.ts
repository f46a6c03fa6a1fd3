import { createHash } from "node:crypto";
import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { Failure } from "../../base/errors.ts";
import type { FileState } from "../../core/change/changeSet.ts";
import type { Content } from "../../runtime/commit/publishPort.ts";
import { encodePath } from "../fork/pathBytes.ts";
import { writeSparsely } from "../fork/sparseFile.ts";
import { identityOf } from "./hostTree.ts";
import type { KeptContents } from "./keptContents.ts";

const create = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/** Writes a new file with its content and mode; gives its identity. Throws when the content is not what was planned. */
export async function fillFile(
  file: string,
  state: FileState & { readonly type: "file" },
  content: Content,
  kept: KeptContents,
): Promise<string> {
  const fd = openSync(file, create, 0o600);
  try {
    if (content.from === "bytes") writeFileSync(fd, content.bytes);
    else await fillFromPieces(fd, state, content, kept);
    fchmodSync(fd, state.mode);
    return identityOf(fstatSync(fd, { bigint: true }));
  } finally {
    closeSync(fd);
  }
}

async function fillFromPieces(
  fd: number,
  state: FileState & { readonly type: "file" },
  content: Exclude<Content, { from: "bytes" }>,
  kept: KeptContents,
): Promise<void> {
  const hash = createHash("sha256");
  await writeSparsely(fd, await piecesOf(content, kept), (piece) => hash.update(piece));
  if (hash.digest("hex") === state.sha256) return;
  throw new Failure(
    "failed",
    "shadow-changed",
    `${JSON.stringify(content.path)} is not what was sealed for review`,
    "open the transaction for review again, or discard it",
  );
}

async function piecesOf(
  content: Exclude<Content, { from: "bytes" }>,
  kept: KeptContents,
): Promise<AsyncIterable<Uint8Array> | Iterable<Uint8Array>> {
  const { path } = content;
  if (content.from === "kept") return kept.replacedPieces(content.commit, path) ?? [];
  const pieces = await content.reader.pieces?.("shadow", path);
  if (pieces !== undefined) return pieces;
  const bytes = await content.reader.read("shadow", path);
  return bytes === undefined ? [] : [bytes];
}

/** Makes a symbolic link; gives its identity. */
export function fillLink(file: string, target: string): string {
  symlinkSync(encodePath(target), file);
  return identityOf(lstatSync(file, { bigint: true }));
}

/** Makes a directory with exactly this mode; gives its identity. */
export function fillDirectory(file: string, mode: number): string {
  mkdirSync(file, { mode });
  chmodSync(file, mode);
  return identityOf(lstatSync(file, { bigint: true }));
}
