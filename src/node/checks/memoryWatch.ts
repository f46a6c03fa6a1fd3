import { readdirSync, readFileSync } from "node:fs";
import { toDisposable, type Ending } from "../../base/lifecycle.ts";

/** How often a running check is measured, in milliseconds. */
const interval = 500;

/**
 * Calls `over` once when a process and everything below it hold more than `limitMb` of memory together. Cgroups cannot be relied
 * on without privileges, and a limit of address space stops programs that only reserve it; so it is measured.
 */
export function watchMemory(
  pid: number,
  limitMb: number,
  over: (megabytes: number) => void,
): Ending {
  const timer = setInterval(() => {
    const megabytes = Math.round(residentBytes(pid) / (1024 * 1024));
    if (megabytes <= limitMb) return;
    clearInterval(timer);
    over(megabytes);
  }, interval);
  timer.unref();
  return toDisposable(() => clearInterval(timer));
}

/** Private resident memory of a process tree; processes that end meanwhile count nothing. */
function residentBytes(root: number): number {
  let total = 0;
  const pending = [root];
  for (let pid = pending.pop(); pid !== undefined; pid = pending.pop()) {
    total += residentOf(pid);
    pending.push(...childrenOf(pid));
  }
  return total;
}

function residentOf(pid: number): number {
  const fields = readProc(`/proc/${pid}/statm`).split(" ");
  const pages = Number(fields[1] ?? 0) - Number(fields[2] ?? 0);
  return Number.isNaN(pages) ? 0 : pages * 4096;
}

function childrenOf(pid: number): readonly number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      readProc(`/proc/${pid}/task/${task}/children`).trim().split(" ").filter(Boolean).map(Number),
    );
  } catch (error) {
    if (error instanceof Error && "code" in error) return [];
    throw error;
  }
}

/** The text of a file in /proc, empty when its process is gone. */
function readProc(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error) return "";
    throw error;
  }
}
