import { identityOf, noRenames } from "../core/check/diagnosticIdentity.ts";
import type { Diagnostic, Entry, EntryOf } from "../core/journal/entry.ts";
import { stepWords } from "../core/check/stepWords.ts";
import type { Header } from "../protocol/webview.ts";

/** The newest answer of every check, from the entries. */
export class CheckDelta {
  readonly #finished = new Map<string, EntryOf<"check.finished">>();
  /** The newest generations that were started and answered. */
  #started = -1;
  #answered = -1;
  readonly #steps: EntryOf<"check.step">[] = [];
  readonly #early = new Map<string, EntryOf<"check.provisional">>();

  /** Takes entries; tells whether anything shown is different. */
  apply(entries: readonly Entry[]): boolean {
    let changed = false;
    for (const entry of entries) {
      if (entry.kind === "check.started") {
        this.#started = Math.max(this.#started, entry.generation);
        changed = true;
      } else if (entry.kind === "check.finished") {
        // An answer about an older shadow than the one already answered says nothing.
        if (this.#answered > entry.generation) continue;
        // A check that does not apply any more has no answer in the newest generation.
        if (this.#answered < entry.generation) this.#finished.clear();
        this.#answered = entry.generation;
        this.#finished.set(entry.check, entry);
        changed = true;
      } else if (entry.kind === "check.provisional") {
        this.#early.set(entry.check, entry);
        changed = true;
      } else if (entry.kind === "check.step") {
        this.#steps.push(entry);
        changed = true;
      }
    }
    return changed;
  }

  introduced(): readonly { readonly check: string; readonly diagnostic: Diagnostic }[] {
    return [...this.#finished.values()].flatMap(({ check, introduced }) =>
      introduced.map((diagnostic) => ({ check, diagnostic })),
    );
  }

  /** The tool calls after which a file's new diagnostics were first seen: `seq`s of their starts. */
  callsBehind(path: string): readonly number[] {
    const open = this.introduced().map(({ check, diagnostic }) => keyOf(check, diagnostic));
    const calls = new Set<number>();
    for (const key of open) {
      const step = this.#steps.findLast(({ check, introduced }) =>
        introduced.some((one) => one.path === path && keyOf(check, one) === key),
      );
      for (const call of step?.calls ?? []) calls.add(call);
    }
    return [...calls].sort((a, b) => a - b);
  }

  /** What is said early of a newer shadow than the one answered last. */
  #earlyWords(): readonly string[] {
    return [...this.#early.values()]
      .filter((one) => this.#answered < one.generation)
      .map(
        (one) =>
          `${one.check}, provisional: ${stepWords(one) || "nothing new"} in the edited files`,
      );
  }

  summary(): Header["check"] {
    const finished = [...this.#finished.values()];
    const running = this.#started > this.#answered;
    if (finished.length === 0 && !running) return undefined;
    const sum = (count: (entry: EntryOf<"check.finished">) => number): number =>
      finished.reduce((total, entry) => total + count(entry), 0);
    const unsure = finished.find(({ status }) => status !== "passed" && status !== "failed");
    const introduced = sum((entry) => entry.introduced.length);
    return {
      status: running
        ? "running"
        : unsure !== undefined
          ? "notChecked"
          : introduced > 0
            ? "failed"
            : "passed",
      introduced,
      resolved: sum((entry) => entry.resolved.length),
      text: [
        ...this.#earlyWords(),
        ...finished.map(
          ({ check, status, note }) =>
            `${check}: ${status}${note === undefined ? "" : `, ${note}`}`,
        ),
      ].join("\n"),
    };
  }
}

/** Lines move between the step that introduced a diagnostic and now. */
function keyOf(check: string, diagnostic: Diagnostic): string {
  return `${check}\0${identityOf(diagnostic, noRenames)}`;
}
