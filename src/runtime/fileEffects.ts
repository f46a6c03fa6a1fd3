import type { Journal } from "./journal.ts";
import type { ChangedPath } from "./ports.ts";
import { stepChanges, type Scanned, type StepChange } from "./stepChanges.ts";
import type { EndedCall, RunningCall } from "./toolCalls.ts";

/** Kinds of tool call that change no file, so that none is looked for at once. Should one have changed something all the
 * same, the next scan finds it and lays it to the call by its time. */
const harmless: ReadonlySet<string> = new Set(["think", "fetch", "read", "search"]);

/** How far the clock of the filesystem and a call's own times may be apart, milliseconds: a kernel tick and a bit. */
const slackMs = 8;

/** How long before it was heard of a call can have begun whose agent gives no times, milliseconds: the first is for a call
 * that names the path, the second for any other. */
const heardLateMs = { named: 5000, other: 1000 };

/** A change that no call claims yet is looked at again after this long: the call's own events may still be on their
 * way. Milliseconds. */
const secondLookMs = 150;

/** Ended calls that later scans may still find changes of. */
const remembered = 200;

/**
 * Journals the file effects of each tool call while the agent runs: after a call ends the shadow is scanned, and each
 * change since the scan before belongs to the call during which it was made, by the change's own time. Of a deletion only
 * the latest time is known: it belongs to the last call since the scan before that began by then and names the path, else
 * to the one that was under way then. Where no time is left (a file that is as in the base again) the calls since the scan
 * before count. One scan runs at a time; calls that end meanwhile share the next. A change that no call made has no parent;
 * what a restored savepoint brought back hangs under that. The scan at seal has the last word.
 */
export class FileEffects {
  readonly #journal: Journal;
  readonly #scan: () => Promise<readonly ChangedPath[]>;
  readonly #running: () => readonly RunningCall[];
  readonly #onError: (error: unknown) => void;
  #known: Scanned = new Map();
  /** Keys of changes without a claim at their first look, by path. */
  #unclaimed = new Map<string, string>();
  #secondLook: ReturnType<typeof setTimeout> | undefined;
  #ended: EndedCall[] = [];
  /** Those of them that ended since the scan before began, and those of the time before that. */
  #fresh: EndedCall[] = [];
  #fresher: EndedCall[] = [];
  /** The `seq` of a savepoint's restore that no scan has looked at yet. */
  #restored: number | undefined;
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
    this.#fresher.push(call);
    if (this.#fresher.length > remembered) this.#fresher.shift();
    if (harmless.has(call.toolKind)) return;
    this.#look();
  }

  /** A savepoint was restored; `seq` is the entry that tells it. */
  restored(seq: number): void {
    this.#restored = seq;
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
    this.#turn();
    this.#record(changed, this.#restored, true);
  }

  async #scanAll(): Promise<void> {
    try {
      while (this.#wanted) {
        this.#wanted = false;
        this.#turn();
        const restored = this.#restored;
        const changed = await this.#scan();
        // One that fails leaves it to the next; one that came meanwhile is looked for again.
        if (this.#restored === restored) this.#restored = undefined;
        this.#record(changed, restored, false);
      }
      if (this.#unclaimed.size > 0) this.#secondLook = setTimeout(() => this.#look(), secondLookMs);
    } catch (error) {
      this.#onError(error);
    } finally {
      this.#scanning = undefined;
    }
  }

  /** A scan begins: what ends from now on it may not see. */
  #turn(): void {
    this.#fresh = this.#unclaimed.size > 0 ? [...this.#fresh, ...this.#fresher] : this.#fresher;
    this.#fresher = [];
  }

  #record(changed: readonly ChangedPath[], restored: number | undefined, last: boolean): void {
    const now = new Map(changed.map((one) => [one.path, one]));
    const unclaimed = new Map<string, string>();
    for (const one of stepChanges(this.#known, now)) {
      const cause = restored === undefined ? this.#causeOf(one) : undefined;
      const known = this.#known.get(one.path);
      // What comes with the change of another path comes with it.
      const alone = known !== undefined || now.has(one.path);
      const waits = alone && restored === undefined && !last && !isSure(cause, one);
      if (waits && this.#unclaimed.get(one.path) !== one.key) {
        unclaimed.set(one.path, one.key);
        // It counts as not seen yet.
        if (known === undefined) now.delete(one.path);
        else now.set(one.path, known);
        continue;
      }
      const parent = restored ?? cause?.seq;
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
    this.#known = now;
    this.#unclaimed = unclaimed;
  }

  /** Of the calls that were under way when the change was made: the one that names the path, else the one that began
   * last. */
  #causeOf(one: StepChange): RunningCall | undefined {
    const at = one.changedAtMs;
    const since =
      at === undefined || one.change === "deleted" ? this.#deleterOf(one, at) : undefined;
    if (since !== undefined) return since;
    const away = (call: EndedCall): number =>
      at === undefined ? 0 : Math.max(0, call.startedMs - at, at - call.endedMs);
    const all =
      at === undefined
        ? this.#fresh
        : [...this.#ended, ...this.#running().map(endless)].filter((call) => away(call) <= slackMs);
    const writers = all.filter(isWriter);
    const late = writers.length > 0 || at === undefined ? undefined : this.#heardAfter(one, at);
    if (late !== undefined) return late;
    const candidates = writers.length > 0 ? writers : all;
    const named = candidates.filter((call) => names(call, one));
    const above = candidates.filter((call) => namesDirectoryOf(call, one));
    const isGone = one.change === "deleted";
    return nearest(named, away) ?? nearest(isGone ? above : [], away) ?? nearest(candidates, away);
  }

  /** Of the calls since the scan before that can have deleted it by then, the last that names the path. */
  #deleterOf(one: StepChange, at = Infinity): RunningCall | undefined {
    const late = ({ startedMs }: RunningCall): number => Math.max(0, startedMs - at);
    const since = [...this.#fresh, ...this.#fresher, ...this.#running()].filter(
      (call) => isWriter(call) && late(call) <= slackMs && names(call, one),
    );
    return nearest(since, late);
  }

  /** A short call whose agent gives no times can be over before its beginning is heard: the first of these that names the
   * path, else the first that was heard soon after. */
  #heardAfter(one: StepChange, at: number): RunningCall | undefined {
    const after = [...this.#ended, ...this.#running()]
      .filter((call) => !call.timed && isWriter(call) && call.startedMs > at)
      .sort((left, right) => left.startedMs - right.startedMs);
    const within = (call: RunningCall, ms: number): boolean => call.startedMs - at <= ms;
    return (
      after.find((call) => names(call, one) && within(call, heardLateMs.named)) ??
      after.find((call) => within(call, heardLateMs.other))
    );
  }
}

function endless(call: RunningCall): EndedCall {
  return { ...call, endedMs: Infinity };
}

/** The call that is the least away in time, milliseconds: the clock of a filesystem is coarse. Of several, the one that began
 * last. */
function nearest<Call extends RunningCall>(
  calls: readonly Call[],
  away: (call: Call) => number,
): Call | undefined {
  const [first] = [...calls].sort(
    (left, right) => away(left) - away(right) || right.startedMs - left.startedMs,
  );
  return first;
}

function names(call: RunningCall, { path }: StepChange): boolean {
  return call.inputText.includes(JSON.stringify(path).slice(1, -1));
}

/** True when a directory above the path stands in what the call was given, as a word of its own or the end of a path. */
function namesDirectoryOf({ inputText }: RunningCall, { path }: StepChange): boolean {
  const above = path.split("/").slice(0, -1);
  return above.some((_, depth) => {
    const directory = JSON.stringify(above.slice(0, depth + 1).join("/")).slice(1, -1);
    for (
      let at = inputText.indexOf(directory);
      at >= 0;
      at = inputText.indexOf(directory, at + 1)
    ) {
      const [before = "", after = ""] = [inputText[at - 1], inputText[at + directory.length]];
      if (!/[\p{L}\p{N}_.-]/u.test(before) && !/[\p{L}\p{N}_.-]/u.test(after)) return true;
    }
    return false;
  });
}

/** False while the call that made the change may not have been heard of: this one reads, or was over by then. */
function isSure(cause: RunningCall | EndedCall | undefined, one: StepChange): boolean {
  if (!isWriter(cause)) return false;
  const { changedAtMs = 0 } = one;
  return names(cause, one) || !("endedMs" in cause) || changedAtMs <= cause.endedMs;
}

/** True for a call that may be expected to change files. */
function isWriter(call: RunningCall | undefined): call is RunningCall {
  return call !== undefined && call.toolKind !== "read" && call.toolKind !== "search";
}
