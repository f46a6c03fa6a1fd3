import { chmodSync, lstatSync, mkdirSync, statSync, utimesSync, writeFileSync } from "node:fs";
import type { Fork, OverlayMount } from "../../runtime/ports.ts";
import type { ForkContext } from "./backend.ts";
import { Beneath } from "./beneath.ts";
import { decodePath, encodePath } from "./pathBytes.ts";
import { runNative } from "./runNative.ts";
import { someOf } from "./forkNotes.ts";
import type { Reader } from "./reader.ts";
import { secretLinks, type SecretLinks } from "./secretLinks.ts";
import { markMasked } from "./maskedIndex.ts";
import { maskShadow, overwrite, type MaskSource, type Suspect } from "./secretMasks.ts";

function below(root: string, relative: string): Buffer {
  return Buffer.concat([encodePath(`${root}/`), encodePath(relative)]);
}

/** Puts a file into the upper layer, with the directories above it as the lower layer has them. */
function putIntoUpper(overlay: OverlayMount, relative: string, bytes: Uint8Array): void {
  const parts = relative.split("/");
  for (let depth = 1; depth < parts.length; depth++) {
    const directory = parts.slice(0, depth).join("/");
    if (lstatSync(below(overlay.upper, directory), { throwIfNoEntry: false }) !== undefined)
      continue;
    mkdirSync(below(overlay.upper, directory));
    chmodSync(
      below(overlay.upper, directory),
      statSync(below(overlay.lower, directory)).mode & 0o7777,
    );
  }
  const stat = statSync(below(overlay.lower, relative));
  const file = below(overlay.upper, relative);
  writeFileSync(file, bytes, { mode: 0o600 });
  chmodSync(file, stat.mode & 0o7777);
  utimesSync(file, stat.atime, stat.mtime);
}

/** The files of an overlay that hide secrets by their names, and how to mask them: a copy in the upper layer. */
async function maskSourceOf(
  nativePath: string,
  overlay: OverlayMount,
  aliases: SecretLinks,
): Promise<MaskSource> {
  const lower = new Beneath(overlay.lower);
  const prefix = `${overlay.at}/`;
  const { output } = await runNative(nativePath, "suspects", [overlay.lower]);
  const told = decodePath(output)
    .split("\0")
    .filter((one) => one !== "");
  const linked = [...aliases.keys()]
    .filter((one) => one.startsWith(prefix))
    .map((one) => one.slice(prefix.length));
  return {
    suspects: [...new Set([...told, ...linked])]
      .filter((one) => !one.split("/").includes(".git"))
      .map((one) => ({
        path: prefix + one,
        size: Number(lower.stat(one)?.size ?? 0n),
        links: [],
        aliases: aliases.get(prefix + one) ?? [],
      })),
    read: (file) => Promise.resolve(lower.read(file.slice(prefix.length))?.bytes),
    write: (file, bytes) => putIntoUpper(overlay, file.slice(prefix.length), bytes),
  };
}

/** Hides the values of secrets in the shadow; in the git configurations too, which may hold tokens in URLs. */
export async function hideSecrets(
  context: ForkContext,
  fork: Fork,
  reader: Reader,
): Promise<readonly string[]> {
  const whole = fork.overlays.some(({ at }) => at === ".");
  const aliases = secretLinks(reader.manifest, context.workspace);
  const sources: MaskSource[] = [];
  for (const overlay of fork.overlays) {
    if (overlay.at === ".") sources.push(wholeSourceOf(fork, overlay, reader, aliases));
    else if (!overlay.at.split("/").includes(".git"))
      sources.push(await maskSourceOf(context.nativePath, overlay, aliases));
  }
  if (!whole) sources.unshift(shadowSource(fork, reader, aliases));
  const { state } = context.paths;
  const masked = await maskShadow(state, sources);
  if (masked.length === 0) return [];
  const write = sources[0]?.write;
  if (write === undefined) throw new Error("a fork without a shadow");
  const tracked = await markMasked({ workspace: context.workspace, state, reader, write }, masked);
  const unchanged = `git in the sandbox takes for unchanged: ${someOf(tracked, 8)}`;
  return [
    `secrets are hidden from the agent in ${someOf(masked, 8)}`,
    ...(tracked.length === 0 ? [] : [unchanged]),
  ];
}

function gitConfigs(reader: Reader): Suspect[] {
  return reader.manifest
    .gitDirectories()
    .map((found) => ({ path: `${found}/config`, size: 0, links: [] }));
}

function suspectsOf(fork: Fork, reader: Reader, aliases: SecretLinks): Required<Suspect>[] {
  const listed = fork.backend === "overlay" || fork.backend === "snapshot";
  return reader.manifest.suspects(aliases.keys(), listed).map((one) => ({
    ...one,
    aliases: [one.path, ...one.links].flatMap((path) => aliases.get(path) ?? []),
  }));
}

function shadowSource(fork: Fork, reader: Reader, aliases: SecretLinks): MaskSource {
  return {
    suspects: [...suspectsOf(fork, reader, aliases), ...gitConfigs(reader)],
    read: (file) =>
      file.endsWith(".git/config")
        ? reader.read("shadow", file)
        : Promise.resolve(reader.readRealBase(file)),
    write: (file, bytes) => overwrite(fork.shadow, file, bytes),
  };
}

/** Of an overlay over everything: the manifest has looked at names and contents already. */
function wholeSourceOf(
  fork: Fork,
  overlay: OverlayMount,
  reader: Reader,
  aliases: SecretLinks,
): MaskSource {
  // In the upper layer each name is a file of its own.
  const alone = suspectsOf(fork, reader, aliases).flatMap((suspect) => {
    const paths = [suspect.path, ...suspect.links];
    return paths.map((one) => ({
      path: one,
      size: suspect.size,
      links: [],
      aliases: [...paths, ...suspect.aliases],
    }));
  });
  return {
    suspects: [...alone, ...gitConfigs(reader)],
    read: (file) => reader.read("shadow", file),
    write: (file, bytes) => {
      if (lstatSync(below(overlay.upper, file), { throwIfNoEntry: false }) !== undefined)
        overwrite(overlay.upper, file, bytes);
      else putIntoUpper(overlay, file, bytes);
    },
  };
}
