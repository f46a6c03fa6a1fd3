import type { Diagnostic, Entry, EntryOf } from "../journal/entry.ts";
import { missingIn, stepDelta, type AgainstBase } from "./stepDelta.ts";

/** What lies between two results of one check, and the tool calls (`seq` of their start) that changed files in between. */
export interface CheckStep extends AgainstBase {
  readonly check: string;
  readonly generation: number;
  readonly calls: readonly number[];
  /** One call alone can have done it. */
  readonly parent?: number;
}

interface Change {
  readonly seq: number;
  readonly call: number | undefined;
  readonly paths: readonly string[];
}

/** What is known of one check. */
interface Known {
  /** The last answer that hid nothing, and the entry that begins the changes after it. */
  certain: AgainstBase;
  certainAt: number;
  /** What a later answer showed although it hid the rest, and where that one began. */
  visible: readonly Diagnostic[];
  visibleAt: number;
}

/**
 * Lays the difference of each two successive results of a check to the tool calls that changed files in between: a fold over
 * the journal, so that a supervisor which was started again goes on where the last one was.
 *
 * - A result covers the changes that are journaled before its `check.started`.
 * - Where one call made all of them the step is that call's; else the step names all calls and has no parent.
 * - A result that hides something (`notChecked`, or `partial`) only shows what is visible: the rest is compared across it.
 * - A result during which the shadow changed, and one without an answer, tells nothing: the next one covers its calls too.
 */
export class CheckSteps {
  readonly #concerns: (check: string, path: string) => boolean;
  readonly #changes: Change[] = [];
  readonly #begun = new Map<number, number>();
  readonly #known = new Map<string, Known>();

  /** `concerns`: whether a change to that path can change that check's answer. */
  constructor(concerns: (check: string, path: string) => boolean) {
    this.#concerns = concerns;
  }

  /** Takes the next entry; gives the steps that it tells. */
  apply(entry: Entry): readonly CheckStep[] {
    switch (entry.kind) {
      case "file.changed": {
        const paths = entry.from === undefined ? [entry.path] : [entry.from, entry.path];
        this.#changes.push({ seq: entry.seq, call: entry.parent, paths });
        return [];
      }
      case "check.started":
        this.#begun.set(entry.generation, entry.seq);
        return [];
      case "check.finished":
        return this.#finished(entry);
      default:
        return [];
    }
  }

  #finished(entry: EntryOf<"check.finished">): readonly CheckStep[] {
    const at = this.#begun.get(entry.generation);
    if (at === undefined || entry.unsteady === true) return [];
    const answered = entry.status === "passed" || entry.status === "failed";
    if (!answered && entry.status !== "notChecked") return [];
    const known = this.#of(entry.check);
    const steps =
      answered && entry.partial !== true
        ? this.#whole(entry, known, at)
        : this.#part(entry, known, at);
    return steps.filter(({ introduced, resolved }) => introduced.length + resolved.length > 0);
  }

  /** What was visible and went, went after the answer that showed it; all else after the last whole answer. */
  #whole(entry: EntryOf<"check.finished">, known: Known, at: number): readonly CheckStep[] {
    const gone = missingIn(entry.introduced, known.visible);
    const step = stepDelta(known.certain, entry);
    const introduced = missingIn(known.visible, step.introduced);
    const sinceVisible = this.#between(entry, known.visibleAt, at);
    const sinceCertain = this.#between(entry, known.certainAt, at);
    known.certain = { introduced: entry.introduced, resolved: entry.resolved };
    known.certainAt = at;
    known.visible = [];
    known.visibleAt = at;
    if (sinceVisible.calls.join() === sinceCertain.calls.join()) {
      return [{ ...sinceCertain, introduced, resolved: [...gone, ...step.resolved] }];
    }
    return [
      { ...sinceVisible, introduced: [], resolved: gone },
      { ...sinceCertain, introduced, resolved: step.resolved },
    ];
  }

  #part(entry: EntryOf<"check.finished">, known: Known, at: number): readonly CheckStep[] {
    const visible = missingIn(known.certain.introduced, entry.introduced);
    const introduced = missingIn(known.visible, visible);
    const resolved = missingIn(visible, known.visible);
    const since = this.#between(entry, known.visibleAt, at);
    known.visible = visible;
    known.visibleAt = at;
    return [{ ...since, introduced, resolved }];
  }

  #between(
    { check, generation }: EntryOf<"check.finished">,
    after: number,
    until: number,
  ): Pick<CheckStep, "check" | "generation" | "calls" | "parent"> {
    const changes = this.#changes.filter(
      ({ seq, paths }) =>
        seq > after && seq < until && paths.some((path) => this.#concerns(check, path)),
    );
    const calls = [...new Set(changes.flatMap(({ call }) => call ?? []))];
    const [only] = calls;
    const alone = calls.length === 1 && changes.every(({ call }) => call !== undefined);
    return { check, generation, calls, ...(alone && only !== undefined ? { parent: only } : {}) };
  }

  #of(check: string): Known {
    let known = this.#known.get(check);
    if (known === undefined) {
      // The base compared with itself.
      known = {
        certain: { introduced: [], resolved: [] },
        certainAt: 0,
        visible: [],
        visibleAt: 0,
      };
      this.#known.set(check, known);
    }
    return known;
  }
}
