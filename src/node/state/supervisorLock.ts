import {
  closeSync,
  linkSync,
  openSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeSync,
} from "node:fs";
import path from "node:path";
import * as z from "zod";
import { parseJson } from "../../base/jsonl.ts";

/*
 * One supervisor per transaction. Its lock is a file `supervisor.<n>.json`; the owner of the highest n holds the lock
 * while it lives. A contender whose predecessor is dead links n+1 into place: link is exclusive, so one contender wins.
 * The winner removes the lower files, nobody removes the highest: a lock ends with its process, never by deletion.
 */

const lockShape = z.object({ pid: z.number().int().positive(), startedAt: z.string() });

const lockName = /^supervisor\.(\d+)\.json$/;

/** Start time of a process in clock ticks, from `/proc/<pid>/stat` field 22; undefined when there is none. A pid that was
 * used again has another start time. */
function startTimeOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" ? undefined : fields[19];
  } catch {
    return undefined; // the process is gone: that is the answer
  }
}

function highestLock(root: string): number {
  return Math.max(0, ...namesIn(root).map((name) => Number(lockName.exec(name)?.[1] ?? 0)));
}

/** A transaction that cannot begin takes its directory away while others look. */
function namesIn(root: string): readonly string[] {
  try {
    return readdirSync(root);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

function lockFile(root: string, n: number): string {
  return path.join(root, `supervisor.${n}.json`);
}

function ownerOf(root: string, n: number): number | undefined {
  let text: string;
  try {
    text = readFileSync(lockFile(root, n), "utf8");
  } catch {
    return undefined; // no lock, no supervisor
  }
  const lock = lockShape.safeParse(parseJson(text));
  if (!lock.success) return undefined;
  return startTimeOf(lock.data.pid) === lock.data.startedAt ? lock.data.pid : undefined;
}

/** Pid of the live supervisor of a transaction, if there is one. */
export function liveSupervisor(root: string): number | undefined {
  return ownerOf(root, highestLock(root));
}

/** Makes this process the only supervisor of a transaction until it ends; false when another one lives. */
export function takeSupervisorLock(root: string): boolean {
  const mine = path.join(root, `.lock.${process.pid}`);
  const fd = openSync(mine, "w", 0o600);
  writeSync(fd, JSON.stringify({ pid: process.pid, startedAt: startTimeOf(process.pid) ?? "0" }));
  closeSync(fd);
  try {
    const highest = highestLock(root);
    if (ownerOf(root, highest) !== undefined) return false;
    linkSync(mine, lockFile(root, highest + 1));
    if (highestLock(root) !== highest + 1) return false;
    for (let n = highest; n > 0; n--) rmSync(lockFile(root, n), { force: true });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  } finally {
    rmSync(mine, { force: true });
  }
}
