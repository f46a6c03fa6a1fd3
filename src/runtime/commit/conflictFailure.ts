import { Failure } from "../../base/errors.ts";

/** One path that cannot be published without a person's choice. */
export interface PathConflict {
  readonly path: string;
  readonly reason: string;
}

/** A commit that would lose something: nothing was written. Exit code 4. */
export class ConflictFailure extends Failure {
  readonly conflicts: readonly PathConflict[];

  constructor(conflicts: readonly PathConflict[]) {
    const names = conflicts
      .slice(0, 3)
      .map(({ path, reason }) => `${JSON.stringify(path)} (${reason})`);
    const rest = conflicts.length > 3 ? ` and ${conflicts.length - 3} more` : "";
    super(
      "conflict",
      "conflicts",
      `nothing was written: ${names.join(", ")}${rest}`,
      "choose mine, theirs or an edited text for each in review, or commit the others with --path",
    );
    this.conflicts = conflicts;
  }
}
