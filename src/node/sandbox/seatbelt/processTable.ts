import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** One process as `ps` tells it. */
export interface ProcessRow {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly residentBytes: number;
  readonly cpuSeconds: number;
  /** Stopped, or gone and not yet reaped. */
  readonly stopped: boolean;
  readonly ended: boolean;
  /** Tells two processes of one number apart. */
  readonly started: string;
}

const columns = "pid=,ppid=,pgid=,rss=,time=,stat=,lstart=";

/** `[[days-]hours:]minutes:seconds`, with or without hundredths. */
function seconds(time: string): number {
  const [days, clock = ""] = time.includes("-") ? time.split("-") : ["0", time];
  const counted = clock.split(":").reduce((sum, part) => sum * 60 + Number(part), 0);
  return Number(days) * 86_400 + counted;
}

/** The lines that `ps` gives for `columns`; one that is none is left out. */
export function parseProcesses(text: string): readonly ProcessRow[] {
  return text.split("\n").flatMap((line): readonly ProcessRow[] => {
    const match = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\d+)\s+([\d:.-]+)\s+(\S+)\s+(.+?)\s*$/.exec(line);
    if (match === null) return [];
    const [, pid, parent, group, kilobytes, time = "", state = "", started = ""] = match;
    return [
      {
        pid: Number(pid),
        parent: Number(parent),
        group: Number(group),
        residentBytes: Number(kilobytes) * 1024,
        cpuSeconds: seconds(time),
        stopped: /^[Tt]/.test(state),
        ended: /^[ZX]/.test(state),
        started,
      },
    ];
  });
}

const run = promisify(execFile);

export async function readProcesses(): Promise<readonly ProcessRow[]> {
  const { stdout } = await run("ps", ["-axo", columns], {
    env: { PATH: "/bin:/usr/bin", LC_ALL: "C" },
    maxBuffer: 64 * 1024 ** 2,
  });
  return parseProcesses(stdout);
}

/**
 * The processes of one group and all that stem from them. What was seen once stays known when its parent is gone: there is
 * no process namespace that would hold it. Invariant: a number that was given to another process is not taken for the old.
 */
export class ProcessFamily {
  readonly #root: number;
  readonly #known = new Map<number, string>();

  constructor(root: number) {
    this.#root = root;
  }

  /** Those of the family that live, by this look at all. */
  among(all: readonly ProcessRow[]): readonly ProcessRow[] {
    const byPid = new Map(all.map((row) => [row.pid, row]));
    const belongs = (row: ProcessRow, seen: ReadonlySet<number>): boolean => {
      if (row.pid === this.#root || row.group === this.#root) return true;
      if (this.#known.get(row.pid) === row.started) return true;
      const parent = byPid.get(row.parent);
      return parent !== undefined && !seen.has(parent.pid)
        ? belongs(parent, new Set([...seen, row.pid]))
        : false;
    };
    const family = all.filter((row) => belongs(row, new Set()));
    this.#known.clear();
    for (const { pid, started } of family) this.#known.set(pid, started);
    return family.filter(({ ended }) => !ended);
  }
}
