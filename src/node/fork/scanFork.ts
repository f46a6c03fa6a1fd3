import { existsSync } from "node:fs";
import type { Fork, TransactionPaths } from "../../runtime/ports.ts";
import { Beneath } from "./beneath.ts";
import { runNative } from "./runNative.ts";
import { parseScanRecords, type ScanRecord } from "./scanRecords.ts";

/** Shut directories inside shut directories: each scan opens one more level. */
const deepestShut = 16;

/**
 * Every difference base → shadow, overlays included, in order of path. `.git`, FIFOs, sockets, and what has only another time or
 * other names with the same inode, are told when everything is asked for. Directories of the shadow
 * that an agent has shut (mode 000) are opened for their owner, and the scan is made again.
 */
export async function scanFork(
  nativePath: string,
  fork: Fork,
  workspace: string,
  paths: TransactionPaths,
  everything = false,
): Promise<readonly ScanRecord[]> {
  for (let attempt = 0; ; attempt++) {
    const records = await scanOnce(nativePath, fork, workspace, paths, everything);
    const shut = records.filter(({ code }) => code === "E");
    if (attempt === deepestShut || !shut.some((one) => unlock(fork, one.path))) return records;
  }
}

/** Where an overlay covers the path it is the upper layer's directory that an agent may have shut. */
function unlock(fork: Fork, at: string): boolean {
  for (const { at: place, upper } of fork.overlays) {
    const prefix = place === "." ? "" : `${place}/`;
    if (`${at}/`.startsWith(prefix)) return new Beneath(upper).unlock(at.slice(prefix.length));
  }
  return new Beneath(fork.shadow).unlock(at);
}

async function scanOnce(
  nativePath: string,
  fork: Fork,
  workspace: string,
  paths: TransactionPaths,
  everything: boolean,
): Promise<readonly ScanRecord[]> {
  const all = everything ? ["--git", "--stat"] : [];
  const host = fork.baseTree ?? workspace;
  const whole = fork.overlays.some(({ at }) => at === ".");
  const scans = fork.overlays
    .filter(({ at }) => everything || !at.split("/").includes(".git"))
    .map(({ at, lower, upper }) =>
      runNative(nativePath, "overlay-scan", [
        ...["--lower", lower, "--upper", upper, ...all],
        ...(at === "." ? [] : ["--prefix", at]),
      ]),
    );
  if (!whole)
    scans.push(
      runNative(nativePath, "scan", [
        ...["--manifest", fork.manifest, "--shadow", fork.shadow, ...all],
        ...(existsSync(paths.base) ? ["--base", paths.base] : []),
        ...(existsSync(host) ? ["--host", host] : []),
        ...(fork.baseTree === undefined ? [] : ["--snapshot"]),
      ]),
    );
  const answers = await Promise.all(scans);
  return parseScanRecords(Buffer.concat(answers.map(({ output }) => output)));
}
