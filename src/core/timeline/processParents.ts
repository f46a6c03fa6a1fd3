import type { Entry } from "../journal/entry.ts";

/**
 * Which process started which, as far as the journal tells: it lays a whole process tree to one tool call, and names
 * parents by pid. Processes are known by the `seq` of their first exec; a pid that is used again is another process.
 */
export class ProcessParents {
  readonly #live = new Map<number, { readonly seq: number; readonly under: number | undefined }>();

  /** Takes the next entry. For the first exec of a process it gives the process that started it, when that still runs and
   * belongs to the same tool call. */
  apply(entry: Entry): number | undefined {
    if (entry.kind === "process.exit") this.#live.delete(entry.pid);
    if (entry.kind !== "process.exec") return undefined;
    const known = this.#live.get(entry.pid);
    // The same process runs another program; under another call it is another process, whose end was not told.
    if (known !== undefined && known.under === entry.parent) return undefined;
    this.#live.set(entry.pid, { seq: entry.seq, under: entry.parent });
    const starter = this.#live.get(entry.ppid);
    return starter !== undefined && starter.under === entry.parent ? starter.seq : undefined;
  }
}
