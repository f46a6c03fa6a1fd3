import type { Journal } from "./journal.ts";
import type { ChangedPath } from "./ports.ts";
import type { EndedCall, RunningCall } from "./toolCalls.ts";

/** Kinds of tool call that change no file, so that none is looked for at once. Should one have changed something all the
 * same, the next scan finds it and lays it to the call by its time. */
const harmless: ReadonlySet<string> = new Set(["think", "fetch", "read", "search"]);

/** How far the clock of the filesystem and a call's own times may be apart, milliseconds: a kernel tick and a bit. */
const slackMs = 8;

/** A change that no call claims yet is looked at again after this long: the call's own events may still be on their
 * way. Milliseconds. */
const secondLookMs = 150;

/** Ended calls that later scans may still find changes of. */
const remembered = 200;

/**
 * Journals the file effects of each tool call while the agent runs: after a call ends the shadow is scanned, and each
 * change belongs to the call during which it was made (by the change's own time; a deletion by the calls that ended since
 * the scan before). One scan runs at a time; calls that end meanwhile share the next. A change that no call made has no
 * parent. The scan at seal has the last word.
 */
export class FileEffects {
  readonly #journal: Journal;
  readonly #scan: () => Promise<readonly ChangedPath[]>;
  readonly #running: () => readonly RunningCall[];
  readonly #onError: (error: unknown) => void;
  readonly #known = new Map<string, string>();
  /** Changes without a claim at their first look, by path. */
  readonly #unclaimed = new Map<string, string>();
  #secondLook: ReturnType<typeof setTimeout> | undefined;
  #ended: EndedCall[] = [];
  #wanted = false;
  #scanning: Promise<void> | undefined;

  constructor(
    journal: Journal,
    scan: () => Promise<readonly ChangedPath[]>,
    running: () => readonly RunningCall[],
    onError: (error: unknown) => void,
  ) {
    this.#journal = journal;
    this.#scan = scan;
    this.#running = running;
    this.#onError = onError;
  }

  /** A tool call ended: its changes will be looked for. */
  callEnded(call: EndedCall): void {
    this.#ended.push(call);
    if (this.#ended.length > remembered) this.#ended.shift();
    if (harmless.has(call.toolKind)) return;
    this.#look();
  }

  #look(): void {
    clearTimeout(this.#secondLook);
    this.#wanted = true;
    this.#scanning ??= this.#scanAll();
  }

  /** Waits until no scan is under way. */
  async settled(): Promise<void> {
    while (this.#scanning !== undefined) await this.#scanning;
  }

  /** The scan at seal: journals what is not journaled yet. */
  final(changed: readonly ChangedPath[]): void {
    clearTimeout(this.#secondLook);
    this.#record(changed, true);
  }

  async #scanAll(): Promise<void> {
    try {
      while (this.#wanted) {
        this.#wanted = false;
        this.#record(await this.#scan(), false);
      }
      if (this.#unclaimed.size > 0) this.#secondLook = setTimeout(() => this.#look(), secondLookMs);
    } catch (error) {
      this.#onError(error);
    } finally {
      this.#scanning = undefined;
    }
  }

  #record(changed: readonly ChangedPath[], last: boolean): void {
    const now = new Set<string>();
    for (const one of changed) {
      now.add(one.path);
      const key = keyOf(one);
      if (this.#known.get(one.path) === key) continue;
      const cause = this.#causeOf(one);
      if (!last && !isWriter(cause) && this.#unclaimed.get(one.path) !== key) {
        this.#unclaimed.set(one.path, key);
        continue;
      }
      this.#unclaimed.delete(one.path);
      this.#known.set(one.path, key);
      const parent = cause?.seq;
      this.#journal.append({
        kind: "file.changed",
        source: "fs",
        ...(parent === undefined ? {} : { parent }),
        path: one.path,
        change: one.change,
        ...(one.from === undefined ? {} : { from: one.from }),
        ...(one.bytes === undefined ? {} : { bytes: one.bytes }),
      });
    }
    for (const path of [...this.#known.keys()]) if (!now.has(path)) this.#known.delete(path);
    for (const path of [...this.#unclaimed.keys()])
      if (!now.has(path)) this.#unclaimed.delete(path);
  }

  /** Of the calls that were under way when the change was made: the one that names the path, else the one that began
   * last. */
  #causeOf(one: ChangedPath): RunningCall | undefined {
    const at = one.changedAtMs;
    const during = ({ startedMs }: RunningCall, endedMs: number): boolean =>
      at === undefined || (at >= startedMs - slackMs && at <= endedMs + slackMs);
    const ended = this.#ended.filter((call) => during(call, call.endedMs));
    const running =
      at === undefined ? [] : this.#running().filter((call) => during(call, Infinity));
    const all = [...ended, ...running].sort((left, right) => left.startedMs - right.startedMs);
    const writers = all.filter(isWriter);
    const candidates = writers.length > 0 ? writers : all;
    const name = JSON.stringify(one.path).slice(1, -1);
    return candidates.findLast((call) => call.inputText.includes(name)) ?? candidates.at(-1);
  }
}

/** True for a call that may be expected to change files. */
function isWriter(call: RunningCall | undefined): call is RunningCall {
  return call !== undefined && call.toolKind !== "read" && call.toolKind !== "search";
}

function keyOf(one: ChangedPath): string {
  return [one.change, one.from ?? "", one.mode ?? "", one.bytes ?? "", one.stamp ?? ""].join("|");
}
