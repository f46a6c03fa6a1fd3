/**
 * The kinds of expected failure, each with the exit code that DESIGN §11 gives it: `failed` 1, `usage` 2,
 * `refused` 3 (sandbox or permission), `conflict` 4, `held` 5.
 */
export type FailureKind = "failed" | "usage" | "refused" | "conflict" | "held";

/** An expected failure: what is wrong and what to do, in words for the person who sees it. Anything else is a bug. */
export class Failure extends Error {
  readonly kind: FailureKind;
  /** Stable, machine-readable name of the reason, e.g. `workspace-not-a-folder`. */
  readonly code: string;
  /** What the person can do about it: one sentence, or the exact command. */
  readonly fix: string | undefined;

  constructor(kind: FailureKind, code: string, message: string, fix?: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "Failure";
    this.kind = kind;
    this.code = code;
    this.fix = fix;
  }

  /** The failure as one line: what is wrong, then what to do. */
  get line(): string {
    const text = this.fix === undefined ? this.message : `${this.message} — ${this.fix}`;
    return text.replaceAll(/\s*\n\s*/g, " ");
  }
}

/** Exit code of the `holdfast` command for a failure. */
export function exitCodeOf(kind: FailureKind): number {
  switch (kind) {
    case "failed":
      return 1;
    case "usage":
      return 2;
    case "refused":
      return 3;
    case "conflict":
      return 4;
    case "held":
      return 5;
  }
}

/** Message of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
