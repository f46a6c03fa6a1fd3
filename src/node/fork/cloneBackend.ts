import { mkdirSync } from "node:fs";
import path from "node:path";
import { type Backend, type ForkContext } from "./backend.ts";
import { CloneCounts, leftOutNotes, megabytes, someOf } from "./forkNotes.ts";
import { heavyDirectories, prepareOverlay } from "./heavyDirectories.ts";
import type { ForkAbilities } from "./probeForks.ts";
import { runNative } from "./runNative.ts";

async function cloneTree(context: ForkContext, more: readonly string[]): Promise<CloneCounts> {
  const { nativePath, workspace, shadow, manifest, paths, signal, onWaiting } = context;
  const places = ["--from", workspace, "--to", shadow, "--manifest", manifest];
  const args = [...places, "--base", paths.base, ...more];
  const { report } = await runNative(nativePath, "clone", args, { signal, onWaiting });
  return new CloneCounts(report);
}

/**
 * With the spare as far as it is good; one that is damaged is no reason not to fork, nor is a program that was killed over it:
 * what either has left, of a spare's shadow above all, is no part of the cold clone that is made instead.
 */
async function cloneWithSpare(context: ForkContext, more: readonly string[]): Promise<CloneCounts> {
  const { spare, signal } = context;
  if (spare === undefined) return cloneTree(context, more);
  try {
    const spared = ["--spare", spare.shadow, "--spare-manifest", spare.manifest];
    return await cloneTree(context, [...more, ...spared]);
  } catch (error) {
    if (signal.aborted) throw error;
    const { nativePath, shadow, manifest, paths } = context;
    const left = [shadow, manifest, `${manifest}.new`, paths.base];
    await runNative(nativePath, "remove", left);
    mkdirSync(paths.base, { mode: 0o700 });
    return cloneTree(context, more);
  }
}

/** Clones file by file, sharing blocks where that works; heavy ignored directories come in as overlays. */
export function cloneBackend(abilities: ForkAbilities): Backend {
  return async (context) => {
    const shared = abilities.share === true;
    const heavy =
      abilities.overlay === true ? await heavyDirectories(context.workspace, shared) : [];
    const counts = await cloneWithSpare(
      context,
      heavy.flatMap((one) => ["--mount", one]),
    );
    const overlays = heavy.map((at, i) =>
      prepareOverlay(context.workspace, at, path.join(context.place, "overlays", String(i))),
    );
    const notes = [...leftOutNotes(counts)];
    if (heavy.length > 0) notes.push(`as overlays over the workspace's own: ${someOf(heavy, 5)}`);
    if (abilities.overlay !== true)
      notes.push(`ignored directories were cloned whole: no overlay (${abilities.overlay})`);
    if (counts.count("copied") > 0 && abilities.share !== true)
      notes.push(
        `blocks cannot be shared (${abilities.share}): ${megabytes(counts.count("bytes"))} were copied`,
      );
    const [files, bytes, kept] = ["files", "bytes", "kept"].map((one) => counts.count(one));
    const made = { overlays, files: files ?? 0, bytes: bytes ?? 0, notes };
    return (kept ?? 0) > 0 ? { ...made, refreshed: made.files - (kept ?? 0) } : made;
  };
}

/** Copies every byte of everything. */
export const copyBackend: Backend = async (context) => {
  const counts = await cloneTree(context, ["--no-share"]);
  const bytes = counts.count("bytes");
  const warning = `every byte was copied: ${megabytes(bytes)} in ${counts.count("files")} files`;
  return {
    overlays: [],
    files: counts.count("files"),
    bytes,
    notes: [warning, ...leftOutNotes(counts)],
  };
};
