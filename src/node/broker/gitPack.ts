import { inflateSync } from "node:zlib";
import { createHash } from "node:crypto";
import { parsePushCommands } from "../../core/policy/body/gitRequest.ts";
import type { GitFacts } from "../../core/policy/judge.ts";

/** Commits of one pack that are stored whole, by object id: their parents. */
type Commits = ReadonlyMap<string, readonly string[]>;

/** Fills in, for each updated ref of a push, whether the sent pack proves the update to be a fast-forward: from the new
 * commit, parents are followed through the pack until the old commit is met. */
export function withAncestry(git: GitFacts, body: Uint8Array): GitFacts {
  const commands = parsePushCommands(body);
  if (commands === undefined || git.refs.every((ref) => ref.change !== "update")) return git;
  const hashName = (git.refs[0]?.to.length ?? 40) === 64 ? "sha256" : "sha1";
  const { commits, complete } = commitsOf(body.subarray(commands.packAt), hashName);
  return {
    ...git,
    refs: git.refs.map((ref) =>
      ref.change === "update"
        ? { ...ref, ancestry: ancestry(ref.from, ref.to, commits, complete) }
        : ref,
    ),
  };
}

function ancestry(
  from: string,
  to: string,
  commits: Commits,
  complete: boolean,
): "fastForward" | "forced" | "unknown" {
  const seen = new Set<string>();
  const queue = [to];
  for (let commit = queue.pop(); commit !== undefined; commit = queue.pop()) {
    if (commit === from) return "fastForward";
    if (seen.has(commit)) continue;
    seen.add(commit);
    queue.push(...(commits.get(commit) ?? []));
  }
  // A commit that the remote already has is not in the pack, so its history cannot be followed: moving a branch to a
  // commit that is all there tells nothing, but new commits that do not come from the old one do.
  return complete && commits.has(to) ? "forced" : "unknown";
}

/** Reads the commits at the front of a pack (gitformat-pack): git writes them before trees and blobs. Stops at the first
 * object that is not a whole commit; `complete` tells that nothing was cut off before. */
function commitsOf(pack: Uint8Array, hashName: string): { commits: Commits; complete: boolean } {
  const commits = new Map<string, readonly string[]>();
  if (pack.length < 12 || Buffer.from(pack.subarray(0, 4)).toString("latin1") !== "PACK") {
    return { commits, complete: false };
  }
  const objects = Buffer.from(pack.subarray(8, 12)).readUInt32BE();
  let at = 12;
  for (let count = 0; count < objects; count += 1) {
    const head = objectHead(pack, at);
    if (head === undefined) return { commits, complete: false };
    // Commits, and annotated tags beside them; what follows are trees.
    if (head.type !== 1 && head.type !== 4) return { commits, complete: head.type === 2 };
    const object = inflateAt(pack, head.dataAt);
    if (object?.data.length !== head.size) return { commits, complete: false };
    if (head.type === 1) addCommit(commits, object.data, hashName);
    at = head.dataAt + object.used;
  }
  return { commits, complete: true };
}

function objectHead(
  pack: Uint8Array,
  start: number,
): { type: number; size: number; dataAt: number } | undefined {
  let at = start;
  let byte = pack[at++] ?? 0;
  const type = (byte >> 4) & 7;
  let size = byte & 15;
  for (let scale = 16; (byte & 128) !== 0; scale *= 128) {
    const next = pack[at++];
    if (next === undefined || scale > 2 ** 31) return undefined;
    byte = next;
    size += (byte & 127) * scale;
  }
  return { type, size, dataAt: at };
}

function inflateAt(pack: Uint8Array, at: number): { data: Buffer; used: number } | undefined {
  try {
    // `info` gives the engine back, which knows how much of the input it took.
    const result = inflateSync(pack.subarray(at), {
      info: true,
      maxOutputLength: 4 * 1024 * 1024,
    }) as unknown as { buffer: Buffer; engine: { bytesWritten: number } };
    return { data: result.buffer, used: result.engine.bytesWritten };
  } catch {
    return undefined; // Cut off or malformed: the ancestry stays unknown, which counts as forced.
  }
}

function addCommit(commits: Map<string, readonly string[]>, data: Buffer, hashName: string): void {
  const id = createHash(hashName)
    .update(`commit ${String(data.length)}\0`)
    .update(data)
    .digest("hex");
  const head = data.toString("latin1").split("\n\n", 1)[0] ?? "";
  commits.set(
    id,
    [...head.matchAll(/^parent ([0-9a-f]{40,64})$/gm)].map((match) => match[1] ?? ""),
  );
}
